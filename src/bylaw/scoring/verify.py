"""The compliance score of a trace: `C = 1 − Σ violated weights / Σ weights`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bylaw.logic.walk import sees_answer
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.definitions import Definitions
from bylaw.scoring.narrate import sentence
from bylaw.semantics.reasons import witness
from bylaw.semantics.reference import Evaluation, view_of
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import Call
from bylaw.trace.formats import read
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.view import View

Label: TypeAlias = Literal["FULL", "PARTIAL", "NONE"]
Views: TypeAlias = dict[tuple[Events, bool], View]
"""What rules see of a trace, by what counts as a position and whether the answer does."""


@dataclass(frozen=True, slots=True)
class ConstraintResult:
    """One constraint on one trace."""

    constraint: Constraint
    outcome: Outcome
    detail: str
    """What happened, in a sentence."""
    witness: tuple[int, ...]
    """The calls to look at, as indices into `trace.calls`; `len(trace.calls)` is the answer."""

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.constraint.name

    @property
    def passed(self) -> bool | None:
        """Was it satisfied? None where that could not be decided."""
        return self.outcome.passed

    def to_dict(self) -> dict[str, Json]:
        """The paper's fields, and ours."""
        constraint = self.constraint
        optional = {"why": constraint.why, "fix": constraint.fix}
        return {
            "name": constraint.name,
            "layer": constraint.layer,
            "weight": constraint.weight,
            "passed": self.passed,
            "detail": self.detail,
            "outcome": self.outcome.value,
            "vacuous": self.outcome is Outcome.VACUOUS,
            "witness": list(self.witness),
            "rule": constraint.rule,
            "severity": constraint.severity,
        } | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class LayerResult:
    """How the constraints of one layer did."""

    passed: int
    total: int
    undecided: int = 0

    @property
    def rate(self) -> float | None:
        """The share that passed; None if one could not be decided."""
        return None if self.undecided else self.passed / self.total


@dataclass(frozen=True, slots=True)
class Report:
    """A procedure on a trace."""

    procedure: Procedure
    trace: Trace
    constraints: tuple[ConstraintResult, ...]

    @property
    def violated(self) -> tuple[ConstraintResult, ...]:
        """The constraints that were violated."""
        return tuple(r for r in self.constraints if r.outcome is Outcome.VIOLATED)

    @property
    def undecided(self) -> tuple[ConstraintResult, ...]:
        """The constraints that could not be decided."""
        return tuple(r for r in self.constraints if r.outcome is Outcome.ERROR)

    @property
    def score(self) -> float | None:
        """The compliance score from 0 to 1; None if a constraint could not be decided."""
        if self.undecided:
            return None
        if len(self.violated) == len(self.constraints):
            return 0.0
        lost = math.fsum(result.constraint.weight for result in self.violated)
        return 1 - lost / math.fsum(result.constraint.weight for result in self.constraints)

    @property
    def label(self) -> Label | None:
        """Decided on which constraints are violated, not on a rounded number."""
        if self.undecided:
            return None
        if not self.violated:
            return "FULL"
        return "NONE" if len(self.violated) == len(self.constraints) else "PARTIAL"

    @property
    def reason(self) -> str | None:
        """Why there is no score, where there is none."""
        if not self.undecided:
            return None
        return " ".join(f"{result.name}: {result.detail}" for result in self.undecided)

    @property
    def details(self) -> str:
        """The result in one sentence."""
        total = len(self.constraints)
        if self.undecided:
            return f"No score: {len(self.undecided)} of {total} constraints could not be decided."
        if not self.violated:
            return "All constraints satisfied."
        names = ", ".join(result.name for result in self.violated)
        return f"{len(self.violated)} of {total} constraints violated: {names}."

    @property
    def layers(self) -> dict[str, LayerResult]:
        """The pass rate of each layer that the procedure uses."""
        layers: dict[str, list[ConstraintResult]] = {}
        for result in self.constraints:
            if result.constraint.layer is not None:
                layers.setdefault(result.constraint.layer, []).append(result)
        return {
            layer: LayerResult(
                sum(result.passed is True for result in results),
                len(results),
                sum(result.passed is None for result in results),
            )
            for layer, results in sorted(layers.items())
        }

    def to_dict(self) -> dict[str, Json]:
        """The paper's output record, plus witness, vacuity and pass rates by layer."""
        record: dict[str, Json] = {
            "compliance_score": self.score,
            "compliance_label": self.label,
            "details": self.details,
            "tool_sequence": [call.tool for call in self.trace.calls],
            "constraints": [result.to_dict() for result in self.constraints],
            "layers": {
                name: {"passed": layer.passed, "total": layer.total, "rate": layer.rate}
                for name, layer in self.layers.items()
            },
            "procedure": self.procedure.name,
        }
        if self.trace.name is not None:
            record["trace"] = self.trace.name
        return record if self.reason is None else record | {"reason": self.reason}


def verify_trace(trace: Trace | Mapping[str, Any], procedure: Procedure) -> Report:
    """Scores a trace, or a record in any format that is read, against a procedure."""
    subject = trace if isinstance(trace, Trace) else read(trace).trace
    subject = procedure.marked(subject)
    views: Views = {}
    results = tuple(judge(subject, procedure, each, views) for each in procedure.constraints)
    return Report(procedure, subject, results)


def judge(
    trace: Trace,
    procedure: Procedure,
    constraint: Constraint,
    views: Views | None = None,
) -> ConstraintResult:
    """One constraint of a procedure on a trace. `views` are kept from one to the next."""
    evaluation = evaluation_of(trace, procedure, constraint, views)
    positions = witness(evaluation).positions
    return ConstraintResult(
        constraint,
        evaluation.outcome,
        sentence(evaluation, positions, procedure.derived(Definitions).names),
        tuple(call_indices(evaluation, positions)),
    )


def evaluation_of(
    trace: Trace,
    procedure: Procedure,
    constraint: Constraint,
    views: Views | None = None,
) -> Evaluation:
    """The constraint's formula on what it sees of the trace."""
    formula = constraint.formula
    views = {} if views is None else views
    events = procedure.events_of(constraint)
    seen = (events, sees_answer(formula))
    if seen not in views:
        views[seen] = view_of(formula, trace, procedure.order, events, procedure.vocabulary)
    return Evaluation(formula, views[seen])  # the procedure has checked that it is closed


def call_indices(evaluation: Evaluation, positions: tuple[int, ...]) -> list[int]:
    """Positions of a view as indices of calls, leaving messages out."""
    events = evaluation.view.events
    if not positions or len(evaluation.view.trace.events) == len(evaluation.view.trace.calls):
        return list(positions)  # there are no messages to leave out
    numbers: dict[int, int] = {}
    for position, event in enumerate(events):
        if isinstance(event, Call):
            numbers[position] = len(numbers)
    return [numbers[position] for position in positions if position in numbers]
