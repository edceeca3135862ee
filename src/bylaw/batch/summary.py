"""What a corpus comes to: counts that can be added up in any order, and the traces to look at.

Everything is a whole number until it is shown, so the summary of a corpus is the same however it
was cut into pieces and whoever counted.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np

from bylaw.batch.pieces import Place
from bylaw.batch.rule_counts import RuleCounts, pass_rate
from bylaw.batch.scores import LABELS, OUTCOMES, VIOLATED, Scores
from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure
from bylaw.values import Json

WORST: Final = 50
"""How many of the worst traces are kept."""
EXAMPLES: Final = 5
"""For how many traces of each rule that was violated its name is kept."""
ERRORS: Final = 20
"""How many unusable records are kept with all that is wrong with them."""


@dataclass(frozen=True, slots=True, order=True)
class Remembered:
    """A trace to look at. In order: the worst come first, and of equals those that came first."""

    score: float
    place: Place
    """Of the piece that it is in."""
    row: int
    """Which trace of the piece it is."""
    name: str
    violated: int = field(compare=False)
    """How many rules it violates."""


@dataclass(slots=True)
class Summary:
    """A procedure on a whole corpus."""

    procedure: Procedure
    traces: int = 0
    calls: int = 0
    labels: list[int] = field(default_factory=lambda: [0] * len(LABELS))
    """How many traces have each label, by its place in LABELS."""
    outcomes: list[list[int]] = field(default_factory=list)
    """For each constraint, how often each outcome, by its place in OUTCOMES."""
    lost: list[int] = field(default_factory=list)
    """For each constraint, how many traces that have a score violate it."""
    unusable: Counter[str] = field(default_factory=Counter)
    """By file."""
    errors: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    """For each constraint, how many traces had to be judged one by one."""
    worst: list[Remembered] = field(default_factory=list)
    examples: dict[str, list[Remembered]] = field(default_factory=dict)
    """The first traces that violate each rule."""

    def __post_init__(self) -> None:
        constraints = self.procedure.constraints
        self.outcomes = self.outcomes or [[0] * len(OUTCOMES) for _ in constraints]
        self.lost = self.lost or [0] * len(constraints)

    # ── counting ──────────────────────────────────────────────────────────────────────────

    def add(self, scores: Scores, place: Place) -> list[Diagnostic]:
        """Counts a piece in; gives what is wrong with its records, as far as that is kept."""
        self.notes += scores.notes
        self.alone += scores.alone
        if len(scores):
            self._count(scores)
            self._remember(scores, place)
        told = [problem for each in scores.unusable for problem in each.diagnostics]
        told = told[: max(0, ERRORS - len(self.errors))]
        self.errors += [problem.render() for problem in told]
        for each in scores.unusable:
            source = each.diagnostics[0].source if each.diagnostics else None
            self.unusable[source or each.name] += 1
        return told

    def _count(self, scores: Scores) -> None:
        self.traces += len(scores)
        self.calls += int(scores.calls.sum())
        labels = scores.labels()
        for code, count in enumerate(np.bincount(labels, minlength=len(LABELS))):
            self.labels[code] += int(count)
        for code in range(len(OUTCOMES)):
            for row, count in zip(
                self.outcomes, (scores.outcomes == code).sum(axis=0), strict=True
            ):
                row[code] += int(count)
        decided = scores.outcomes[labels != LABELS.index(None)]
        found = (decided == VIOLATED).sum(axis=0)
        self.lost = [old + int(new) for old, new in zip(self.lost, found, strict=True)]

    def _remember(self, scores: Scores, place: Place) -> None:
        values = scores.values(self.procedure)
        broken = scores.outcomes == VIOLATED
        counts = broken.sum(axis=1)

        def remembered(row: int) -> Remembered:
            value = float(values[row])
            score = 1.0 if math.isnan(value) else value  # one without a score is not the worst
            return Remembered(score, place, row, scores.names[row], int(counts[row]))

        limit = self.worst[-1].score if len(self.worst) == WORST else 1.0
        low = np.flatnonzero(values < limit)
        if len(low):
            lowest = low[np.argsort(values[low], kind="stable")[:WORST]]
            found = [remembered(int(row)) for row in lowest]
            self.worst = heapq.nsmallest(WORST, [*self.worst, *found])
        for number, constraint in enumerate(self.procedure.constraints):
            kept = self.examples.setdefault(constraint.name, [])
            if len(kept) < EXAMPLES:
                rows = np.flatnonzero(broken[:, number])[: EXAMPLES - len(kept)]
                kept += [remembered(int(row)) for row in rows]

    # ── what it says ──────────────────────────────────────────────────────────────────────

    @property
    def scored(self) -> int:
        """How many traces have a score."""
        return self.traces - self.labels[LABELS.index(None)]

    @property
    def mean(self) -> float | None:
        """The mean score, from the weights that were lost; None if no trace has one."""
        if not self.scored:
            return None
        weights = [constraint.weight for constraint in self.procedure.constraints]
        lost = math.fsum(weight * count for weight, count in zip(weights, self.lost, strict=True))
        return 1 - lost / (math.fsum(weights) * self.scored)

    def layers(self) -> dict[str, float | None]:
        """The pass rate of each layer that the procedure uses."""
        members: dict[str, list[RuleCounts]] = {}
        for rule in self.rules():
            if rule.constraint.layer is not None:
                members.setdefault(rule.constraint.layer, []).append(rule)
        return {layer: pass_rate(rules) for layer, rules in sorted(members.items())}

    def label_counts(self) -> dict[str, int]:
        """How many traces have each label, the most frequent first."""
        names = [label or "UNDECIDED" for label in LABELS]
        counts = Counter(dict(zip(names, self.labels, strict=True)))
        return {name: count for name, count in counts.most_common() if count}

    def rules(self) -> list[RuleCounts]:
        """How each rule did, in the order of the procedure."""
        return [
            RuleCounts(constraint, *counts)
            for constraint, counts in zip(self.procedure.constraints, self.outcomes, strict=True)
        ]

    def to_dict(self) -> dict[str, Json]:
        """The summary as JSON."""
        return {
            "procedure": self.procedure.name,
            "traces": self.traces,
            "calls": self.calls,
            "mean_score": self.mean,
            "labels": dict(self.label_counts()),
            "layers": dict(self.layers()),
            "constraints": [rule.to_dict() for rule in self.rules()],
            "worst": [
                {"trace": each.name, "score": each.score, "violated": each.violated}
                for each in self.worst
            ],
            "unusable": dict(self.unusable),
            "errors": [*self.errors],
            "notes": dict(self.notes),
            "judged_one_by_one": dict(self.alone),
        }

    # ── between two runs ──────────────────────────────────────────────────────────────────

    def state(self) -> dict[str, Json]:
        """All that was counted, for a run that goes on later."""
        return {
            "traces": self.traces,
            "calls": self.calls,
            "labels": [*self.labels],
            "outcomes": [[*row] for row in self.outcomes],
            "lost": [*self.lost],
            "unusable": dict(self.unusable),
            "errors": [*self.errors],
            "notes": dict(self.notes),
            "alone": dict(self.alone),
            "worst": [_kept(each) for each in self.worst],
            "examples": {name: [*map(_kept, found)] for name, found in self.examples.items()},
        }

    @classmethod
    def from_state(cls, procedure: Procedure, state: Mapping[str, Any]) -> Self:
        """The summary that was written down."""
        counters = {name: Counter(state[name]) for name in ("unusable", "notes", "alone")}
        worst = [_remembered(each) for each in state["worst"]]
        examples = {name: [*map(_remembered, found)] for name, found in state["examples"].items()}
        return cls(procedure, **{**state, **counters, "worst": worst, "examples": examples})


def _kept(each: Remembered) -> list[Json]:
    return [each.score, list(each.place), each.row, each.name, each.violated]


def _remembered(kept: Sequence[Any]) -> Remembered:
    score, place, row, name, violated = kept
    return Remembered(score, Place(*place), row, name, violated)
