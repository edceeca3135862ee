"""The values in arguments and results, with the paths by which rules can read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from bylaw.values import Json

MAX_LEAVES: Final = 200
"""The values of one argument object or result that are looked at."""
_MAX_DEPTH: Final = 4
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
MIN_TEXT: Final = 1
MAX_TEXT: Final = 200
"""The length of texts that are taken as names or numbers of things, and not as prose."""

LeafValue: TypeAlias = str | int | float
Leaf: TypeAlias = tuple[str, LeafValue, bool]
"""A path, the value there, and: is it one of several in a list?"""


def is_scalar(value: Json) -> bool:
    """Is this a short text or a number, by which things can be named?"""
    if isinstance(value, str):
        return MIN_TEXT <= len(value) <= MAX_TEXT
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_key(value: LeafValue) -> LeafValue:
    """Equal for values that are equal as JSON."""
    return value if isinstance(value, str) else float(value)


def leaves(value: Json, path: str = "", *, listed: bool = False, depth: int = 0) -> Iterator[Leaf]:
    """The texts and numbers in a value. Members of objects in a list have one path."""
    if isinstance(value, dict):
        if depth < _MAX_DEPTH:
            for key, member in value.items():
                if _PLAIN.fullmatch(key):
                    below = f"{path}.{key}" if path else key
                    yield from leaves(member, below, listed=listed, depth=depth + 1)
    elif isinstance(value, list):
        if not listed:  # a path maps over one list
            for member in value:
                yield from leaves(member, path, listed=True, depth=depth + 1)
    elif is_scalar(value):
        yield path, value, listed


def flags(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, bool]]:
    """The truth values in an object, outside lists."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, member in value.items():
            if _PLAIN.fullmatch(key):
                below = f"{path}.{key}" if path else key
                if isinstance(member, bool):
                    yield below, member
                else:
                    yield from flags(member, below, depth + 1)


def key_lists(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    """The objects in a value, and their keys, which may be names of things."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        if value:
            yield path, list(value)
        for key, member in value.items():
            if _PLAIN.fullmatch(key):
                yield from key_lists(member, f"{path}.{key}" if path else key, depth + 1)
