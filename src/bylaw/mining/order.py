"""Rules about tools alone: which are called, how often, and in which order.

All pairs of tools are compared at once in arrays. A rule that too many good runs break is dropped
before it is made. How surprising an order is follows from exchanging the calls of a run: if `a` and
`b` are called n and m times, an order of them by chance begins with `a` with probability n/(n+m).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb, log
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.formulas import CalledN, F, G, O, S, U, X, Y, call
from bylaw.logic.formula import Formula
from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.labels import RunLabels
from bylaw.mining.runs import Runs
from bylaw.mining.wording import times
from bylaw.syntax.printer import to_text

PairRule: TypeAlias = Callable[[str, str], Formula]
_MOST_CALLS: Final = 12
"""The largest number of calls that a rule bounds."""

PAIR_RULES: Final[dict[str, tuple[PairRule, str]]] = {
    "precedence": (
        lambda a, b: G(call(a) >> O(call(b))),
        "{a} is called only after {b}.",
    ),
    "response": (
        lambda a, b: G(call(a) >> F(call(b))),
        "After {a}, {b} is called at some point.",
    ),
    "not after": (
        lambda a, b: G(call(b) >> ~F(call(a))),
        "After {b}, {a} is never called.",
    ),
    "together": (
        lambda a, b: F(call(a)) >> F(call(b)),
        "A run that calls {a} also calls {b}.",
    ),
    "apart": (
        lambda a, b: ~(F(call(a)) & F(call(b))),
        "No run calls both {a} and {b}.",
    ),
    "alternate precedence": (
        lambda a, b: G(call(a) >> Y(S(~call(a), call(b)))),
        "Before each {a}, {b} is called anew.",
    ),
    "alternate response": (
        lambda a, b: G(call(a) >> X(U(~call(a), call(b)))),
        "After each {a}, {b} is called before the next {a}.",
    ),
    "chain precedence": (
        lambda a, b: G(call(a) >> Y(call(b))),
        "{a} is called only right after {b}.",
    ),
    "chain response": (
        lambda a, b: G(call(a) >> X(call(b))),
        "Right after each {a}, {b} is called.",
    ),
}
"""The rule about two tools of each kind, and its meaning. The first tool is restricted."""


def candidates(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    """The rules about tools that few enough good runs break."""
    yield from _counts(runs, labels)
    if len(runs.tools) > 1:
        yield from _pairs(runs, labels)


# ── one tool ──────────────────────────────────────────────────────────────────────────────


def _counts(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    everywhere = np.ones(len(runs), dtype=np.bool_)
    repeats = _repeats(runs)
    for code, tool in enumerate(runs.tools):
        counts = runs.counts[:, code]
        has = runs.has[:, code]
        called, never = to_text(F(call(tool))), to_text(~F(call(tool)))
        if labels.acceptable(~has, everywhere):
            yield RuleCandidate(
                "called", (tool,), called, f"{tool} is called in every run.", ~has, everywhere
            )
        if runs.bad.any() and labels.acceptable(has, everywhere):
            yield RuleCandidate(
                "never", (tool,), never, f"{tool} is never called.", has, everywhere
            )
            continue
        for most in range(1, min(int(counts.max()), _MOST_CALLS + 1)):
            violated = counts > most
            if labels.acceptable(violated, has):
                meaning = f"{tool} is called at most {times(most)} in a run."
                rule = to_text(CalledN(tool, "<=", most))
                chance = float(has.sum()) * float(np.log1p(-repeats)) if most == 1 else 0.0
                if labels.has_bad:
                    chance = runs.excess_chance(counts, most)
                yield RuleCandidate("count", (tool,), rule, meaning, violated, has, chance)
        for least in range(2, min(int(counts.max()), _MOST_CALLS) + 1):
            violated = counts < least
            if labels.acceptable(violated, everywhere):
                meaning = f"{tool} is called at least {times(least)} in a run."
                rule = to_text(CalledN(tool, ">=", least))
                yield RuleCandidate("count", (tool,), rule, meaning, violated, everywhere)


def _repeats(runs: Runs) -> float:
    """The share of tools that a run calls and calls again."""
    good = runs.counts[runs.good]
    return float(np.clip((good > 1).sum() / max(1, (good > 0).sum()), 0.001, 0.999))


# ── two tools ─────────────────────────────────────────────────────────────────────────────


def _pairs(runs: Runs, labels: RunLabels) -> Iterator[RuleCandidate]:
    has, first, last, counts = runs.has, runs.first, runs.last, runs.counts
    neighbours = Neighbours(runs)
    for a, tool in enumerate(runs.tools):
        active = has[:, a]
        here, ends = first[:, a, None], last[:, a, None]
        share = counts[:, a, None] / np.maximum(1, counts + counts[:, a, None])
        by_chance = np.log(np.clip(1 - share, 1e-9, 1.0))  # that the other tool comes first
        broken = {
            "precedence": active[:, None] & ~(first < here),
            "response": active[:, None] & ~(last > ends),
            "not after": active[:, None] & has & (ends > first),
            "together": active[:, None] & ~has,
            "apart": active[:, None] & has,
            "alternate precedence": neighbours.unpreceded[:, a],
            "alternate response": neighbours.unanswered[:, a],
            "chain precedence": neighbours.not_before[:, a],
            "chain response": neighbours.not_after[:, a],
        }
        for kind, violated in broken.items():
            few = violated[runs.good].sum(axis=0) <= labels.tolerated(active)
            for b in np.flatnonzero(few).tolist():
                if b == a or (kind == "apart" and b < a):
                    continue
                rule, meaning = PAIR_RULES[kind]
                other = runs.tools[b]
                yield RuleCandidate(
                    kind,
                    (tool, other),
                    to_text(rule(tool, other)),
                    meaning.format(a=tool, b=other),
                    violated[:, b],
                    active,
                    _chance(kind, a, b, runs, by_chance),
                )


def _chance(kind: str, a: int, b: int, runs: Runs, by_chance: NDArray[np.float64]) -> float:
    """The logarithm of the probability that good runs keep the rule by chance."""
    has, counts, good = runs.has, runs.counts, runs.good
    with_a, with_b, total = has[good, a].sum(), has[good, b].sum(), max(1, int(good.sum()))
    both = has[:, a] & has[:, b] & good
    n, m = counts[both, a].tolist(), counts[both, b].tolist()
    match kind:
        case "precedence" | "response":
            return float(by_chance[both, b].sum())
        case "alternate precedence" | "alternate response":  # a `b` in each gap before an `a`
            pairs = [(i, j) for i, j in zip(n, m, strict=True) if j >= i]
            return sum(log(comb(j, i) / comb(i + j, i)) for i, j in pairs)
        case "chain precedence" | "chain response":
            share = counts[good, b].sum() / max(1, counts[good].sum())
            return float(counts[good, a].sum() * np.log(max(1e-3, share)))
        case "apart":
            return -float(with_a * with_b) / total
        case "together":
            return float(with_a * np.log(max(1e-3, with_b / total)))
        case _:  # all calls of `a` come before all of `b`
            return -sum(log(comb(i + j, i)) for i, j in zip(n, m, strict=True))


class Neighbours:
    """For each run and pair of tools: do calls of one lack the other next to them, or between?"""

    def __init__(self, runs: Runs) -> None:
        size = (len(runs), len(runs.tools), len(runs.tools))
        self.unpreceded: Final[NDArray[np.bool_]] = np.zeros(size, dtype=np.bool_)
        self.unanswered: Final[NDArray[np.bool_]] = np.zeros(size, dtype=np.bool_)
        self.not_before: Final[NDArray[np.bool_]] = np.zeros(size, dtype=np.bool_)
        self.not_after: Final[NDArray[np.bool_]] = np.zeros(size, dtype=np.bool_)
        for run, sequence in enumerate(runs.sequences):
            calls = sequence.tolist()
            self._between(calls, self.unpreceded[run])
            self._between(calls[::-1], self.unanswered[run])
            self._next_to(calls, self.not_before[run])
            self._next_to(calls[::-1], self.not_after[run])

    @staticmethod
    def _between(calls: list[int], lacking: NDArray[np.bool_]) -> None:
        """Marks the tools that do not occur between two calls of a tool, or before the first."""
        since: dict[int, NDArray[np.bool_]] = {}
        seen = np.zeros(len(lacking), dtype=np.bool_)
        for tool in calls:
            lacking[tool] |= ~since.get(tool, seen)
            seen[tool] = True
            for other in since.values():
                other[tool] = True
            since[tool] = np.zeros(len(lacking), dtype=np.bool_)

    @staticmethod
    def _next_to(calls: list[int], lacking: NDArray[np.bool_]) -> None:
        """Marks the tools that a call of a tool does not have right before it."""
        before = -1
        for tool in calls:
            kept = before >= 0 and bool(lacking[tool, before])
            lacking[tool] = True
            if before >= 0:
                lacking[tool, before] = kept
            before = tool
