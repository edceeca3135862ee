"""How numbers compare, also where one of them is only known to lie in a range."""

import operator
from collections.abc import Callable
from typing import Final

from bylaw.vocabulary.view import Kleene

COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def compare_range(least: int, most: int, comparison: str, number: int) -> Kleene:
    """Does every number from `least` to `most` compare so with `number`? None if only some do."""
    compare = COMPARE[comparison]
    # The comparison changes its answer only around `number`, so these few decide for all.
    around = (number - 1, number, number + 1)
    tried = {compare(n, number) for n in (least, most, *around) if least <= n <= most}
    return tried.pop() if len(tried) == 1 else None
