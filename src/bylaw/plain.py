"""Python objects as JSON: arguments exactly or not at all, results as well as possible.

What a rule judges must be what a tool receives. An object of any type but JSON's own may compare,
iterate or print differently every time, so arguments are rebuilt from exactly those types. Results
are rebuilt too, and an object that is not JSON becomes a text that rules can read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any, Final

from bylaw.values import MAX_DEPTH, TOO_LONG, Json, canonical
from bylaw.work import UNLIMITED

MAX_PARTS: Final = 1_000_000
"""The most parts of one value. A part that occurs twice counts twice: a few lists that contain
each other twice would otherwise make a copy without end."""

_MAX_NESTING: Final = 20
"""The depth down to which results that are not JSON are converted part by part."""
_MAX_CONVERTED: Final = 100_000
"""The most parts of a result that are converted one by one."""


class NotJson(ValueError):
    """An object is not a JSON value; the text gives the reason."""


class OversizedValue(NotJson):
    """A value has too many parts, or too much text."""


def rebuilt(
    value: object,
    *,
    max_parts: int = MAX_PARTS,
    max_text: float = UNLIMITED,
    max_depth: int = MAX_DEPTH,
) -> Json:
    """A copy of a JSON value, made of exactly JSON's types; tuples become lists.

    Raises NotJson for any other object. Instances of subclasses are such objects. Keys and texts
    may have `max_text` characters together.
    """
    return _Rebuilding(max_parts, max_text, max_depth).rebuilt(value, 0)


class _Rebuilding:
    """One value while it is rebuilt."""

    __slots__ = ("left", "max_depth", "max_parts", "max_text", "text_left")

    def __init__(self, max_parts: int, max_text: float, max_depth: int) -> None:
        self.max_depth = max_depth
        self.max_parts = self.left = max_parts
        self.max_text = self.text_left = max_text

    def text(self, value: str) -> str:
        """Counts the characters of a text."""
        self.text_left -= len(value)
        if self.text_left < 0:
            raise OversizedValue(f"it has more than {self.max_text:,} characters")
        return value

    def rebuilt(self, value: Any, depth: int) -> Json:
        kind = type(value)  # not `__class__`, which an object can set
        if kind is str:
            return self.text(value)
        if kind is bool or value is None:
            return value
        if kind is int:
            if -TOO_LONG < value < TOO_LONG:
                return value
            raise NotJson("a number has too many digits")
        if kind is float:
            if math.isfinite(value):
                return value
            raise NotJson(f"{value} is not a JSON number")
        if kind is not dict and kind is not list and kind is not tuple:
            raise NotJson(f"{type_name(kind)} is not a JSON type")
        self.left -= len(value)
        if depth >= self.max_depth:
            raise NotJson(f"it nests more than {self.max_depth} deep")
        if self.left < 0:
            raise OversizedValue(f"it has more than {self.max_parts:,} parts")
        # Copied before it is walked: another thread may be changing it.
        if kind is dict:
            return {
                self.text(_checked_key(key)): self.rebuilt(item, depth + 1)
                for key, item in dict(value).items()
            }
        return [self.rebuilt(item, depth + 1) for item in list(value)]


def _checked_key(key: object) -> str:
    if type(key) is not str:
        raise NotJson(f"a key is not a string but {type_name(type(key))}")
    return key


def type_name(kind: type) -> str:
    """The name of a type, whatever its metaclass makes of `__name__`."""
    return str(type.__dict__["__name__"].__get__(kind))


# ── results ──────────────────────────────────────────────────────────────────────────────────


def as_json(value: object) -> Json:
    """A tool's result as rules see it: a copy, so that later changes to the result do not matter.

    Of instances of JSON's types and their subclasses the JSON value is kept. Other mappings,
    tuples and sets are converted item by item, and everything else becomes its `str`. Where a rule
    reads a result, a string that holds JSON counts as the value that it encodes.
    """
    try:
        return rebuilt(value)
    except NotJson:
        return _Conversion().converted(value, ())


class _Conversion:
    """One result that is not JSON, while it is converted."""

    def __init__(self) -> None:
        self.left = _MAX_CONVERTED

    def converted(self, value: Any, inside: tuple[int, ...]) -> Json:
        self.left -= 1
        kind = type(value)
        if self.left < 0:
            return f"<{type_name(kind)}>"
        for base in (str, int, float):
            if issubclass(kind, base) and kind is not bool:
                return _base_value(base, value)
        try:
            if len(inside) < _MAX_NESTING and id(value) not in inside:  # it may contain itself
                return self._parts(value, (*inside, id(value)))
        except Exception:  # the call succeeded, even if its result cannot be read
            return f"<{type_name(kind)}>"
        return text_of(value)

    def _parts(self, value: Any, inside: tuple[int, ...]) -> Json:
        if isinstance(value, Mapping):
            pairs = dict.items(value) if isinstance(value, dict) else value.items()
            return {text_of(key): self.converted(item, inside) for key, item in list(pairs)}
        if isinstance(value, list | tuple):
            items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            return [self.converted(item, inside) for item in list(items)]
        if isinstance(value, Set):  # in an order that does not depend on the process
            return sorted((self.converted(item, inside) for item in value), key=canonical)
        try:
            return rebuilt(value)
        except NotJson:
            return text_of(value)


def _base_value(base: type, value: Any) -> Json:
    """The value of an instance of `str`, `int`, `float` or a subclass, without its own methods."""
    if base is str:
        return str.__str__(value)
    number = int.__int__(value) if base is int else float.__float__(value)
    try:
        return rebuilt(number)
    except NotJson:
        return text_of(value)


def text_of(value: object) -> str:
    """The `str` of an object; its type if it has none."""
    try:
        return str.__str__(str(value))
    except Exception:  # its own `__str__` fails, or a number has too many digits
        return f"<{type_name(type(value))}>"


def error_text(error: BaseException) -> str:
    """The text of an exception for the trace and for the agent."""
    name, text = type_name(type(error)), text_of(error)
    return f"{name}: {text}" if text else name
