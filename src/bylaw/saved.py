"""Reading saved states: each part is checked before it is used.

turn, speaking = fields(saved, "turn", "speaking")
state.turn, state.speaking = whole(turn), flag(speaking)
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any, TypeVar

from bylaw.values import LARGEST, Json

_T = TypeVar("_T")


class Damaged(ValueError):
    """A saved state is not what was saved; the text gives the reason."""


def fields(saved: Json, *names: str) -> list[Json]:
    """The values of an object that has exactly these keys, in this order."""
    if type(saved) is not dict or saved.keys() != set(names):
        raise Damaged(f"expected an object with the keys {', '.join(names)}")
    return [saved[name] for name in names]


def whole(value: Json, least: int = 0, most: int = LARGEST) -> int:
    """A whole number in a range."""
    if type(value) is not int or not least <= value <= most:
        raise Damaged(f"expected a whole number from {least} to {most}")
    return value


def number(value: Json) -> float:
    """A number."""
    if (type(value) is int and abs(value) > LARGEST) or type(value) not in (int, float):
        raise Damaged("expected a number")
    return float(value)


def flag(value: Json) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise Damaged("expected true or false")
    return value


def text(value: Json) -> str:
    """A text."""
    if type(value) is not str:
        raise Damaged("expected a text")
    return value


def optional_text(value: Json) -> str | None:
    """A text or null."""
    return None if value is None else text(value)


def choice(value: Json, choices: Collection[_T]) -> _T:
    """One of some values."""
    for each in choices:
        if type(each) is type(value) and each == value:
            return each
    raise Damaged(f"expected one of {', '.join(map(str, choices))}")


def listed(value: Json, size: int | None = None) -> list[Any]:
    """A list, of this size if one is given."""
    if type(value) is not list or size not in (None, len(value)):
        raise Damaged("expected a list" if size is None else f"expected a list of {size}")
    return value


def table(value: Json) -> dict[str, Any]:
    """An object."""
    if type(value) is not dict:
        raise Damaged("expected an object")
    return value


def places(value: Json, size: int) -> list[int]:
    """Indices of a list of this size, ascending and without duplicates."""
    found = [whole(each, 0, size - 1) for each in listed(value)]
    if any(one >= other for one, other in pairwise(found)):
        raise Damaged("expected ascending numbers")
    return found
