"""A procedure made ready once, to score many finished traces.

The verdicts are those of `verify_trace`. It tells why, which takes its time; a reward needs the
score alone. So the forms that the compiler of the benchmark writes are read here off a digest of
the trace, one line each, and any other rule is left to the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName
from bylaw.logic.walk import sees_answer
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import Views, evaluation_of, judge
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace
from bylaw.training.distance import Key, arguments_key, keys
from bylaw.values import Json, equal
from bylaw.vocabulary.predicates.called_n import COMPARE


class Digest:
    """A trace as the rules of the benchmark see it."""

    def __init__(self, trace: Trace) -> None:
        self.trace: Final = trace
        self.keys: Final = keys(trace.calls)
        self.made: Final[set[Key]] = set(self.keys)
        self.steps: Final[dict[str, list[int]]] = {}
        """The steps at which each tool was called."""
        self.sequence: Final[list[tuple[str, int]]] = []
        """The tool and the step of each call."""
        for call in trace.calls:
            assert call.step is not None, "a trace gives every call a step"
            self.steps.setdefault(call.tool, []).append(call.step)
            self.sequence.append((call.tool, call.step))


Reading: TypeAlias = Callable[[Digest], bool]


def _called(tool: str) -> Reading:
    return lambda seen: tool in seen.steps


def _branch_called(taken: str, avoided: str) -> Reading:
    return lambda seen: taken in seen.steps and avoided not in seen.steps


def _called_n(tool: str, count: tuple[str, int]) -> Reading:
    compare, number = COMPARE[count[0]], count[1]
    return lambda seen: compare(len(seen.steps.get(tool, ())), number)


def _called_exactly(tool: str, arguments: Mapping[str, Json]) -> Reading:
    key = (tool, arguments_key(arguments))
    return lambda seen: key in seen.made


def _called_with(tool: str, arguments: Mapping[str, Json]) -> Reading:
    key = (tool, arguments_key(arguments))

    def fits(call: Call) -> bool:
        return call.tool == tool and all(
            name in call.args and equal(call.args[name], value) for name, value in arguments.items()
        )

    return lambda seen: key in seen.made or any(map(fits, seen.trace.calls))


def _in_order(sequence: Sequence[str]) -> Reading:
    def reading(seen: Digest) -> bool:
        matched, latest = 0, -1
        for tool, step in seen.sequence:
            if tool == sequence[matched] and step > latest:
                matched, latest = matched + 1, step
                if matched == len(sequence):
                    return True
        return False

    return reading


def _instance_before(first: str, n: int, second: str, m: int) -> Reading:
    def reading(seen: Digest) -> bool:
        earlier, later = seen.steps.get(first, ()), seen.steps.get(second, ())
        return n < len(earlier) and m < len(later) and earlier[n] < later[m]

    return reading


_READINGS: Final[Mapping[str, Callable[..., Reading]]] = {
    "Called": _called,
    "BranchCalled": _branch_called,
    "CalledN": _called_n,
    "CalledExactly": _called_exactly,
    "CalledWith": _called_with,
    "InOrder": _in_order,
    "InstanceBefore": _instance_before,
}
"""The trace predicates of the six layers, under `order: step`."""


class _Unreadable(Exception):
    """An operand is not written out: the rule is left to the reference."""


def _operand(operand: f.Operand) -> Any:
    """What an operand stands for, where it is written out."""
    match operand:
        case ToolName(name):
            return name
        case Literal(value=value) if type(value) is int and value >= 0:
            return value
        case f.ToolList(tools):
            return [_operand(tool) for tool in tools]
        case f.Count(comparison, number):
            return comparison, _operand(number)
        case f.Arguments(patterns) if len({each.path for each in patterns}) == len(patterns):
            return dict(map(_argument, patterns))
        case _:
            raise _Unreadable


def _argument(pattern: f.ArgumentIs) -> tuple[str, Json]:
    match pattern:
        case f.ArgumentIs((name,), Literal(value=value)):
            return name, value
        case _:
            raise _Unreadable


@dataclass(frozen=True, slots=True)
class Score:
    """A compliance score, or why there is none."""

    value: float | None
    reason: str | None = None


class Checker:
    """Scores finished traces by one procedure."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure: Final = procedure
        self._readings: Final = [self._reading(each) for each in procedure.constraints]
        self._weights: Final = [constraint.weight for constraint in procedure.constraints]
        self._total: Final = math.fsum(self._weights)

    def score(self, seen: Digest) -> Score:
        """The compliance score of a trace."""
        verdicts = self.verdicts(seen)
        if None in verdicts:
            return Score(None, self._reason(seen.trace, verdicts))
        if not any(verdicts):
            return Score(0.0)
        lost = [weight for weight, held in zip(self._weights, verdicts, strict=True) if not held]
        return Score(1 - math.fsum(lost) / self._total)

    def verdicts(self, seen: Digest) -> list[bool | None]:
        """Whether each constraint is satisfied; None where that could not be decided."""
        marked = self.procedure.marked(seen.trace)
        views: Views = {}
        verdicts: list[bool | None] = []
        for reading, constraint in zip(self._readings, self.procedure.constraints, strict=True):
            if reading is not None:
                verdicts.append(reading(seen))
            else:
                evaluation = evaluation_of(marked, self.procedure, constraint, views)
                verdicts.append(evaluation.outcome.passed)
        return verdicts

    def _reading(self, constraint: Constraint) -> Reading | None:
        """How a rule is read off a digest; None if it is none of the known forms."""
        formula = constraint.formula
        plain = self.procedure.order == "step" and self.procedure.events_of(constraint) == "calls"
        if not plain or not isinstance(formula, f.TracePredicate) or sees_answer(formula):
            return None
        if formula.name not in _READINGS:
            return None
        try:
            return _READINGS[formula.name](*map(_operand, formula.operands))
        except _Unreadable:
            return None

    def _reason(self, trace: Trace, verdicts: Sequence[bool | None]) -> str:
        """Why there is no score, as `verify_trace` tells it."""
        marked = self.procedure.marked(trace)
        undecided = [
            judge(marked, self.procedure, constraint)
            for constraint, held in zip(self.procedure.constraints, verdicts, strict=True)
            if held is None
        ]
        return " ".join(f"{result.name}: {result.detail}" for result in undecided)
