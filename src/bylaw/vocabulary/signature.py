"""The description of a trace predicate: its name, its operands, its meaning and its readings.

The parser, the printer, the JSON form and the Python form need only the name and the operands. A
new predicate is one file in `predicates/` and one row in its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

from bylaw.frozen import frozen
from bylaw.logic.formula import Count, Operand, ToolList
from bylaw.logic.terms import ToolVariable
from bylaw.trace.event import MISSING
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.patterns import ValueOf, whole_number
from bylaw.vocabulary.tracker import Constant, Tracker, value_of
from bylaw.vocabulary.view import Kleene, Order, View


class OperandKind(Enum):
    """The kinds of operand that a predicate can take, as error messages name them."""

    TOOL = "a tool"
    TOOLS = "a list of tools, such as [a, b]"
    SEQUENCE = "one or more tools"
    """Takes all remaining operands."""
    COUNT = "a comparison with a whole number, such as <= 3"
    NUMBER = "a whole number, 0 or more"
    VALUE = "a value"
    ARGUMENTS = "arguments, such as amount = 5"
    """Takes all remaining operands."""


@frozen
class Parameter:
    """One parameter of a predicate."""

    name: str
    kind: OperandKind
    whole: bool = False
    """Must patterns name whole arguments, and not parts such as `filter.id`?"""


def _lacks_tool(operands: Iterable[object]) -> bool:
    """Is a tool undefined? A variable that nothing binds is."""
    return any(
        isinstance(operand, ToolVariable)
        or (isinstance(operand, ToolList) and _lacks_tool(operand.tools))
        for operand in operands
    )


@frozen
class Predicate:
    """A statement about the whole trace, and its readings. Every reading takes the operands last.

    Numbers and values are given as what they denote, and a count as its comparison and its number.
    If one of them is undefined, the predicate is false and no reading is asked.

    `columns` and `joint` are optional. A predicate without columns is judged trace by trace; one
    without a joint form takes no part in the test whether rules can still be satisfied together.
    """

    name: str
    example: str
    """One use in text, for error messages and the reference."""
    parameters: tuple[Parameter, ...]
    holds: Callable[..., Kleene]
    """The definition, on a `View`. Its docstring is the predicate's documentation."""
    witness: Callable[..., Sequence[int]]
    """The positions to look at to see why it holds or not, on a `View`."""
    sentence: Callable[..., str]
    """A sentence about what happened, for a `View` and the value."""
    track: Callable[..., Tracker]
    """The machine that follows the predicate call by call, for an order."""
    columns: Callable[..., TraceMask] | None = None
    """The value for each of many traces, on `CorpusCalls`."""
    joint: Callable[..., JointForm | None] | None = None
    """The form for the joint test. Tools are single ones."""

    @property
    def doc(self) -> str:
        """The docstring of the definition."""
        return (self.holds.__doc__ or "").strip()

    def judge(self, view: View, operands: Sequence[Operand]) -> Kleene:
        """Does the predicate hold of what the view shows?"""
        ready = self._defined(operands, view.value)
        return False if ready is None else self.holds(view, *ready)

    def positions(self, view: View, operands: Sequence[Operand]) -> Sequence[int]:
        """The positions to look at to see why it holds or not."""
        ready = self._defined(operands, view.value)
        return () if ready is None else self.witness(view, *ready)

    def told(self, view: View, held: bool, operands: Sequence[Operand]) -> str:
        """A sentence about what happened."""
        ready = self._defined(operands, view.value)
        if ready is None:
            return f"{self.name} is false: an operand is undefined or of the wrong kind."
        return self.sentence(view, held, *ready)

    def tracker(self, order: Order, operands: Sequence[Operand]) -> Tracker:
        """The machine that follows it. While the trace is incomplete, only literals are defined."""
        ready = self._defined(operands, value_of)
        return Constant() if ready is None else self.track(order, *ready)

    def column(self, calls: CorpusCalls, operands: Sequence[Operand]) -> TraceMask:
        """The value for each of many traces. Operands are tools and literals."""
        assert self.columns is not None, "a predicate without columns is judged trace by trace"
        ready = self.resolved(operands, value_of)
        return calls.never if ready is None else self.columns(calls, *ready)

    def joint_form(self, operands: Sequence[Operand]) -> JointForm | None:
        """The form for the joint test, if it has one. Operands are single tools and literals."""
        ready = self.resolved(operands, value_of)
        return None if ready is None or self.joint is None else self.joint(*ready)

    def _defined(self, operands: Sequence[Operand], value: ValueOf) -> tuple[Any, ...] | None:
        return None if _lacks_tool(operands) else self.resolved(operands, value)

    def resolved(self, operands: Sequence[Operand], value: ValueOf) -> tuple[Any, ...] | None:
        """The operands as the readings take them; None if a number or value is undefined."""
        ready: list[Any] = []
        for parameter, operand in zip(self.parameters, operands, strict=True):
            match parameter.kind, operand:
                case OperandKind.COUNT, Count(comparison, number):
                    ready += (comparison, whole_number(value(number)))
                case OperandKind.NUMBER, _:
                    ready.append(whole_number(value(operand)))  # type: ignore[arg-type]  # a term
                case OperandKind.VALUE, _:
                    ready.append(value(operand))  # type: ignore[arg-type]  # as above
                case _:
                    ready.append(operand)
        return None if MISSING in ready else tuple(ready)
