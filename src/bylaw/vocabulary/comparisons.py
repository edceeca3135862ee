"""Comparisons of two values. An undefined or null operand makes every one of them false."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, Final

from bylaw.regex.regex import compiled
from bylaw.trace.event import MISSING
from bylaw.values import Json, equal, is_list, is_number, is_text
from bylaw.vocabulary.possible import (
    UNSEEN,
    Between,
    OneOf,
    PartlyKnown,
    PossibleValue,
    Seen,
    SomeOf,
    known,
    options_of,
)
from bylaw.work import spend, spend_on_text

NUMBERS: Final = (int, float)
"""The types of JSON numbers; `true` is not one."""
ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    """Numbers and texts are ordered among themselves; other values have no order."""

    def holds(left: Json, right: Json) -> bool:
        alike = (type(left) in NUMBERS and type(right) in NUMBERS) or (
            isinstance(left, str) and isinstance(right, str)
        )
        return alike and compare(left, right)

    return holds


def _contains(whole: Json, part: Json) -> bool:
    if is_list(whole):
        spend(len(whole))
        return any(equal(element, part) for element in whole)
    if not is_text(whole) or not is_text(part):
        return False
    spend_on_text(whole)
    return part in whole


def _mentions(whole: Json, part: Json) -> bool:
    from bylaw.texts.occurrence import mentions  # slow to import, and few rules need it

    return mentions(whole, part)


def _matches(text: Json, pattern: Json) -> bool:
    expression = compiled(pattern) if is_text(pattern) and is_text(text) else None
    if expression is None:
        return False
    spend(expression.work(text))
    return expression.search(text)


RELATION_TESTS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    **{symbol: _ordered(compare) for symbol, compare in ORDERS.items()},
    "contains": _contains,
    "in": lambda part, whole: _contains(whole, part),
    "mentions": _mentions,
    "~": _matches,
}


def compared(left: PossibleValue, symbol: str, right: PossibleValue) -> bool | None:
    """Does the comparison hold? None if that depends on an unseen value."""
    if left is MISSING or right is MISSING or left is None or right is None:
        return False
    if isinstance(left, PartlyKnown) or isinstance(right, PartlyKnown):
        return _partly_compared(left, symbol, right)
    if left is UNSEEN or right is UNSEEN:
        return None
    return RELATION_TESTS[symbol](left, right)


def same(left: Seen, right: Seen) -> bool | None:
    """Are two values equal in a pattern, where null equals null?"""
    if left is MISSING or right is MISSING:
        return False
    return None if left is UNSEEN or right is UNSEEN else equal(left, right)


def _partly_compared(left: PossibleValue, symbol: str, right: PossibleValue) -> bool | None:
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return _agreed(
            compared(a, symbol, b)
            for a in (left.values if isinstance(left, OneOf) else (left,))
            for b in (right.values if isinstance(right, OneOf) else (right,))
        )
    if symbol == "in":
        return _partly_compared(right, "contains", left)
    if isinstance(left, SomeOf) and symbol == "contains":
        return _perhaps_contains(left, right)
    if isinstance(left, SomeOf) or isinstance(right, SomeOf):
        if symbol not in ("=", "!=", "contains", "mentions"):
            return False  # a list has no order, and is no text
        pairs = product(options_of(left), options_of(right))
        return _agreed(compared(a, symbol, b) for a, b in pairs)
    if isinstance(left, Between) or isinstance(right, Between):
        return _compared_ranges(left, symbol, right)
    return None  # an event whose result is outstanding, as a whole


def _agreed(answers: Iterable[bool | None]) -> bool | None:
    """The answer of all cases, if they have one."""
    found = set(answers)
    return found.pop() if len(found) == 1 else None


def _perhaps_contains(whole: SomeOf, part: PossibleValue) -> bool | None:
    answer: bool | None = False
    for member, sure in zip(whole.members, whole.certain, strict=True):
        here = compared(member, "=", part)
        if here and sure:
            return True
        answer = answer if here is False else None
    return answer


def _compared_ranges(left: PossibleValue, symbol: str, right: PossibleValue) -> bool | None:
    bounds: list[tuple[Json, Json]] = [_bounds(left), _bounds(right)]
    if UNSEEN in bounds[0] or UNSEEN in bounds[1]:
        return None
    if symbol == "mentions":
        return None
    if symbol == "contains" and is_list(whole := bounds[0][0]):
        return False if all(compared(each, "=", right) is False for each in whole) else None
    if symbol in ("contains", "~"):
        return None if all(map(is_text, (*bounds[0], *bounds[1]))) else False
    corners = {RELATION_TESTS[symbol](a, b) for a, b in product(*bounds)}
    if symbol in ("=", "!="):
        (low, high), (other_low, other_high) = bounds
        below, above = RELATION_TESTS["<"], RELATION_TESTS[">"]
        apart = below(high, other_low) or above(low, other_high)
        alike = is_text(low) is is_text(other_low) and is_number(low) is is_number(other_low)
        corners = {symbol == "!="} if apart or not alike else {True, False}
    if any(isinstance(each, Between) and each.perhaps_missing for each in (left, right)):
        corners.add(False)
    return corners.pop() if len(corners) == 1 else None


def _bounds(value: PossibleValue) -> tuple[Seen, Seen]:
    if isinstance(value, Between):
        return value.lowest, value.highest
    return known(value), known(value)
