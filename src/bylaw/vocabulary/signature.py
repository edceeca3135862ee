"""The description of a trace predicate: its name, its operands, its meaning and its readings.

The parser, the printer, the JSON form and the Python form need only the name and the operands. A
new predicate is one file in `predicates/` and one row in its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from bylaw.frozen import frozen
from bylaw.logic.formula import ToolList
from bylaw.logic.terms import ToolVariable
from bylaw.vocabulary.corpus_calls import TraceMask
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.tracker import Tracker
from bylaw.vocabulary.view import Kleene, View


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


def lacks_tool(operands: Iterable[object]) -> bool:
    """Is a tool undefined? A variable that nothing binds is."""
    return any(
        isinstance(operand, ToolVariable)
        or (isinstance(operand, ToolList) and lacks_tool(operand.tools))
        for operand in operands
    )


@frozen
class Predicate:
    """A statement about the whole trace, and its readings. Every reading takes the operands last.

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
    """The value for each of many traces, on `CorpusCalls`. Operands are tools and literals."""
    joint: Callable[..., JointForm | None] | None = None
    """The form for the joint test. Operands are single tools and literals."""

    @property
    def doc(self) -> str:
        """The docstring of the definition."""
        return (self.holds.__doc__ or "").strip()

    def judge(self, view: View, operands: Sequence[object]) -> Kleene:
        """Does the predicate hold of what the view shows? Not if an operand is undefined."""
        return False if lacks_tool(operands) else self.holds(view, *operands)
