"""The computations behind the functions of the language. Each is total: MISSING, or JSON."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from typing import Any, Final

from bylaw.regex.linear import RegexError
from bylaw.regex.regex import compiled
from bylaw.trace.event import MISSING
from bylaw.values import (
    LARGEST,
    Json,
    JsonError,
    identity,
    is_list,
    is_number,
    is_object,
    is_text,
    read_json,
)
from bylaw.vocabulary.function import Result
from bylaw.work import CHARACTERS, spend, spend_on_text

_MAX_BITS: Final = 1000
"""Longer whole numbers are undefined, because sums and products could grow without limit."""

# ── numbers ───────────────────────────────────────────────────────────────────────────────


def finite(value: float) -> Result:
    """A computed number, if JSON can represent it."""
    if isinstance(value, int):
        return value if value.bit_length() < _MAX_BITS else MISSING
    return value if math.isfinite(value) else MISSING


def arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Result]:
    def compute(left: float, right: float) -> Result:
        try:
            return finite(operation(left, right))
        except ArithmeticError:
            return MISSING

    return compute


def whole(operation: Callable[[float], int]) -> Callable[[float], Result]:
    return lambda value: finite(operation(value))


_GROUPED: Final = re.compile(r"\s*-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*", re.ASCII)
"""A number with commas between groups of three digits."""


def to_number(value: Json) -> Result:
    if is_number(value):
        return value
    if not is_text(value):
        return MISSING
    if _GROUPED.fullmatch(value):
        value = value.replace(",", "")
    try:
        found = read_json(value)
    except JsonError:
        return MISSING
    return found if is_number(found) else MISSING


def to_string(value: Json) -> str:
    """Equal values give equal texts: keys are sorted, and `1.0` is written as `1`."""
    if isinstance(value, str):
        return value
    return json.dumps(read_json(identity(value)), ensure_ascii=False, separators=(",", ":"))


def total(values: list[Json]) -> Result:
    """The sum is exact and rounded once, so it does not depend on the order of the members."""
    if not all(map(is_number, values)):
        return MISSING
    if all(isinstance(value, int) for value in values):
        return finite(sum(values))
    if all(abs(value) <= LARGEST for value in values):
        return finite(math.fsum(values))
    from fractions import Fraction  # slow to import, and seldom needed

    try:
        return finite(float(sum(map(Fraction, values))))
    except OverflowError:
        return MISSING


def average(values: list[Json]) -> Result:
    found = total(values)
    return MISSING if found is MISSING or not values else finite(found / len(values))


def extreme(pick: Callable[[list[Any]], Any]) -> Callable[[list[Json]], Result]:
    def compute(values: list[Json]) -> Result:
        alike = all(map(is_number, values)) or all(map(is_text, values))
        return pick(values) if values and alike else MISSING

    return compute


def ordered(values: list[Json]) -> Result:
    alike = all(map(is_number, values)) or all(map(is_text, values))
    return sorted(values) if alike else MISSING


def pairs(left: list[Json], right: list[Json]) -> list[Json]:
    return [list(pair) for pair in zip(left, right, strict=False)]


# ── text ──────────────────────────────────────────────────────────────────────────────────


def matches(value: Json, pattern: str) -> Result:
    """A number is searched as it is written, and null has no matches.

    An object is undefined: a text that is sought may be inside it.
    """
    expression = compiled(pattern)
    if expression is None or is_object(value):
        return MISSING
    if value is None:
        return []
    text = to_string(value)
    spend(2 * expression.work(text))  # it may be read in both directions
    return expression.find(text)


def with_replaced(text: str, pattern: str, new: str) -> Result:
    expression = compiled(pattern)
    if expression is None:
        return MISSING
    spend(2 * expression.work(text))
    pieces: list[str] = []
    try:
        for piece in expression.replaced(text, new):
            spend(1 + len(piece) / CHARACTERS)  # `new` may be long
            pieces.append(piece)
    except RegexError:  # for example, `new` refers to a group that does not exist
        return MISSING
    return "".join(pieces)


def normalised(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().split())
    in_order = _MANY_MARKS.sub(lambda run: _in_canonical_order(run[0]), text)
    return " ".join(unicodedata.normalize("NFKC", in_order).casefold().split())


_MANY_MARKS: Final = re.compile(r"[^\w\s\x00-\x7f]{32,}")
"""Long runs of characters that may be combining marks. Python puts marks in order in time that
grows with the square of their number, unless they are in order already."""


def _in_canonical_order(run: str) -> str:
    """An equivalent text: the marks of each character in the order of their combining classes."""
    groups = groupby(run, key=lambda character: unicodedata.combining(character) > 0)
    return "".join(
        "".join(sorted(each, key=unicodedata.combining) if are_marks else each)
        for are_marks, each in groups
    )


def source_leaves(value: Json) -> Json:
    """The leaves of a value that can come from somewhere."""
    from bylaw.texts.occurrence import leaves, needs_source  # slow to import

    found = [leaf for leaf in leaves(value) if needs_source(leaf)]
    spend(len(found))
    return found


def decode(value: Json) -> Json:
    if not is_text(value):
        return value
    return _kept_decoded(value) if len(value) <= _MAX_KEPT else _decoded(value)


def _decoded(text: str) -> Json:
    spend(len(text) / 8)  # brackets are counted before they are read
    try:
        value = read_json(text)
    except JsonError:
        return text
    return value if is_list(value) or is_object(value) else text


_MAX_KEPT: Final = 2_000
"""The longest text whose decoded value is kept, so that it is decoded once."""
_kept_decoded: Final = lru_cache(maxsize=4096)(_decoded)


def joined(separator: str, items: list[Json]) -> Result:
    if not all(map(is_text, items)):
        return MISSING
    spend_on_text(*items)
    spend(len(separator) * len(items) / CHARACTERS)
    return separator.join(items)


def shell_commands(value: Json) -> Result:
    from bylaw.shell.calls import commands_of  # few procedures need it

    found = commands_of(value)
    return MISSING if found is None else found


_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}


def type_of(value: Json) -> str:
    return "array" if is_list(value) else _TYPES.get(type(value), "object")


def unique(values: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


def rounded(value: float) -> int:
    below = math.floor(value)
    return below + (value - below >= 0.5)
