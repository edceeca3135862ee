"""The choice among candidates: few rules, each of which explains bad runs or is no coincidence.

With bad runs, the rules are to explain the labels: how much more probable do these become if we
know which runs break some rule? The effort of reading the rules, and of picking each among its
rivals, is subtracted. Rules are added one after another, and exchanged while that is better.

Without bad runs, a rule is chosen if chance alone would hardly keep so many good runs from breaking
it, and if no other chosen rule implies it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.bounds import label_gain
from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.labels import RunLabels

_MARGIN: Final = 2.0
"""The gain that a rule needs beyond the number of rules that were tried, in nats."""
_MOST_RULES: Final = 24
_ROUNDS: Final = 4
"""The number of passes through the rules for exchanges."""
_CHANCE: Final = log(1e-4)
"""The logarithm of the probability from which on a rule is no coincidence."""
MIN_SUPPORT: Final = 3
"""The least number of good runs in which a rule came into play."""

_HABITS: Final = frozenset(
    {"chain precedence", "chain response", "alternate precedence", "alternate response"}
)
"""Kinds that agents keep out of habit; only a bad run shows that one of them matters."""
_WEAKER: Final = {
    "chain precedence": ("alternate precedence", "precedence", "together"),
    "alternate precedence": ("precedence", "together"),
    "precedence": ("together",),
    "chain response": ("alternate response", "response", "together"),
    "alternate response": ("response", "together"),
    "response": ("together",),
    "apart": ("not after",),
}
"""The kinds that a rule of some kind about the same two tools implies."""


def choose(candidates: Sequence[RuleCandidate], labels: RunLabels) -> list[RuleCandidate]:
    """The rules to propose, the most telling first."""
    if labels.has_bad:
        return explaining(candidates, labels)
    return surprising(candidates, labels)


# ── with bad runs ─────────────────────────────────────────────────────────────────────────


def explaining(candidates: Sequence[RuleCandidate], labels: RunLabels) -> list[RuleCandidate]:
    """A small set of rules that explains the bad runs."""
    alive = [each for each in candidates if (each.violated & ~labels.good).any()]
    if not alive:
        return []
    table = np.array([each.violated for each in alive])
    rivals = Counter((each.kind, each.tools[0]) for each in candidates)
    costs = np.array([each.cost + log(rivals[each.kind, each.tools[0]]) for each in alive])
    chooser = _Chooser(table, costs, labels, log(len(alive)) + _MARGIN)
    return [alive[number] for number in chooser.chosen()]


class _Chooser:
    """A search for the rules that, together, explain most for the least effort."""

    def __init__(
        self,
        table: NDArray[np.bool_],
        costs: NDArray[np.float64],
        labels: RunLabels,
        threshold: float,
    ) -> None:
        self._bad: Final = table[:, ~labels.good]
        self._good: Final = table[:, labels.good]
        self._costs: Final = costs
        self._threshold: Final = threshold

    def chosen(self) -> list[int]:
        """Rules are added one after another; after each, every one may be exchanged."""
        chosen: list[int] = []
        while len(chosen) < _MOST_RULES and (best := self._best(chosen)) is not None:
            chosen = self._exchanged([*chosen, best])
        # Only now: a rule that explains few of many bad runs says much once the others are known.
        return self._exchanged(self._needed(chosen))

    def _best(self, chosen: Sequence[int]) -> int | None:
        """The rule that adds most, if any adds something."""
        added = self._values(chosen) - self._value(chosen)
        best = int(np.argmax(added))
        return best if added[best] > 0 and best not in chosen else None

    def _exchanged(self, chosen: list[int]) -> list[int]:
        """The rules, each exchanged for a better one as long as there is one."""
        for _ in range(_ROUNDS):
            before = list(chosen)
            for place in range(len(chosen)):
                others = chosen[:place] + chosen[place + 1 :]
                values = self._values(others)
                best = int(np.argmax(values))
                if best not in others and values[best] > values[chosen[place]] + 1e-9:
                    chosen[place] = best
            if chosen == before:
                break
        return chosen

    def _needed(self, chosen: list[int]) -> list[int]:
        """Without rules that add too little to the others."""
        for number in sorted(chosen, key=lambda each: -float(self._costs[each])):
            others = [each for each in chosen if each != number]
            if self._value(chosen) - self._value(others) < self._threshold:
                chosen = self._exchanged(others)
        return chosen

    def _values(self, others: Sequence[int]) -> NDArray[np.float64]:
        """For each rule, the value of the set with it and the others."""
        bad, good = self._union(others)
        in_bad = (self._bad | bad).sum(axis=1)
        in_good = (self._good | good).sum(axis=1)
        gains = label_gain(in_bad, in_good, self._bad.shape[1], self._good.shape[1])
        return gains - self._costs - float(self._costs[list(others)].sum())

    def _value(self, chosen: Sequence[int]) -> float:
        bad, good = self._union(chosen)
        counts = np.array([bad.sum()]), np.array([good.sum()])
        gain = label_gain(*counts, self._bad.shape[1], self._good.shape[1])
        return float(gain[0]) - float(self._costs[list(chosen)].sum())

    def _union(self, chosen: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        rows = list(chosen)
        bad: NDArray[np.bool_] = np.any(self._bad[rows], axis=0)
        good: NDArray[np.bool_] = np.any(self._good[rows], axis=0)
        return bad, good


# ── without bad runs ──────────────────────────────────────────────────────────────────────


def surprising(candidates: Sequence[RuleCandidate], labels: RunLabels) -> list[RuleCandidate]:
    """The rules that chance does not explain, without those that others imply."""
    found = [
        each
        for each in candidates
        if each.kind not in _HABITS
        and int((each.active & labels.good).sum()) >= MIN_SUPPORT
        and (each.chance + each.cost < _CHANCE or each.kind == "called")
    ]
    found = without_implied(found)
    return sorted(found, key=_rank)[:_MOST_RULES]


def without_implied(candidates: Iterable[RuleCandidate]) -> list[RuleCandidate]:
    """The candidates that no other one implies."""
    listed = sorted(candidates, key=lambda each: (each.cost, each.rule))
    implied: set[int] = set()
    by_pair: dict[tuple[str, tuple[str, ...]], RuleCandidate] = {}
    for each in listed:
        by_pair.setdefault((each.kind, each.tools), each)
    for each in listed:
        for weaker in _WEAKER.get(each.kind, ()):
            if (weaker, each.tools) in by_pair:
                implied.add(id(by_pair[weaker, each.tools]))
        if each.kind in ("lookup", "source", "state", "state bound", "agreement"):
            for kind in ("precedence", "together"):
                if (kind, each.tools) in by_pair:
                    implied.add(id(by_pair[kind, each.tools]))
        if each.kind == "follow-up":
            for kind in ("response", "together"):
                if (kind, each.tools) in by_pair:
                    implied.add(id(by_pair[kind, each.tools]))
    kept = [each for each in listed if id(each) not in implied]
    called = {each.tools[0] for each in kept if each.kind == "called"}
    kept = [each for each in kept if each.kind != "together" or each.tools[1] not in called]
    for kind in ("precedence", "response", "lookup"):
        kept = _reduced(kept, kind)
    return _best_source(kept)


def _reduced(candidates: list[RuleCandidate], kind: str) -> list[RuleCandidate]:
    """Without the orders that follow from two others."""
    pairs = {each.tools for each in candidates if each.kind == kind and len(each.tools) == 2}
    if kind == "lookup":
        return candidates
    after: dict[str, set[str]] = {}
    for tool, other in pairs:
        after.setdefault(tool, set()).add(other)
    implied = {
        (a, c)
        for a, others in after.items()
        for b in others
        for c in after.get(b, ())
        if c != a and (b, a) not in pairs and (c, b) not in pairs
    }
    return [each for each in candidates if each.kind != kind or each.tools not in implied]


def _rank(candidate: RuleCandidate) -> tuple[float, float, str]:
    """The order of preference; ties are broken by the text."""
    return round(candidate.chance, 6), candidate.cost, candidate.rule


def _best_source(candidates: list[RuleCandidate]) -> list[RuleCandidate]:
    """Of the rules about where an argument comes from, the most telling of each kind."""
    best: dict[tuple[str, str, tuple[str, ...]], RuleCandidate] = {}
    others: list[RuleCandidate] = []
    for each in candidates:
        if each.kind not in ("lookup", "source", "said"):
            others.append(each)
            continue
        key = (each.kind, each.tools[0], each.about)
        known = best.get(key)
        if known is None or _rank(each) < _rank(known):
            best[key] = each
    return [*others, *best.values()]
