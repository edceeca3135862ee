"""The summary of a corpus: counts, and the traces to look at; its tables.

Counts are whole numbers until they are shown, so a summary does not depend on how the corpus was
cut into chunks. `batch.corpus` counts; here is no NumPy, because reports on single traces count
rules in the same way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, Self

from bylaw.batch.input.chunks import Cursor
from bylaw.procedure.procedure import SCORE_LABELS, Constraint, Procedure, label_of, value_of
from bylaw.semantics.verdict import OUTCOMES
from bylaw.tables import Column, Table
from bylaw.values import Json

WORST: Final = 50
"""The number of worst traces that are kept."""
EXAMPLES: Final = 5
"""The number of violating traces that are kept for each rule."""
SETS: Final = 1000
"""The most sets of violated rules that are counted."""
BINS: Final = 20
"""The number of equal bins of the histogram of scores; a score of 1 has a bin of its own."""
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
    violated: tuple[int, ...]
    """The rules that it violates, by their number in the procedure."""


@dataclass(slots=True)
class ViolatedSet:
    """The traces that violate the same rules."""

    traces: int
    first: NotableTrace
    """The first of them in the corpus."""


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """The number of traces with each outcome of a rule, in the order of OUTCOMES."""

    constraint: Constraint
    violated: int
    vacuous: int
    satisfied: int
    undecided: int

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.constraint.name

    @property
    def traces(self) -> int:
        """The number of traces."""
        return self.violated + self.vacuous + self.satisfied + self.undecided

    @property
    def passed(self) -> int:
        """The number of traces in which the rule holds, vacuously or not."""
        return self.vacuous + self.satisfied

    @property
    def rate(self) -> float | None:
        """The share of traces that pass, of those in which the rule could be decided."""
        return pass_rate([self])

    @property
    def vacuous_share(self) -> float | None:
        """The share of traces in which there was nothing to check."""
        return self.vacuous / self.traces if self.traces else None

    def to_dict(self) -> dict[str, Json]:
        """The counts as JSON."""
        return {
            "name": self.name,
            "layer": self.constraint.layer,
            "weight": self.constraint.weight,
            "rate": self.rate,
            "violated": self.violated,
            "vacuous": self.vacuous,
            "satisfied": self.satisfied,
            "undecided": self.undecided,
        }


def pass_rate(rules: Sequence[RuleCounts]) -> float | None:
    """The share of passes among the verdicts on some rules that could be decided."""
    decided = sum(rule.passed + rule.violated for rule in rules)
    return sum(rule.passed for rule in rules) / decided if decided else None


def layer_rates(rules: Sequence[RuleCounts]) -> dict[str, float | None]:
    """The pass rate of each layer that the rules are in."""
    members: dict[str, list[RuleCounts]] = {}
    for rule in rules:
        if rule.constraint.layer is not None:
            members.setdefault(rule.constraint.layer, []).append(rule)
    return {layer: pass_rate(found) for layer, found in sorted(members.items())}


@dataclass(slots=True)
class Summary:
    """A procedure on a whole corpus."""

    procedure: Procedure
    traces: int = 0
    calls: int = 0
    labels: list[int] = field(default_factory=lambda: [0] * len(SCORE_LABELS))
    """The number of traces with each label, in the order of SCORE_LABELS."""
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
    histogram: list[int] = field(default_factory=lambda: [0] * (BINS + 1))
    """The number of traces in each bin of scores."""
    sets: dict[tuple[int, ...], ViolatedSet] = field(default_factory=dict)
    """The traces that violate something, by what they violate: the first SETS sets."""

    def __post_init__(self) -> None:
        constraints = self.procedure.constraints
        self.outcomes = self.outcomes or [[0] * len(OUTCOMES) for _ in constraints]
        self.lost = self.lost or [0] * len(constraints)

    # ── figures ───────────────────────────────────────────────────────────────────────────

    @property
    def scored(self) -> int:
        """The number of traces that have a score."""
        return self.traces - self.labels[SCORE_LABELS.index(None)]

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
        names = [label or "UNDECIDED" for label in SCORE_LABELS]
        counts = Counter(dict(zip(names, self.labels, strict=True)))
        return {name: count for name, count in counts.most_common() if count}

    def rules(self) -> list[RuleCounts]:
        """The counts of each rule, in the order of the procedure."""
        return [
            RuleCounts(constraint, *counts)
            for constraint, counts in zip(self.procedure.constraints, self.outcomes, strict=True)
        ]

    def frequent_sets(self) -> list[ViolatedSet]:
        """The sets of rules that traces violate, the most frequent first."""
        return sorted(self.sets.values(), key=lambda each: (-each.traces, each.first.violated))

    def names(self, numbers: Sequence[int]) -> list[str]:
        """The names of some constraints."""
        return [self.procedure.constraints[number].name for number in numbers]

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
                {"trace": each.name, "score": each.score, "violated": len(each.violated)}
                for each in self.worst
            ],
            "histogram": [*self.histogram],
            "violated_together": [
                {"constraints": self.names(each.first.violated), "traces": each.traces}
                for each in self.frequent_sets()
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
        kept = (each.name for each in fields(self) if each.name not in ("procedure", "sets"))
        sets = [(each.traces, each.first) for each in self.sets.values()]
        return {name: getattr(self, name) for name in kept} | {"sets": sets}

    @classmethod
    def from_state(cls, procedure: Procedure, state: Mapping[str, Any]) -> Self:
        """The summary with this state, read from JSON."""

        def one(found: Sequence[Any]) -> NotableTrace:
            score, cursor, row, name, violated = found
            return NotableTrace(score, Cursor(*cursor), row, name, tuple(violated))

        def notable(found: Sequence[Sequence[Any]]) -> list[NotableTrace]:
            return [one(each) for each in found]

        counters = {name: Counter(state[name]) for name in ("unusable", "notes", "alone")}
        examples = {name: notable(found) for name, found in state["examples"].items()}
        sets = [ViolatedSet(traces, one(first)) for traces, first in state["sets"]]
        notables = {
            "worst": notable(state["worst"]),
            "examples": examples,
            "sets": {each.first.violated: each for each in sets},
        }
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
    from bylaw.columnar.evaluation import unsupported_because  # needs NumPy; verdicts do not

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
    rows = [(each.score, len(each.violated), short(each.name)) for each in summary.worst[:SHOWN]]
    return Table("worst", "Worst traces", columns, rows)


def _unusable_table(summary: Summary) -> Table:
    """The files with unusable records."""
    columns = (Column("records", "count"), Column("file"))
    rows = [(count, name) for name, count in summary.unusable.most_common(SHOWN)]
    return Table("unusable", "Records that could not be used", columns, rows)


def short(name: str, limit: int = _NAME) -> str:
    """The name; of one that is too long, the end."""
    return name if len(name) <= limit else f"…{name[1 - limit :]}"
