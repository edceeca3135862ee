"""One function of the language: the operands that it takes, and how it is applied to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, is_list, is_number, is_object, is_text
from bylaw.work import CHARACTERS, spend

Result: TypeAlias = Json | Missing


@frozen
class ArgumentType:
    """The values that a function takes as one of its operands."""

    word: str
    fits: Callable[[object], bool]
    lifts: bool = False
    """Is the function applied to each element of a list?"""


NUMBER: Final = ArgumentType("number", is_number, lifts=True)
TEXT: Final = ArgumentType("text", is_text, lifts=True)
PATTERN: Final = ArgumentType("regular expression", is_text)
ZONE: Final = ArgumentType("time zone", is_text)
SEPARATOR: Final = ArgumentType("text", is_text)
LIST: Final = ArgumentType("list", is_list)
OBJECT: Final = ArgumentType("object", is_object, lifts=True)
ROW: Final = ArgumentType("text or list", lambda v: is_text(v) or is_list(v))
SIZED: Final = ArgumentType("text, list or object", lambda v: ROW.fits(v) or is_object(v))
SCALAR: Final = ArgumentType("value", lambda v: True, lifts=True)
COMMAND: Final = ArgumentType("text, list or object", lambda v: SIZED.fits(v))
ANY: Final = ArgumentType("value", lambda v: True)


@frozen
class Function:
    """One function: its operands, its computation and its documentation."""

    name: str
    takes: tuple[ArgumentType, ...]
    compute: Callable[..., Result]
    example: str
    doc: str
    asks: bool = False
    """Is its result true or false?"""

    def __call__(self, *operands: Result) -> Result:
        """The result for these operands; MISSING if it is undefined."""
        # One pass: functions are applied more often than anything else is done.
        steps, lengths, fits = 1.0, None, True
        for place, value in zip(self.takes, operands, strict=True):
            if value is MISSING:
                return MISSING
            if isinstance(value, str):
                steps += len(value) / CHARACTERS
            elif isinstance(value, list | tuple | Mapping):
                steps += len(value)
                if place.lifts and not isinstance(value, Mapping):
                    lengths = {len(value)} if lengths is None else lengths | {len(value)}
            fits = fits and place.fits(value)
        spend(steps)
        if lengths is not None:
            return self._each(operands, lengths)
        return self.compute(*operands) if fits else MISSING

    def _each(self, operands: Sequence[Json], lengths: Set[int]) -> Result:
        """The list of results for the elements. Several lists must be equally long."""
        if len(lengths) > 1:
            return MISSING
        (length,) = lengths
        columns = [
            value if place.lifts and is_list(value) else [value] * length
            for place, value in zip(self.takes, operands, strict=True)
        ]
        found = [self(*row) for row in zip(*columns, strict=True)]
        return MISSING if MISSING in found else found
