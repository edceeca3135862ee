"""The summary of a corpus: counts, and the traces to look at; its tables.

Counts are whole numbers until they are shown, so a summary does not depend on how the corpus was
cut into chunks.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, Self

import numpy as np

from bylaw.batch.input.chunks import Cursor
from bylaw.batch.output.rule_counts import RuleCounts, layer_rates
from bylaw.batch.scoring.scorer import LABELS, OUTCOMES, VIOLATED, Scores
from bylaw.columnar.evaluation import unsupported_because
from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure, label_of, value_of
from bylaw.tables import Column, Table
from bylaw.values import Json

WORST: Final = 50
"""The number of worst traces that are kept."""
EXAMPLES: Final = 5
"""The number of violating traces that are kept for each rule."""
ERRORS: Final = 20
"""The number of errors in records that are kept."""
SHOWN: Final = 10
"""The most rows in a table of traces or files."""
_LISTED: Final = 3
"""The most rules that are named in notes on slow rules."""
_NAME: Final = 36
"""The longest name in a table with numbers."""


class NotableTrace(NamedTuple):
    """A trace to look at. In order, the worst come first, and of equals the first in the corpus."""

    score: float
    cursor: Cursor
    """The chunk that holds it."""
    row: int
    """Its number in the chunk."""
    name: str
    violated: int
    """The number of rules that it violates."""


@dataclass(slots=True)
class Summary:
    """A procedure on a whole corpus."""

    procedure: Procedure
    traces: int = 0
    calls: int = 0
    labels: list[int] = field(default_factory=lambda: [0] * len(LABELS))
    """The number of traces with each label, in the order of LABELS."""
    outcomes: list[list[int]] = field(default_factory=list)
    """For each constraint, the number of traces with each outcome, in the order of OUTCOMES."""
    lost: list[int] = field(default_factory=list)
    """For each constraint, the number of traces with a score that violate it."""
    unusable: Counter[str] = field(default_factory=Counter)
    """The number of unusable records in each file."""
    errors: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    """For each constraint without a reading in columns, the number of traces judged one by one."""
    worst: list[NotableTrace] = field(default_factory=list)
    examples: dict[str, list[NotableTrace]] = field(default_factory=dict)
    """The first traces that violate each rule."""

    def __post_init__(self) -> None:
        constraints = self.procedure.constraints
        self.outcomes = self.outcomes or [[0] * len(OUTCOMES) for _ in constraints]
        self.lost = self.lost or [0] * len(constraints)

    # ── counting ──────────────────────────────────────────────────────────────────────────

    def add(self, scores: Scores, cursor: Cursor) -> list[Diagnostic]:
        """Adds a chunk; returns the errors in its records that are kept."""
        self.notes += scores.notes
        self.alone += scores.alone
        if len(scores):
            self._count(scores)
            self._remember(scores, cursor)
        problems = [problem for each in scores.unusable for problem in each.diagnostics]
        problems = problems[: max(0, ERRORS - len(self.errors))]
        self.errors += [problem.render() for problem in problems]
        for each in scores.unusable:
            source = each.diagnostics[0].source if each.diagnostics else None
            self.unusable[source or each.name] += 1
        return problems

    def _count(self, scores: Scores) -> None:
        self.traces += len(scores)
        self.calls += int(scores.calls.sum())
        for code, count in enumerate(np.bincount(scores.labels, minlength=len(LABELS))):
            self.labels[code] += int(count)
        for code in range(len(OUTCOMES)):
            for row, count in zip(
                self.outcomes, (scores.outcomes == code).sum(axis=0), strict=True
            ):
                row[code] += int(count)
        decided = scores.outcomes[scores.labels != LABELS.index(None)]
        found = (decided == VIOLATED).sum(axis=0)
        self.lost = [old + int(new) for old, new in zip(self.lost, found, strict=True)]

    def _remember(self, scores: Scores, cursor: Cursor) -> None:
        values = scores.values
        broken = scores.outcomes == VIOLATED
        counts = broken.sum(axis=1)

        def notable(row: int) -> NotableTrace:
            value = float(values[row])
            score = 1.0 if math.isnan(value) else value  # one without a score is not the worst
            return NotableTrace(score, cursor, row, scores.names[row], int(counts[row]))

        limit = self.worst[-1].score if len(self.worst) == WORST else 1.0
        low = np.flatnonzero(values < limit)
        if len(low):
            lowest = low[np.argsort(values[low], kind="stable")[:WORST]]
            found = [notable(int(row)) for row in lowest]
            self.worst = heapq.nsmallest(WORST, [*self.worst, *found])
        for number, constraint in enumerate(self.procedure.constraints):
            kept = self.examples.setdefault(constraint.name, [])
            if len(kept) < EXAMPLES:
                rows = np.flatnonzero(broken[:, number])[: EXAMPLES - len(kept)]
                kept += [notable(int(row)) for row in rows]

    # ── figures ───────────────────────────────────────────────────────────────────────────

    @property
    def scored(self) -> int:
        """The number of traces that have a score."""
        return self.traces - self.labels[LABELS.index(None)]

    @property
    def mean(self) -> float | None:
        """The mean score, from the weights of violated rules; None if no trace has a score."""
        if not self.scored:
            return None
        weights = [constraint.weight for constraint in self.procedure.constraints]
        lost = math.fsum(weight * count for weight, count in zip(weights, self.lost, strict=True))
        label = label_of(sum(self.lost), len(weights) * self.scored)
        return value_of(lost, math.fsum(weights) * self.scored, label)

    def layers(self) -> dict[str, float | None]:
        """The pass rate of each layer that the procedure uses."""
        return layer_rates(self.rules())

    def label_counts(self) -> dict[str, int]:
        """The number of traces with each label, the most frequent first."""
        names = [label or "UNDECIDED" for label in LABELS]
        counts = Counter(dict(zip(names, self.labels, strict=True)))
        return {name: count for name, count in counts.most_common() if count}

    def rules(self) -> list[RuleCounts]:
        """The counts of each rule, in the order of the procedure."""
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

    def tables(self) -> list[Table]:
        """The tables that have rows: `rules`, `layers`, `worst` and `unusable`."""
        made = (_rules_table(self), _layers_table(self), _worst_table(self), _unusable_table(self))
        return [table for table in made if table.rows]

    # ── saving ────────────────────────────────────────────────────────────────────────────

    def state(self) -> dict[str, Any]:
        """The fields that make the summary, ready for JSON, for a run that is resumed."""
        kept = (each.name for each in fields(self) if each.name != "procedure")
        return {name: getattr(self, name) for name in kept}

    @classmethod
    def from_state(cls, procedure: Procedure, state: Mapping[str, Any]) -> Self:
        """The summary with this state, read from JSON."""

        def notable(found: Sequence[Sequence[Any]]) -> list[NotableTrace]:
            return [NotableTrace(score, Cursor(*cursor), *rest) for score, cursor, *rest in found]

        counters = {name: Counter(state[name]) for name in ("unusable", "notes", "alone")}
        examples = {name: notable(found) for name, found in state["examples"].items()}
        notables = {"worst": notable(state["worst"]), "examples": examples}
        return cls(procedure, **{**state, **counters, **notables})


# ── tables, for the terminal and for HTML pages ───────────────────────────────────────────


def _rules_table(summary: Summary) -> Table:
    """The pass rate of each rule."""
    columns = (
        Column("rule"),
        Column("pass rate", "percent"),
        Column("vacuous", "percent"),
        Column("violated", "count"),
    )
    found = summary.rules() if summary.traces else []
    rows = [[short(each.name), each.rate, each.vacuous_share, each.violated] for each in found]
    notes = [
        f"{each.name}: undecided in {each.undecided:,} traces" for each in found if each.undecided
    ]
    return Table("rules", "Rules", columns, rows, [*notes, *_alone(summary)])


def _alone(summary: Summary) -> Iterator[str]:
    """Notes on the rules that were judged trace by trace."""
    slow = summary.alone.most_common()
    for name, count in slow[:_LISTED]:
        formula = summary.procedure[name].formula
        reason = unsupported_because(formula, summary.procedure.vocabulary)
        yield f"{name}: judged one by one in {count:,} traces, which takes longer: {reason}"
    if len(slow) > _LISTED:
        yield f"so were {len(slow) - _LISTED:,} other rules"


def _layers_table(summary: Summary) -> Table:
    """The pass rate of each layer."""
    columns = (Column("layer"), Column("pass rate", "percent"))
    found = summary.layers() if summary.traces else {}
    return Table("layers", "Layers", columns, list(found.items()))


def _worst_table(summary: Summary) -> Table:
    """The traces with the lowest scores."""
    columns = (Column("score", "share"), Column("violated", "count"), Column("trace"))
    rows = [(each.score, each.violated, short(each.name)) for each in summary.worst[:SHOWN]]
    return Table("worst", "Worst traces", columns, rows)


def _unusable_table(summary: Summary) -> Table:
    """The files with unusable records."""
    columns = (Column("records", "count"), Column("file"))
    rows = [(count, name) for name, count in summary.unusable.most_common(SHOWN)]
    return Table("unusable", "Records that could not be used", columns, rows)


def short(name: str, limit: int = _NAME) -> str:
    """The name; of one that is too long, the end."""
    return name if len(name) <= limit else f"…{name[1 - limit :]}"
