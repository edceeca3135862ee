"""A procedure on one trace: verdicts at once, and reasons when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bylaw.argument_types import expect
from bylaw.logic.formula import Formula
from bylaw.logic.walk import sees_answer
from bylaw.procedure.procedure import Constraint, Label, Procedure, score_of, violations
from bylaw.scoring.narrate import Narrator, defined_names, sentence
from bylaw.scoring.occurrences import Occurrence, occurrences
from bylaw.semantics.evaluation import Evaluation
from bylaw.semantics.reasons import witness
from bylaw.semantics.scope import CompiledFormulas, EvaluationScope
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import Call
from bylaw.trace.formats import read
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.view import View

if TYPE_CHECKING:
    from bylaw.scoring.across import AcrossResult

_SATISFIED: Final = Outcome.SATISFIED
_LOAD: Final = "Load it: Procedure.load(path); or read it: Procedure.from_dict(mapping)."
MAX_SENTENCES: Final = 100
"""The number of occurrences of a violation that have a sentence in the JSON of a result."""
_PASSED: Final = {outcome: outcome.passed for outcome in Outcome}
_Sees: TypeAlias = tuple[Events, bool]
"""The events that count as positions for a rule, and whether the final answer does."""


class CompiledProcedure:
    """The constraints of a procedure, compiled for use on many traces."""

    def __init__(self, procedure: Procedure) -> None:
        constraints = procedure.constraints
        self.weights: Final = [each.weight for each in procedure.run_constraints]
        self.sees: Final[dict[str, _Sees]] = {
            each.name: (procedure.events_of(each), sees_answer(each.formula))
            for each in constraints
        }
        self.formulas: Final = {
            each.name: CompiledFormulas([(0, each.formula)]) for each in constraints
        }
        grouped: dict[_Sees, list[tuple[int, Formula]]] = {}
        for number, each in enumerate(procedure.run_constraints):
            grouped.setdefault(self.sees[each.name], []).append((number, each.formula))
        self.groups: Final = [(sees, CompiledFormulas(each)) for sees, each in grouped.items()]
        """The rules that see the same events, by their numbers."""


class CheckedTrace:
    """A trace as the constraints of a procedure see it."""

    def __init__(self, trace: Trace, procedure: Procedure) -> None:
        self.trace: Final = procedure.marked(trace)
        self.procedure: Final = procedure
        self.compiled: Final = procedure.derived(CompiledProcedure)
        self._scopes: Final[dict[_Sees, EvaluationScope]] = {}

    def outcomes(self) -> list[Outcome]:
        """The outcome of every constraint that judges a run by itself, in order."""
        outcomes = [_SATISFIED] * len(self.compiled.weights)
        for sees, formulas in self.compiled.groups:
            self._scope(sees).decide(formulas, outcomes)
        return outcomes

    def outcome(self, constraint: Constraint) -> Outcome:
        """The outcome of one constraint."""
        name = constraint.name
        return self._scope(self.compiled.sees[name]).outcome(self.compiled.formulas[name])

    def evaluation(self, constraint: Constraint) -> Evaluation:
        """A constraint's formula on the events it sees; its parts can be inspected."""
        return Evaluation(constraint.formula, self._scope(self.compiled.sees[constraint.name]).view)

    def result(self, constraint: Constraint) -> ConstraintResult:
        """The outcome of one constraint, with the reasons for it."""
        return ConstraintResult(self, constraint, self.outcome(constraint))

    def _scope(self, sees: _Sees) -> EvaluationScope:
        scope = self._scopes.get(sees)
        if scope is None:
            procedure = self.procedure
            view = View(self.trace, self.trace.seen(*sees), procedure.order, procedure.vocabulary)
            scope = self._scopes[sees] = EvaluationScope(view)
        return scope


@dataclass(frozen=True)
class ConstraintResult:
    """One constraint on one trace. The reasons are found when they are asked for."""

    checked: CheckedTrace
    constraint: Constraint
    outcome: Outcome

    @cached_property
    def evaluation(self) -> Evaluation:
        """The constraint's formula on the trace."""
        return self.checked.evaluation(self.constraint)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """The events to look at, as positions among those that the constraint sees."""
        return witness(self.evaluation).positions

    @cached_property
    def detail(self) -> str:
        """The reason for the outcome, in one sentence."""
        names = self.checked.procedure.derived(defined_names)
        return sentence(self.evaluation, self.positions, names)

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Every occurrence of the violation; empty if the constraint was not violated."""
        if self.outcome is not Outcome.VIOLATED:
            return ()
        names = self.checked.procedure.derived(defined_names)
        return tuple(occurrences(Narrator(self.evaluation, names)))

    @property
    def witness(self) -> tuple[int, ...]:
        """The calls to look at, as indices into `trace.calls`; `len(trace.calls)` is the answer."""
        return tuple(call_indices(self.evaluation, self.positions))

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.constraint.name

    @property
    def passed(self) -> bool | None:
        """Was the constraint satisfied? None if that could not be decided."""
        return self.outcome.passed

    def to_dict(self) -> dict[str, Json]:
        """The result as JSON: the paper's fields and some more."""
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
            "occurrences": [
                each.to_dict(detail=number < MAX_SENTENCES)
                for number, each in enumerate(self.occurrences)
            ],
            "rule": constraint.rule,
            "severity": constraint.effective_severity,
        } | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class LayerResult:
    """The results of the constraints of one layer."""

    passed: int
    total: int
    undecided: int = 0

    @property
    def rate(self) -> float | None:
        """The share that passed; None if one could not be decided."""
        return None if self.undecided else self.passed / self.total


class Report:
    """The results of a procedure on a trace."""

    def __init__(self, checked: CheckedTrace) -> None:
        self._checked: Final = checked
        self.procedure: Final = checked.procedure
        self.trace: Final = checked.trace
        self._outcomes: Final = checked.outcomes()
        self._score: Final = score_of(
            checked.compiled.weights, map(_PASSED.__getitem__, self._outcomes)
        )

    @property
    def score(self) -> float | None:
        """The compliance score from 0 to 1; None if a constraint could not be decided."""
        return self._score.value

    @property
    def label(self) -> Label | None:
        """The label. It depends on which constraints are violated, not on a rounded score."""
        return self._score.label

    @cached_property
    def constraints(self) -> tuple[ConstraintResult, ...]:
        """Every constraint that judges the trace by itself, with its outcome and the reasons."""
        rules = self.procedure.run_constraints
        return tuple(
            ConstraintResult(self._checked, constraint, outcome)
            for constraint, outcome in zip(rules, self._outcomes, strict=True)
        )

    @cached_property
    def across(self) -> tuple[AcrossResult, ...]:
        """The constraints across runs, as if there were no other trace; no part of the score."""
        if not self.procedure.across:
            return ()
        from bylaw.scoring.across import across_results  # uses this file

        return tuple(across_results([self.trace], self.procedure))

    @property
    def violated(self) -> tuple[ConstraintResult, ...]:
        """The constraints that were violated."""
        return tuple(r for r in self.constraints if r.outcome is Outcome.VIOLATED)

    @property
    def undecided(self) -> tuple[ConstraintResult, ...]:
        """The constraints that could not be decided."""
        return tuple(r for r in self.constraints if r.outcome is Outcome.ERROR)

    @property
    def reason(self) -> str | None:
        """The reason why there is no score; None if there is one."""
        if not self.undecided:
            return None
        return " ".join(f"{result.name}: {result.detail}" for result in self.undecided)

    @property
    def details(self) -> str:
        """The result in one sentence."""
        total = len(self.constraints)
        if self.undecided:
            return f"No score: {len(self.undecided)} of {total} constraints could not be decided."
        return violations([result.name for result in self.violated], total)

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

    def to_dict(self, *, across: bool = True) -> dict[str, Json]:
        """The paper's output record, plus witness, vacuity and pass rates by layer.

        Without `across`, constraints across runs are left out: for one trace of several.
        """
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
        if across and self.across:
            record["across"] = [result.to_dict() for result in self.across]
        return record if self.reason is None else record | {"reason": self.reason}


def verify_trace(trace: Trace | Mapping[str, Any], procedure: Procedure) -> Report:
    """Scores a trace, or a record in any supported format, against a procedure."""
    if isinstance(trace, Procedure):
        expect(trace, Trace, "a trace", "The trace comes first: verify_trace(trace, procedure).")
    expect(procedure, Procedure, "a procedure", _LOAD)
    if isinstance(trace, Trace):
        return Report(CheckedTrace(trace, procedure))
    if _is_misread(trace):
        help = 'Read the file: read_trace("run.json"); or make one: Trace([Call("search")]).'
        expect(trace, Trace, "a trace", help)
    return Report(CheckedTrace(read(trace).trace, procedure))


def _is_misread(trace: object) -> bool:
    """Is it the name of a file, or a list of calls, in place of a trace?"""
    if isinstance(trace, list):
        return not trace or not all(isinstance(each, dict) for each in trace)
    return isinstance(trace, str | Path)


def call_indices(evaluation: Evaluation, positions: tuple[int, ...]) -> list[int]:
    """The positions of calls as indices into `trace.calls`; messages are left out."""
    events = evaluation.view.events
    if not positions or len(evaluation.view.trace.events) == len(evaluation.view.trace.calls):
        return list(positions)  # there are no messages to leave out
    numbers: dict[int, int] = {}
    for position, event in enumerate(events):
        if isinstance(event, Call):
            numbers[position] = len(numbers)
    return [numbers[position] for position in positions if position in numbers]
