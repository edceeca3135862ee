"""The functions that values may be computed with: a closed set, one row each.

Names and meanings are JMESPath's where it has the function.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from bylaw.trace.event import MISSING
from bylaw.values import Json, JsonError, identity, problem, read_json
from bylaw.vocabulary.functions import (
    ANY,
    LIST,
    NUMBER,
    OBJECT,
    PATTERN,
    ROW,
    SCALAR,
    SEPARATOR,
    SIZED,
    TEXT,
    Function,
    Result,
    is_list,
    is_number,
    is_object,
    is_text,
)

_MOST_BITS: Final = 1000
"""Longer whole numbers are undefined: nobody counts so far, and sums could grow for ever."""

# ── numbers ───────────────────────────────────────────────────────────────────────────────


def _number(value: float) -> Result:
    """A computed number, if it is one that JSON has."""
    if isinstance(value, int):
        return value if value.bit_length() < _MOST_BITS else MISSING
    return value if math.isfinite(value) else MISSING


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Result]:
    def compute(left: float, right: float) -> Result:
        try:
            return _number(operation(left, right))
        except ArithmeticError:
            return MISSING

    return compute


def _whole(operation: Callable[[float], int]) -> Callable[[float], Result]:
    return lambda value: _number(operation(value))


def _to_number(value: Json) -> Result:
    if is_number(value):
        return value
    if not is_text(value):
        return MISSING
    try:
        found = read_json(value)
    except JsonError:
        return MISSING
    return found if is_number(found) else MISSING


def _to_string(value: Json) -> str:
    """Equal values have equal texts: keys are sorted, and `1.0` is written as `1`."""
    if isinstance(value, str):
        return value
    return json.dumps(read_json(identity(value)), ensure_ascii=False, separators=(",", ":"))


def _sum(values: list[Json]) -> Result:
    try:
        return _number(sum(values)) if all(map(is_number, values)) else MISSING
    except OverflowError:
        return MISSING


def _average(values: list[Json]) -> Result:
    total = _sum(values)
    return MISSING if total is MISSING or not values else _number(total / len(values))


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[list[Json]], Result]:
    def compute(values: list[Json]) -> Result:
        alike = all(map(is_number, values)) or all(map(is_text, values))
        return pick(values) if values and alike else MISSING

    return compute


def _sorted(values: list[Json]) -> Result:
    alike = all(map(is_number, values)) or all(map(is_text, values))
    return sorted(values) if alike else MISSING


def _zip(left: list[Json], right: list[Json]) -> list[Json]:
    return [list(pair) for pair in zip(left, right, strict=False)]


# ── text ──────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The regular expression, or None if the text is none."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _find(text: str, pattern: str) -> Result:
    expression = compiled(pattern)
    if expression is None:
        return MISSING
    group = 1 if expression.groups == 1 else 0
    return [found[group] for found in expression.finditer(text) if found[group] is not None]


def _replace(text: str, pattern: str, new: str) -> Result:
    expression = compiled(pattern)
    try:
        return MISSING if expression is None else expression.sub(new, text)
    except (re.error, IndexError):  # `new` refers to a group that is not there
        return MISSING


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Json:
    try:
        value = read_json(text)
    except JsonError:
        return text
    return value if is_list(value) or is_object(value) else text


def _decode(value: Json) -> Json:
    return _decoded(value) if is_text(value) else value


def _join(separator: str, items: list[Json]) -> Result:
    return separator.join(items) if all(map(is_text, items)) else MISSING


_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}


def _type(value: Json) -> str:
    return "array" if is_list(value) else _TYPES.get(type(value), "object")


def _unique(values: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


def _round(value: float) -> int:
    below = math.floor(value)
    return below + (value - below >= 0.5)


_ROWS: Final = (
    Function("abs", (NUMBER,), abs, "abs(-2)", "The number without its sign."),
    Function("avg", (LIST,), _average, "avg([1, 2])", "The mean; undefined for no numbers."),
    Function("ceil", (NUMBER,), _whole(math.ceil), "ceil(1.2)", "The next whole number above."),
    Function(
        "decode",
        (ANY,),
        _decode,
        'decode("[1]")',
        "What a text encodes that holds a JSON array or object; else the value.",
    ),
    Function(
        "ends_with",
        (TEXT, SEPARATOR),
        str.endswith,
        'ends_with("ab", "b")',
        "Does the text end so?",
        asks=True,
    ),
    Function(
        "find",
        (TEXT, PATTERN),
        _find,
        'find("a1b2", /\\d/)',
        "Every match of an expression; or its group, if it has one.",
    ),
    Function("floor", (NUMBER,), _whole(math.floor), "floor(1.8)", "The next whole number below."),
    Function(
        "join",
        (SEPARATOR, LIST),
        _join,
        'join(", ", ["a", "b"])',
        "The texts with the separator between them.",
    ),
    Function("keys", (OBJECT,), sorted, 'keys({"a": 1})', "The keys of an object, sorted."),
    Function(
        "length",
        (SIZED,),
        len,
        "length([1, 2])",
        "How many characters, elements or keys there are.",
    ),
    Function("lower", (TEXT,), str.lower, 'lower("Ab")', "The text in small letters."),
    Function(
        "max",
        (LIST,),
        _extreme(max),
        "max([1, 2])",
        "The largest of numbers, or the last of texts.",
    ),
    Function(
        "min",
        (LIST,),
        _extreme(min),
        "min([1, 2])",
        "The smallest of numbers, or the first of texts.",
    ),
    Function(
        "normalise",
        (TEXT,),
        _normalised,
        'normalise(" A  b ")',
        "The text without differences of case and white space.",
    ),
    Function(
        "replace",
        (TEXT, PATTERN, SEPARATOR),
        _replace,
        'replace("a1", /\\d/, "")',
        "The text with every match of an expression replaced.",
    ),
    Function(
        "reverse",
        (ROW,),
        lambda v: v[::-1],
        "reverse([1, 2])",
        "The elements or characters, last first.",
    ),
    Function(
        "round",
        (NUMBER,),
        _whole(_round),
        "round(1.5)",
        "The nearest whole number; halves upwards.",
    ),
    Function("sort", (LIST,), _sorted, "sort([2, 1])", "Numbers or texts in order."),
    Function(
        "split",
        (TEXT, SEPARATOR),
        lambda t, s: t.split(s) if s else MISSING,
        'split("a,b", ",")',
        "The parts of a text between separators.",
    ),
    Function(
        "starts_with",
        (TEXT, SEPARATOR),
        str.startswith,
        'starts_with("ab", "a")',
        "Does the text begin so?",
        asks=True,
    ),
    Function("sum", (LIST,), _sum, "sum([1, 2])", "The sum of numbers; 0 for none."),
    Function(
        "to_number",
        (SCALAR,),
        _to_number,
        'to_number("1.5")',
        "The number, or the number that a text writes.",
    ),
    Function(
        "to_string",
        (SCALAR,),
        _to_string,
        "to_string(1)",
        "The text, or the value written as JSON.",
    ),
    Function("trim", (TEXT,), str.strip, 'trim(" a ")', "The text without white space around it."),
    Function("type", (ANY,), _type, "type([])", "number, string, boolean, array, object or null."),
    Function("unique", (LIST,), _unique, "unique([1, 1])", "The elements, equal ones once."),
    Function("upper", (TEXT,), str.upper, 'upper("Ab")', "The text in capital letters."),
    Function(
        "values",
        (OBJECT,),
        lambda o: [o[key] for key in sorted(o)],
        'values({"a": 1})',
        "The values of an object, in the order of its keys.",
    ),
    Function(
        "zip",
        (LIST, LIST),
        _zip,
        "zip([1, 2], [3, 4])",
        "Pairs of elements side by side, as many as the shorter has.",
    ),
    Function(
        "+", (NUMBER, NUMBER), _arithmetic(lambda a, b: a + b), "1 + 2", "The sum of two numbers."
    ),
    Function("-", (NUMBER, NUMBER), _arithmetic(lambda a, b: a - b), "3 - 2", "The difference."),
    Function("*", (NUMBER, NUMBER), _arithmetic(lambda a, b: a * b), "2 * 3", "The product."),
    Function(
        "/",
        (NUMBER, NUMBER),
        _arithmetic(lambda a, b: a / b),
        "3 / 2",
        "The quotient; undefined by 0.",
    ),
)

FUNCTIONS: Final = {function.name: function for function in _ROWS}


def apply(name: str, operands: Sequence[Result]) -> Result:
    """The value of a function; undefined where it has none."""
    found = FUNCTIONS[name](*operands)
    # Only lists and computed texts can be what JSON is not: too deep, say.
    return found if found is MISSING or problem(found) is None else MISSING
