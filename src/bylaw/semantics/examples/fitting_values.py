"""Values that make a comparison true or false, given the value on its other side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, Final

from bylaw.regex.regex import compiled
from bylaw.regex.sample import sample_of
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, is_list, is_number, is_object, is_text
from bylaw.vocabulary.comparisons import RELATION_TESTS

FRESH: Final = ("x", "y", "z", "u", "v", "w")
"""Values that rules hardly name: identifiers, and the values of keys that no rule looks at."""
OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED: Final = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
    "in": "contains",
    "contains": "in",
    "mentions": "mentioned in",
}


def fitting(
    symbol: str, other: Json, current: Json | Missing, *, on_left: bool, wanted: bool
) -> Iterator[Json]:
    """Values for one side of a comparison that give it the wanted truth; the plainest first.

    `other` is the value on the other side, `current` the one that this side has now.
    """
    test = RELATION_TESTS[symbol]
    if not on_left and symbol not in _MIRRORED:
        return
    mine = symbol if on_left else _MIRRORED[symbol]
    for value in _candidates(mine, other, current, wanted):
        pair = (value, other) if on_left else (other, value)
        if test(*pair) is wanted:
            yield value


def _candidates(symbol: str, other: Json, current: Any, wanted: bool) -> Iterator[Json]:
    """Values for the left side that may fit."""
    match symbol:
        case "~":
            yield from _texts(other, current, wanted)
        case "mentions" if wanted and is_text(current) and current and is_text(other):
            yield f"{current} {other}"
        case "mentions" | "mentioned in" if wanted:
            yield other
        case "contains" if wanted:
            if is_list(current):
                yield [*current, other]
            elif is_text(current) and current and is_text(other):
                yield f"{current} {other}"
            else:
                yield [other]
                yield other
        case "contains":
            if is_list(current):
                yield [each for each in current if each != other]
            elif is_text(current) and is_text(other) and other:
                yield current.replace(other, "").strip()
            yield from ([], "")
        case "in" if is_list(other) and wanted:
            yield from other
        case _:
            yield other
            if is_number(other):
                yield from (other - 1, other + 1)
            elif is_text(other):
                yield from _next_day(other)
                yield f"{other}0"
            elif isinstance(other, bool):
                yield not other
            yield from FRESH
            yield from (1, 0, "")


def _next_day(text: str) -> Iterator[str]:
    """The date after this one, if it is one."""
    with suppress(ValueError, OverflowError):
        yield (date.fromisoformat(text) + timedelta(days=1)).isoformat()


def _texts(pattern: Json, current: Any, wanted: bool) -> Iterator[str]:
    sample = sample_of(pattern) if is_text(pattern) else None
    if wanted and sample is not None:
        yield sample
        if is_text(current):
            yield from (f"{current} {sample}", f"{sample} {current}")
    if not wanted:
        yield from ("no", "x", "", "0")


def searched(pattern: Json, text: str) -> bool:
    """Does the regular expression match somewhere in the text?"""
    expression = compiled(pattern) if is_text(pattern) else None
    return expression is not None and expression.search(text)


def with_key(whole: Any, key: Json, value: Json) -> Json | Missing:
    """The value with another value at a key or an index; a key of a list is one of each element."""
    if is_number(key):
        items = list(whole) if is_list(whole) else []
        index = int(key)
        if not -len(items) <= index < 8:
            return MISSING
        items += [FRESH[0]] * (index + 1 - len(items))
        items[index] = value
        return items
    if not is_text(key):
        return MISSING
    if is_list(whole):
        if not is_list(value):
            return [with_key(each, key, value) for each in whole] or [{key: value}]
        elements = [*whole[: len(value)], *({} for _ in range(len(value) - len(whole)))]
        return [with_key(e, key, v) for e, v in zip(elements, value, strict=True)]
    return {**(whole if is_object(whole) else {}), key: value}
