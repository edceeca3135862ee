"""How a trace predicate is described: its name, what it takes, what it means, how it is told.

The signature is all that the parser, the printer, the JSON form and the Python form need; a
new predicate is one file beside the others and one row in their table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from bylaw.vocabulary.tracker import Tracker
from bylaw.vocabulary.view import Kleene, View


class Kind(Enum):
    """What may stand in a place of a predicate; the value says it in words."""

    TOOL = "a tool"
    TOOLS = "a list of tools, such as [a, b]"
    SEQUENCE = "one or more tools"
    """Takes all remaining operands."""
    COUNT = "a comparison with a whole number, such as <= 3"
    NUMBER = "a whole number, 0 or more"
    VALUE = "a value"
    ARGUMENTS = "arguments, such as amount = 5"
    """Takes all remaining operands."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One place of a predicate."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Predicate:
    """A statement about the whole trace.

    The first three functions take the view and the operands. `holds` is the paper's definition;
    `witness` names the positions that a person would look at to see why; `sentence` says it.
    `track` takes the order and the operands and gives the machine that follows the predicate
    call by call.
    """

    name: str
    example: str
    """One use in text, for error messages and the reference."""
    parameters: tuple[Parameter, ...]
    holds: Callable[..., Kleene]
    witness: Callable[..., Sequence[int]]
    sentence: Callable[..., str]
    track: Callable[..., Tracker]

    @property
    def doc(self) -> str:
        """What the predicate says: the docstring of its definition."""
        return (self.holds.__doc__ or "").strip()

    def judge(self, view: View, operands: Sequence[object]) -> Kleene:
        """Does the predicate hold of what the view shows?"""
        return self.holds(view, *operands)
