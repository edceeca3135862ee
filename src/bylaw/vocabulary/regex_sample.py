"""A text that a regular expression matches, for examples."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

from bylaw.vocabulary.functions import compiled

codes: Any = import_module("re._constants")  # `re` has no public parser
parser: Any = import_module("re._parser")

_CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_NOT_WORD: " ",
}
_LONGEST: Final = 200


def sample_of(pattern: str) -> str | None:
    """A short text that the expression matches, or None if none was found."""
    expression = compiled(pattern)
    if expression is None:
        return None
    try:
        text = _written(parser.parse(pattern))
    except (re.error, KeyError, ValueError, RecursionError):
        return None
    return text if len(text) <= _LONGEST and expression.search(text) else None


def _written(parts: Any) -> str:
    return "".join(_part(code, argument) for code, argument in parts)


def _part(code: Any, argument: Any) -> str:
    match code:
        case codes.LITERAL:
            return chr(int(argument))
        case codes.NOT_LITERAL:
            return "b" if argument == ord("a") else "a"
        case codes.ANY:
            return "a"
        case codes.IN:
            return _one_of(list(argument))
        case codes.BRANCH:
            return _written(argument[1][0])
        case codes.SUBPATTERN:
            return _written(argument[3])
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            least, _, repeated = argument
            return _written(repeated) * int(least)
        case codes.ATOMIC_GROUP:
            return _written(argument)
        case codes.AT | codes.ASSERT | codes.ASSERT_NOT:
            return ""  # the whole text is tested at the end
        case _:
            raise ValueError(f"no sample for {code}")


def _one_of(choices: list[Any]) -> str:
    first, argument = choices[0]
    if first is codes.NEGATE:
        return next((c for c in "a1 .-" if not _among(c, choices[1:])), "a")
    if first is codes.RANGE:
        return chr(int(argument[0]))
    return chr(int(argument)) if first is codes.LITERAL else str(_CATEGORIES[argument])


def _among(character: str, choices: Any) -> bool:
    point = ord(character)
    for code, argument in choices:
        if code is codes.LITERAL and argument == point:
            return True
        if code is codes.RANGE and argument[0] <= point <= argument[1]:
            return True
        if code is codes.CATEGORY and _CATEGORIES.get(argument) == character:
            return True
    return False
