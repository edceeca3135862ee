"""How two values compare. An undefined or null operand makes every comparison false."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, equal, is_list, is_number, is_text
from bylaw.vocabulary.functions import compiled


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    """Numbers compare by size, texts letter by letter; anything else has no order."""

    def holds(left: Json, right: Json) -> bool:
        alike = (is_number(left) and is_number(right)) or (is_text(left) and is_text(right))
        return alike and compare(left, right)

    return holds


def _contains(whole: Json, part: Json) -> bool:
    if is_list(whole):
        return any(equal(element, part) for element in whole)
    return is_text(whole) and is_text(part) and part in whole


def _matches(text: Json, pattern: Json) -> bool:
    expression = compiled(pattern) if is_text(pattern) and is_text(text) else None
    return expression is not None and expression.search(text) is not None


RELATIONS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "contains": _contains,
    "in": lambda part, whole: _contains(whole, part),
    "~": _matches,
}


def related(left: Json | Missing, symbol: str, right: Json | Missing) -> bool:
    """Do the two values compare so?"""
    if left is MISSING or right is MISSING or left is None or right is None:
        return False
    return RELATIONS[symbol](left, right)
