"""The functions that terms can apply: a closed set, one row each.

Every function is total. An operand that is undefined, or not of the kind that the function takes,
makes the result undefined. A function of a single number or text is applied to each element of a
list. Names and meanings are JMESPath's where it has the function.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from bylaw.regex.regex import regex_error
from bylaw.trace.event import MISSING
from bylaw.values import is_text, problem
from bylaw.vocabulary import calendar
from bylaw.vocabulary import computations as c
from bylaw.vocabulary.calendar import zone_named
from bylaw.vocabulary.function import (
    ANY,
    COMMAND,
    LIST,
    NUMBER,
    OBJECT,
    PATTERN,
    ROW,
    SCALAR,
    SEPARATOR,
    SIZED,
    TEXT,
    ZONE,
    ArgumentType,
    Function,
    Result,
)
from bylaw.work import CHARACTERS, spend

_ROWS: Final = (
    Function("abs", (NUMBER,), abs, "abs(-2)", "The absolute value."),
    Function("avg", (LIST,), c.average, "avg([1, 2])", "The mean; undefined for an empty list."),
    Function("ceil", (NUMBER,), c.whole(math.ceil), "ceil(1.2)", "The number rounded up."),
    Function(
        "date",
        (NUMBER, ZONE),
        calendar.date,
        'date(0, "Europe/Berlin")',
        "The date of a time in a time zone, as text: 2026-03-29.",
    ),
    Function(
        "decode",
        (SCALAR,),
        c.decode,
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
        (SCALAR, PATTERN),
        c.matches,
        'find("a1b2", /\\d/)',
        "All matches of a regular expression, or of its group if it has one. Numbers are searched "
        "as they are written; null has no matches.",
    ),
    Function("floor", (NUMBER,), c.whole(math.floor), "floor(1.8)", "The number rounded down."),
    Function(
        "hour",
        (NUMBER, ZONE),
        calendar.hour,
        'hour(0, "Europe/Berlin")',
        "The hour of a time in a time zone, 0 to 23.",
    ),
    Function(
        "join",
        (SEPARATOR, LIST),
        c.joined,
        'join(", ", ["a", "b"])',
        "The texts joined by the separator.",
    ),
    Function("keys", (OBJECT,), sorted, 'keys({"a": 1})', "The keys of an object, sorted."),
    Function(
        "leaves",
        (ANY,),
        c.source_leaves,
        'leaves({"a": [1, "b", true]})',
        "The texts and numbers in a value, at any depth, except texts without a letter or digit.",
    ),
    Function(
        "length", (SIZED,), len, "length([1, 2])", "The number of characters, elements or keys."
    ),
    Function("lower", (TEXT,), str.lower, 'lower("Ab")', "The text in lower case."),
    Function(
        "max", (LIST,), c.extreme(max), "max([1, 2])", "The largest number, or the last text."
    ),
    Function(
        "min", (LIST,), c.extreme(min), "min([1, 2])", "The smallest number, or the first text."
    ),
    Function(
        "normalise",
        (TEXT,),
        c.normalised,
        'normalise(" A  b ")',
        "The text in a form that ignores case and the amount of white space.",
    ),
    Function(
        "replace",
        (TEXT, PATTERN, SEPARATOR),
        c.with_replaced,
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
        c.whole(c.rounded),
        "round(1.5)",
        "The nearest whole number; halves are rounded up.",
    ),
    Function(
        "shell",
        (COMMAND,),
        c.shell_commands,
        'shell("git push -f")',
        "The commands that a text makes a shell run, as objects; see Shell commands. Also of a "
        "list of words, and of an object with a command or cmd.",
    ),
    Function(
        "sort", (LIST,), c.ordered, "sort([2, 1])", "The numbers or texts in ascending order."
    ),
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
    Function("sum", (LIST,), c.total, "sum([1, 2])", "The sum; 0 for an empty list."),
    Function(
        "to_number",
        (SCALAR,),
        c.to_number,
        'to_number("1.5")',
        "The number itself, or the number that a text writes. Commas may stand between groups of "
        "three digits: 1,234.5.",
    ),
    Function(
        "to_string",
        (SCALAR,),
        c.to_string,
        "to_string(1)",
        "The text itself, or the value as JSON.",
    ),
    Function("trim", (TEXT,), str.strip, 'trim(" a ")', "The text without white space around it."),
    Function(
        "type", (ANY,), c.type_of, "type([])", "number, string, boolean, array, object or null."
    ),
    Function("unique", (LIST,), c.unique, "unique([1, 1])", "The elements without duplicates."),
    Function("upper", (TEXT,), str.upper, 'upper("Ab")', "The text in upper case."),
    Function(
        "values",
        (OBJECT,),
        lambda o: [o[key] for key in sorted(o)],
        'values({"a": 1})',
        "The values of an object, sorted by key.",
    ),
    Function(
        "weekday",
        (NUMBER, ZONE),
        calendar.weekday,
        'weekday(0, "Europe/Berlin")',
        "The day of the week of a time in a time zone, from 1 for Monday to 7 for Sunday.",
    ),
    Function(
        "zip",
        (LIST, LIST),
        c.pairs,
        "zip([1, 2], [3, 4])",
        "Pairs of elements with the same index, up to the length of the shorter list.",
    ),
    Function("+", (NUMBER, NUMBER), c.arithmetic(operator.add), "1 + 2", "The sum of two numbers."),
    Function("-", (NUMBER, NUMBER), c.arithmetic(operator.sub), "3 - 2", "The difference."),
    Function("*", (NUMBER, NUMBER), c.arithmetic(operator.mul), "2 * 3", "The product."),
    Function(
        "/",
        (NUMBER, NUMBER),
        c.arithmetic(operator.truediv),
        "3 / 2",
        "The quotient; undefined for the divisor 0.",
    ),
)

_ZONES: Final = 'Use a name of the IANA database, such as "Europe/Berlin" or "UTC".'


def mistake_in(place: ArgumentType, value: object) -> tuple[str, str, str | None] | None:
    """The fault of an operand that is written out: a code, a message and help."""
    if place is PATTERN and (error := regex_error(value)) is not None:
        return "E111", error.message, error.help
    if place is ZONE and is_text(value) and zone_named(value) is None:
        return "E121", f"unknown time zone '{value}'", _ZONES
    return None


_TEXT_OR_TRUTH: Final = (str, bool)
_TEXTS: Final = frozenset({str})
FUNCTIONS: Final = {function.name: function for function in _ROWS}


def apply(name: str, operands: Sequence[Result]) -> Result:
    """The result of a function; MISSING if it is undefined."""
    return _checked(FUNCTIONS[name](*operands))


def applied_to_texts(name: str) -> Callable[[Sequence[Result]], Result] | None:
    """The function, as `apply` applies it: quick if all operands are texts, or lists of them.

    None if it takes other values. Only the first operand may be a list.
    """
    function = FUNCTIONS[name]
    if not function.takes or not all(place.fits("") for place in function.takes):
        return None
    compute, lifts = function.compute, function.takes[0].lifts

    def result(operands: Sequence[Any]) -> Result:
        first, *others = operands
        if not _TEXTS.issuperset(map(type, others)):
            return apply(name, operands)
        length = sum(map(len, others))
        if type(first) is str:
            spend(1 + (len(first) + length) / CHARACTERS)
            return _checked(compute(*operands))
        if not (lifts and type(first) is list and _TEXTS.issuperset(map(type, first))):
            return apply(name, operands)
        spend(1 + len(first) + length / CHARACTERS)
        found = []
        for text in first:
            spend(1 + (len(text) + length) / CHARACTERS)
            found.append(compute(text, *others))
        return MISSING if MISSING in found else _checked(found)

    return result


def _checked(found: Result) -> Result:
    """A result, unless it is no JSON value: lists may nest too deeply, numbers be too large."""
    if found is MISSING or type(found) in _TEXT_OR_TRUTH:
        return found
    if type(found) is list and _TEXTS.issuperset(map(type, found)):
        spend(len(found))
        return found
    return found if problem(found) is None else MISSING
