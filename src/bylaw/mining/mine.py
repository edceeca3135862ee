"""Mining: a short procedure from recorded runs, with the evidence for each rule.

Candidates of all kinds are generated from the runs, and a few are chosen. The choice is repeated on
the runs without each third of them: a rule that is not found again, or that the runs held out
contradict, is uncertain. Finally, every rule is evaluated on every run by the reference, so that
what is reported about it is its exact meaning.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from bylaw.mining import data, groups, order
from bylaw.mining.candidate import RuleCandidate, RunMask
from bylaw.mining.choosing import choose
from bylaw.mining.labels import RunLabels
from bylaw.mining.merging import merged
from bylaw.mining.names import rule_names
from bylaw.mining.runs import FAILED, Runs
from bylaw.mining.sites import Sites
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.semantics.verdict import Outcome
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json

TOLERANCE: Final = 0.05
"""The share of good runs that may break a rule."""
FOLDS: Final = 3
_MARGIN_IN_FOLDS: Final = 0.4
"""With a third of the runs held out, there is less evidence for any rule: so much of what is
otherwise asked for is enough to find it again."""
MIN_RUNS: Final = 24
"""With fewer runs, none are held out."""
_EXAMPLES: Final = 3
"""The runs for and against a rule that are named."""
_SEED: Final = 7
_Z: Final = 1.96
"""For intervals of 95 %."""


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """The evidence that the runs give for and against a rule."""

    good: int
    """The good runs in which the rule came into play."""
    good_broken: int
    bad: int
    """All bad runs."""
    bad_broken: int
    held_out: int | None
    """In how many of the thirds held out the rule was found without them, and kept; None if there
    were too few runs to hold any out."""
    kept_by: tuple[str, ...]
    """Names of good runs in which it came into play and was kept."""
    broken_by: tuple[str, ...]
    """Names of runs that break it, bad ones first."""
    counterexample: str
    """A sentence about the first run that breaks it, or nothing."""

    @property
    def confidence(self) -> tuple[float, float, float]:
        """The share of good runs that keep it, with its interval of 95 % (Wilson's)."""
        if not self.good:
            return 1.0, 0.0, 1.0
        share = 1 - self.good_broken / self.good
        middle = share + _Z * _Z / (2 * self.good)
        spread = _Z * sqrt(share * (1 - share) / self.good + _Z * _Z / (4 * self.good**2))
        scale = 1 + _Z * _Z / self.good
        return share, max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class MinedRule:
    """A rule that is proposed."""

    name: str
    kind: str
    layer: str
    rule: str
    meaning: str
    evidence: RuleEvidence

    @property
    def certain(self) -> bool:
        """Was it found again without some of the runs?

        Without bad runs, which tell most, two of the three thirds must agree.
        """
        needed = 1 if self.evidence.bad else FOLDS - 1
        return self.evidence.held_out is None or self.evidence.held_out >= needed

    def to_dict(self) -> dict[str, Json]:
        """The rule as JSON."""
        found, low, high = self.evidence.confidence
        evidence: dict[str, Json] = {
            "good": self.evidence.good,
            "good_broken": self.evidence.good_broken,
            "bad": self.evidence.bad,
            "bad_broken": self.evidence.bad_broken,
            "confidence": [round(found, 4), round(low, 4), round(high, 4)],
            "held_out": self.evidence.held_out,
            "kept_by": list(self.evidence.kept_by),
            "broken_by": list(self.evidence.broken_by),
            "counterexample": self.evidence.counterexample,
        }
        return {
            "name": self.name,
            "kind": self.kind,
            "layer": self.layer,
            "rule": self.rule,
            "meaning": self.meaning,
            "certain": self.certain,
            "evidence": evidence,
        }


@dataclass(frozen=True, slots=True)
class MinedProcedure:
    """The procedure that the runs suggest."""

    name: str
    tools: tuple[str, ...]
    good: int
    bad: int
    failed: str | None
    """The test for failed calls, if tools report failures in the text of results."""
    rules: tuple[MinedRule, ...]
    explained: int
    """The bad runs that break some rule."""


def events_of(rule: str) -> Events:
    """The events that a mined rule sees: messages only if it speaks of them."""
    return "all" if "says(" in rule else "calls"


def candidates_of(runs: Runs, labels: RunLabels, *, with_data: bool = True) -> list[RuleCandidate]:
    """Every rule that few enough good runs break."""
    found = [*order.candidates(runs, labels), *groups.candidates(runs, labels)]
    if with_data:
        found += data.candidates(runs, Sites(runs), labels)
    return sorted(found, key=lambda each: each.rule)  # the same on every machine


def mine(
    good: Sequence[Trace],
    bad: Sequence[Trace] = (),
    *,
    name: str = "mined",
    tolerance: float = TOLERANCE,
    with_data: bool = True,
    watch: Callable[[str], None] = lambda stage: None,
) -> MinedProcedure:
    """A procedure from good runs, and bad ones where there are any."""
    watch("looking for rules")
    runs = Runs([*good, *bad], [True] * len(good) + [False] * len(bad))
    chosen = merged(_chosen(runs, tolerance, with_data))
    folds: list[tuple[RunMask, frozenset[tuple[str, ...]]]] = []
    if chosen and len(runs) >= MIN_RUNS:
        for held_out in _thirds(len(runs)):
            watch("trying them on runs held out")
            kept = np.flatnonzero(~held_out).tolist()
            some = Runs([runs.traces[n] for n in kept], runs.good[kept].tolist())
            again = _chosen(some, tolerance, with_data, margin=_MARGIN_IN_FOLDS)
            found = frozenset(each.identity for each in again)
            folds.append((held_out, found))
    watch("evaluating them")
    failed = FAILED if runs.reports_errors_as_text else None
    exact = _evaluated(chosen, runs, failed)
    rules = []
    for each, name_, (active, violated, first) in zip(
        chosen, rule_names(chosen), exact, strict=True
    ):
        held = sum(
            _found_again(each, found) and _kept(violated & out, active & out, runs, tolerance)
            for out, found in folds
        )
        rules.append(_mined(each, name_, runs, active, violated, first, held if folds else None))
    broken = np.zeros(len(runs), dtype=np.bool_)
    for _, violated, _ in exact:
        broken |= violated
    explained = int((broken & runs.bad).sum())
    counts = len(good), len(bad)
    return MinedProcedure(name, tuple(runs.tools), *counts, failed, tuple(rules), explained)


def _chosen(
    runs: Runs, tolerance: float, with_data: bool, margin: float = 1.0
) -> list[RuleCandidate]:
    labels = RunLabels(runs.good, tolerance)
    return choose(candidates_of(runs, labels, with_data=with_data), labels, margin=margin)


def _found_again(candidate: RuleCandidate, found: frozenset[tuple[str, ...]]) -> bool:
    """Is it among these rules? Of one about several tools, half are enough."""
    members = candidate.members or (candidate.identity,)
    return 2 * sum(each in found for each in members) >= len(members)


def _thirds(count: int) -> Iterator[RunMask]:
    places = np.arange(count) % FOLDS
    random.Random(_SEED).shuffle(shuffled := places.tolist())
    for fold in range(FOLDS):
        yield np.array(shuffled) == fold


def _kept(violated: RunMask, active: RunMask, runs: Runs, tolerance: float) -> bool:
    """Do runs that a rule was not made from bear it out?"""
    good, broken = int((active & runs.good).sum()), int((violated & runs.good).sum())
    return broken <= tolerance * good + 2 * sqrt(tolerance * good) + 1e-9


# ── the exact evidence ────────────────────────────────────────────────────────────────────


def _evaluated(
    chosen: Sequence[RuleCandidate], runs: Runs, failed: str | None
) -> list[tuple[RunMask, RunMask, str]]:
    """For each rule: the runs where it came into play, those that break it, and a sentence."""
    if not chosen:
        return []
    constraints: list[Json] = [
        {"name": f"r{n}", "rule": each.rule, "events": events_of(each.rule)}
        for n, each in enumerate(chosen)
    ]
    fields: dict[str, Json] = {"constraints": constraints}
    if failed is not None:
        fields["failed"] = failed
    procedure = Procedure.from_dict({"bylaw": 1, "name": "mined", **fields})
    active = np.zeros((len(chosen), len(runs)), dtype=np.bool_)
    violated = np.zeros((len(chosen), len(runs)), dtype=np.bool_)
    sentences = [""] * len(chosen)
    for run in [*np.flatnonzero(runs.bad).tolist(), *np.flatnonzero(runs.good).tolist()]:
        report = verify_trace(runs.traces[run], procedure)
        for number, result in enumerate(report.constraints):
            active[number, run] = result.outcome is not Outcome.VACUOUS
            violated[number, run] = result.outcome is Outcome.VIOLATED
            if violated[number, run] and not sentences[number]:
                sentences[number] = result.detail
    return [(active[n], violated[n], sentences[n]) for n in range(len(chosen))]


def _mined(
    candidate: RuleCandidate,
    name: str,
    runs: Runs,
    active: RunMask,
    violated: RunMask,
    sentence: str,
    held_out: int | None,
) -> MinedRule:
    def named(mask: RunMask) -> tuple[str, ...]:
        return tuple(
            runs.traces[n].name or f"run {n + 1}" for n in np.flatnonzero(mask)[:_EXAMPLES].tolist()
        )

    evidence = RuleEvidence(
        good=int((active & runs.good).sum()),
        good_broken=int((violated & runs.good).sum()),
        bad=int(runs.bad.sum()),
        bad_broken=int((violated & runs.bad).sum()),
        held_out=held_out,
        kept_by=named(active & ~violated & runs.good),
        broken_by=(*named(violated & runs.bad), *named(violated & runs.good))[:_EXAMPLES],
        counterexample=sentence,
    )
    return MinedRule(
        name, candidate.kind, candidate.layer, candidate.rule, candidate.meaning, evidence
    )
