"""Rules about sets of tools: one of several before or after a call, so many calls of them all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.labels import RunLabels
from bylaw.mining.runs import Runs
from bylaw.mining.wording import either, group_text, times, tool_text

_MAX_TOOLS: Final = 30
"""Sets are made of the tools that are called most."""
_MAX_MEMBERS: Final = 3
_MAX_CALLS: Final = 6
_LEAST: Final = 2
"""Without a member of a set, so many good runs more must break the rule."""
_WORDS: Final = {
    "any before": ("O", "{a} is called only after {group}."),
    "any after": ("F", "After {a}, {group} is called at some point."),
}


def candidates(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    """The rules about sets of tools that few enough good runs break."""
    yield from _alternatives(runs, labels)
    if labels.has_bad:
        yield from _counts(runs, labels)


def _alternatives(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    for a, tool in enumerate(runs.tools[:_MAX_TOOLS]):
        active = runs.has[:, a]
        lacking = {
            "any before": active[:, None] & ~(runs.first < runs.first[:, a, None]),
            "any after": active[:, None] & ~(runs.last > runs.last[:, a, None]),
        }
        for kind, without in lacking.items():
            for members in _needed_sets(without, a, runs, labels, active):
                operator, words = _WORDS[kind]
                others = [runs.tools[n] for n in members]
                yield RuleCandidate(
                    kind,
                    (tool, *others),
                    f"G({tool_text(tool)} -> {operator} {group_text(others)})",
                    words.format(a=tool, group=either(others)),
                    np.logical_and.reduce(without[:, members], axis=1),
                    active,
                    extra=0.4 * (len(members) - 2),
                )


def _needed_sets(
    without: NDArray[np.bool_], a: int, runs: Runs, labels: RunLabels, active: NDArray[np.bool_]
) -> Iterator[list[int]]:
    """The sets of tools of which good runs that call `a` have one, and need each."""
    broken = without[runs.good].astype(np.float32)
    tolerated = labels.tolerated(active)
    alone = broken.sum(axis=0)
    others = [n for n in range(min(len(runs.tools), _MAX_TOOLS)) if n != a]
    pairs = broken.T @ broken
    open_pairs = []
    for b, c in combinations(others, 2):
        if pairs[b, c] > min(alone[b], alone[c]) - _LEAST:
            continue
        if pairs[b, c] <= tolerated:
            yield [b, c]
        else:
            open_pairs.append((b, c))
    if _MAX_MEMBERS < 3 or not open_pairs:
        return
    known = set(open_pairs)
    for b in sorted({b for b, _ in open_pairs}):
        triples = (broken * broken[:, b, None]).T @ broken
        for c, d in combinations([n for n in others if n > b], 2):
            if not known >= {(b, c), (b, d), (c, d)}:
                continue
            fewest = min(pairs[b, c], pairs[b, d], pairs[c, d])
            if triples[c, d] <= tolerated and triples[c, d] <= fewest - _LEAST:
                yield [b, c, d]


def _counts(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    """So many calls of two tools together."""
    for a, b in combinations(range(min(len(runs.tools), _MAX_TOOLS)), 2):
        both = runs.counts[:, a] + runs.counts[:, b]
        active = both > 0
        tools = [runs.tools[a], runs.tools[b]]
        for most in range(1, min(int(both.max()), _MAX_CALLS + 1)):
            violated = both > most
            if labels.acceptable(violated, active):
                yield RuleCandidate(
                    "group count",
                    tuple(tools),
                    f"CalledN({group_text(tools)}, <= {most})",
                    f"{' and '.join(tools)} are called at most {times(most)} in all.",
                    violated,
                    active,
                    runs.excess_chance(both, most),
                )
