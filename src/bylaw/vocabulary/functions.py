"""What a function of the language is: total, and applied to each element of a list.

An operand that is undefined, or of a kind that the function is not made for, makes the result
undefined. A function of a single number or text that is given a list is applied to each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json

Result: TypeAlias = Json | Missing


def is_number(value: object) -> bool:
    """Is this a JSON number? `true` is not."""
    return type(value) in (int, float)


def is_text(value: object) -> bool:
    """Is this a JSON string?"""
    return isinstance(value, str)


def is_list(value: object) -> bool:
    """Is this a JSON array?"""
    return isinstance(value, list | tuple)


def is_object(value: object) -> bool:
    """Is this a JSON object?"""
    return isinstance(value, Mapping)


@dataclass(frozen=True, slots=True)
class Operand:
    """What a function takes in one place."""

    word: str
    fits: Callable[[object], bool]
    lifts: bool = False
    """Is a list in this place taken element by element?"""


NUMBER: Final = Operand("number", is_number, lifts=True)
TEXT: Final = Operand("text", is_text, lifts=True)
PATTERN: Final = Operand("regular expression", is_text)
SEPARATOR: Final = Operand("text", is_text)
LIST: Final = Operand("list", is_list)
OBJECT: Final = Operand("object", is_object, lifts=True)
SIZED: Final = Operand("text, list or object", lambda v: is_text(v) or is_list(v) or is_object(v))
ROW: Final = Operand("text or list", lambda v: is_text(v) or is_list(v))
SCALAR: Final = Operand("value", lambda v: True, lifts=True)
ANY: Final = Operand("value", lambda v: True)


@dataclass(frozen=True, slots=True)
class Function:
    """One function: what it takes, what it computes, and how it is told."""

    name: str
    takes: tuple[Operand, ...]
    compute: Callable[..., Result]
    example: str
    doc: str
    asks: bool = False
    """Is its value true or false?"""

    def __call__(self, *operands: Result) -> Result:
        """The value for these operands; undefined where there is none."""
        if MISSING in operands:
            return MISSING
        given: Sequence[Json] = operands
        lifted = [len(v) for place, v in self._places(given) if place.lifts and is_list(v)]
        if lifted:
            return self._each(given, lifted)
        if not all(place.fits(value) for place, value in self._places(given)):
            return MISSING
        return self.compute(*given)

    def _places(self, operands: Sequence[Json]) -> zip[tuple[Operand, Json]]:
        return zip(self.takes, operands, strict=True)

    def _each(self, operands: Sequence[Json], lengths: Sequence[int]) -> Result:
        """The list of values for the elements; lists side by side must be equally long."""
        if len(set(lengths)) > 1:
            return MISSING
        columns = [
            value if place.lifts and is_list(value) else [value] * lengths[0]
            for place, value in self._places(operands)
        ]
        found = [self(*row) for row in zip(*columns, strict=True)]
        return MISSING if MISSING in found else found
