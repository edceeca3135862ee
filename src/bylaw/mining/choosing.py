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

from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.labels import RunLabels
from bylaw.mining.rule_search import RuleSearch

_MARGIN: Final = 2.0
"""The gain that a rule needs beyond the number of rules that were tried, in nats."""
_EFFORT: Final = 1.0
"""The gain in nats that is worth a unit of effort of reading."""
_MIN_COST: Final = 0.5
_SURPRISE: Final = 0.1
_MAX_SURPRISE: Final = 3.0
"""Of rules that explain the labels alike, the one that good runs hardly keep by chance is better:
by this share of the logarithm of that probability, and by no more than this."""
_MOST_RULES: Final = 24
"""The most rules that are proposed where there are no bad runs."""
_CHANCE: Final = log(1e-4)
"""The logarithm of the probability from which on a rule is no coincidence."""
MIN_SUPPORT: Final = 3
"""The least number of good runs in which a rule came into play."""

_HABITS: Final = frozenset(
    {"chain precedence", "chain response", "alternate precedence", "alternate response"}
    | {"together", "apart", "not after"}
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


def choose(
    candidates: Sequence[RuleCandidate], labels: RunLabels, *, margin: float = 1.0
) -> list[RuleCandidate]:
    """The rules to propose, the most telling first.

    With bad runs, `margin` is the share of the usual evidence that is asked for.
    """
    if labels.has_bad:
        return explaining(candidates, labels, margin)
    return surprising(candidates, labels)


# ── with bad runs ─────────────────────────────────────────────────────────────────────────


def explaining(
    candidates: Sequence[RuleCandidate], labels: RunLabels, margin: float = 1.0
) -> list[RuleCandidate]:
    """A small set of rules that explains the bad runs."""
    rivals = Counter((each.kind, each.tools[0]) for each in candidates)

    def cost(each: RuleCandidate) -> float:
        surprise = min(_MAX_SURPRISE, -_SURPRISE * each.chance)
        effort = _EFFORT * each.cost + log(rivals[each.kind, each.tools[0]])
        return max(_MIN_COST, effort - surprise)

    mislabelled = labels.tolerance * int((~labels.good).sum())
    best: dict[bytes, tuple[float, float, RuleCandidate]] = {}
    for each in candidates:
        # A tool that only bad runs call may occur in some good ones by mistakes in the labels.
        supported = int((each.active & labels.good).sum()) >= MIN_SUPPORT + mislabelled
        if supported and (each.violated & ~labels.good).any():
            key, rank = each.violated.tobytes(), (cost(each), each.chance)
            if key not in best or rank < best[key][:2]:
                best[key] = *rank, each
    if not best:
        return []
    alive = [each for *_, each in best.values()]
    table = np.array([each.violated for each in alive])
    costs = np.array([cost for cost, *_ in best.values()])
    search = RuleSearch(table, costs, labels, margin * (log(len(alive)) + _MARGIN))
    return [alive[number] for number in search.chosen()]


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
