"""The functions that terms can apply: a closed set, one row each.

Every function is total. An operand that is undefined, or not of the kind that the function takes,
makes the result undefined. A function of a single number or text is applied to each element of a
list. Names and meanings are JMESPath's where it has the function.
"""

from __future__ import annotations

import json
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.regex.linear import RegexError
from bylaw.regex.regex import compiled
from bylaw.trace.event import MISSING, Missing
from bylaw.values import (
    LARGEST,
    Json,
    JsonError,
    identity,
    is_list,
    is_number,
    is_object,
    is_text,
    problem,
    read_json,
)
from bylaw.work import CHARACTERS, spend, spend_on_text

Result: TypeAlias = Json | Missing
_MAX_BITS: Final = 1000
"""Longer whole numbers are undefined, because sums and products could grow without limit."""


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
SEPARATOR: Final = ArgumentType("text", is_text)
LIST: Final = ArgumentType("list", is_list)
OBJECT: Final = ArgumentType("object", is_object, lifts=True)
ROW: Final = ArgumentType("text or list", lambda v: is_text(v) or is_list(v))
SIZED: Final = ArgumentType("text, list or object", lambda v: ROW.fits(v) or is_object(v))
SCALAR: Final = ArgumentType("value", lambda v: True, lifts=True)
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
        if MISSING in operands:
            return MISSING
        given: Sequence[Json] = operands
        lifted = [len(v) for place, v in self._places(given) if place.lifts and is_list(v)]
        spend(1 + sum(map(_size, given)))
        if lifted:
            return self._each(given, lifted)
        if not all(place.fits(value) for place, value in self._places(given)):
            return MISSING
        return self.compute(*given)

    def _places(self, operands: Sequence[Json]) -> zip[tuple[ArgumentType, Json]]:
        return zip(self.takes, operands, strict=True)

    def _each(self, operands: Sequence[Json], lengths: Sequence[int]) -> Result:
        """The list of results for the elements. Several lists must be equally long."""
        if len(set(lengths)) > 1:
            return MISSING
        columns = [
            value if place.lifts and is_list(value) else [value] * lengths[0]
            for place, value in self._places(operands)
        ]
        found = [self(*row) for row in zip(*columns, strict=True)]
        return MISSING if MISSING in found else found


def _size(value: Json) -> float:
    """The steps that it takes to read a value, without what is inside its parts."""
    if isinstance(value, str):
        return len(value) / CHARACTERS
    return len(value) if isinstance(value, list | tuple | Mapping) else 0


# ── numbers ───────────────────────────────────────────────────────────────────────────────


def finite(value: float) -> Result:
    """A computed number, if JSON can represent it."""
    if isinstance(value, int):
        return value if value.bit_length() < _MAX_BITS else MISSING
    return value if math.isfinite(value) else MISSING


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Result]:
    def compute(left: float, right: float) -> Result:
        try:
            return finite(operation(left, right))
        except ArithmeticError:
            return MISSING

    return compute


def _whole(operation: Callable[[float], int]) -> Callable[[float], Result]:
    return lambda value: finite(operation(value))


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
    """Equal values give equal texts: keys are sorted, and `1.0` is written as `1`."""
    if isinstance(value, str):
        return value
    return json.dumps(read_json(identity(value)), ensure_ascii=False, separators=(",", ":"))


def _sum(values: list[Json]) -> Result:
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


def _average(values: list[Json]) -> Result:
    total = _sum(values)
    return MISSING if total is MISSING or not values else finite(total / len(values))


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


def _find(text: str, pattern: str) -> Result:
    expression = compiled(pattern)
    if expression is None:
        return MISSING
    spend(2 * expression.work(text))  # it may be read in both directions
    return expression.find(text)


def _replace(text: str, pattern: str, new: str) -> Result:
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


def _normalised(text: str) -> str:
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


def _decode(value: Json) -> Json:
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


def _join(separator: str, items: list[Json]) -> Result:
    if not all(map(is_text, items)):
        return MISSING
    spend_on_text(*items)
    spend(len(separator) * len(items) / CHARACTERS)
    return separator.join(items)


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
    Function("abs", (NUMBER,), abs, "abs(-2)", "The absolute value."),
    Function("avg", (LIST,), _average, "avg([1, 2])", "The mean; undefined for an empty list."),
    Function("ceil", (NUMBER,), _whole(math.ceil), "ceil(1.2)", "The number rounded up."),
    Function(
        "decode",
        (ANY,),
        _decode,
        'decode("[1]")',
        "The JSON array or object that a text encodes; any other value as it is.",
    ),
    Function(
        "ends_with",
        (TEXT, SEPARATOR),
        str.endswith,
        'ends_with("ab", "b")',
        "Does the text end with the other?",
        asks=True,
    ),
    Function(
        "find",
        (TEXT, PATTERN),
        _find,
        'find("a1b2", /\\d/)',
        "All matches of a regular expression, or of its group if it has one.",
    ),
    Function("floor", (NUMBER,), _whole(math.floor), "floor(1.8)", "The number rounded down."),
    Function(
        "join",
        (SEPARATOR, LIST),
        _join,
        'join(", ", ["a", "b"])',
        "The texts joined by the separator.",
    ),
    Function("keys", (OBJECT,), sorted, 'keys({"a": 1})', "The keys of an object, sorted."),
    Function(
        "length", (SIZED,), len, "length([1, 2])", "The number of characters, elements or keys."
    ),
    Function("lower", (TEXT,), str.lower, 'lower("Ab")', "The text in lower case."),
    Function("max", (LIST,), _extreme(max), "max([1, 2])", "The largest number, or the last text."),
    Function(
        "min", (LIST,), _extreme(min), "min([1, 2])", "The smallest number, or the first text."
    ),
    Function(
        "normalise",
        (TEXT,),
        _normalised,
        'normalise(" A  b ")',
        "The text in a form that ignores case and the amount of white space.",
    ),
    Function(
        "replace",
        (TEXT, PATTERN, SEPARATOR),
        _replace,
        'replace("a1", /\\d/, "")',
        "The text with all matches of a regular expression replaced.",
    ),
    Function(
        "reverse",
        (ROW,),
        lambda v: v[::-1],
        "reverse([1, 2])",
        "The elements or characters, reversed.",
    ),
    Function(
        "round",
        (NUMBER,),
        _whole(_round),
        "round(1.5)",
        "The nearest whole number; halves are rounded up.",
    ),
    Function("sort", (LIST,), _sorted, "sort([2, 1])", "The numbers or texts in ascending order."),
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
        "Does the text start with the other?",
        asks=True,
    ),
    Function("sum", (LIST,), _sum, "sum([1, 2])", "The sum; 0 for an empty list."),
    Function(
        "to_number",
        (SCALAR,),
        _to_number,
        'to_number("1.5")',
        "The number itself, or the number that a text contains.",
    ),
    Function(
        "to_string", (SCALAR,), _to_string, "to_string(1)", "The text itself, or the value as JSON."
    ),
    Function("trim", (TEXT,), str.strip, 'trim(" a ")', "The text without white space around it."),
    Function("type", (ANY,), _type, "type([])", "number, string, boolean, array, object or null."),
    Function("unique", (LIST,), _unique, "unique([1, 1])", "The elements without duplicates."),
    Function("upper", (TEXT,), str.upper, 'upper("Ab")', "The text in upper case."),
    Function(
        "values",
        (OBJECT,),
        lambda o: [o[key] for key in sorted(o)],
        'values({"a": 1})',
        "The values of an object, sorted by key.",
    ),
    Function(
        "zip",
        (LIST, LIST),
        _zip,
        "zip([1, 2], [3, 4])",
        "Pairs of elements with the same index, up to the length of the shorter list.",
    ),
    Function("+", (NUMBER, NUMBER), _arithmetic(operator.add), "1 + 2", "The sum of two numbers."),
    Function("-", (NUMBER, NUMBER), _arithmetic(operator.sub), "3 - 2", "The difference."),
    Function("*", (NUMBER, NUMBER), _arithmetic(operator.mul), "2 * 3", "The product."),
    Function(
        "/",
        (NUMBER, NUMBER),
        _arithmetic(operator.truediv),
        "3 / 2",
        "The quotient; undefined for the divisor 0.",
    ),
)

FUNCTIONS: Final = {function.name: function for function in _ROWS}


def apply(name: str, operands: Sequence[Result]) -> Result:
    """The result of a function; MISSING if it is undefined."""
    found = FUNCTIONS[name](*operands)
    # Lists and computed texts may not be JSON values, for example if they nest too deeply.
    return found if found is MISSING or problem(found) is None else MISSING
