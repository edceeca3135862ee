"""The regular expressions that run in time linear in the text, and those that are rejected."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

codes: Any = import_module("re._constants")  # `re` has no public parser


class RegexError(ValueError):
    """A text is not a regular expression, or not one that runs in linear time."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


_LINEAR: Final = "Expressions run in time linear in the text"
_APART: Final = "test it apart: text ~ /a/ & !(text ~ /b/)"
_REJECTED: Final[dict[Any, tuple[str, str]]] = {
    codes.ASSERT: ("looks at the text around the match, (?=…) or (?<=…)", _APART),
    codes.ASSERT_NOT: ("looks at the text around the match, (?!…) or (?<!…)", _APART),
    codes.FAILURE: ("looks at the text around the match, (?!…)", _APART),
    codes.GROUPREF: (
        "refers back to a group",
        "compare the parts of the text: find(text, /a(.)/) = find(text, /(.)b/)",
    ),
    codes.GROUPREF_EXISTS: ("depends on whether a group matched", "write both cases: a|b"),
    codes.POSSESSIVE_REPEAT: (
        "has a possessive repetition, a*+",
        "leave out the last +: it only saves time in Python",
    ),
    codes.ATOMIC_GROUP: (
        "has an atomic group, (?>…)",
        "write (?:…): it only saves time in Python",
    ),
}
_ACCEPTED: Final = frozenset(
    {
        codes.ANY,
        codes.AT,
        codes.BRANCH,
        codes.IN,
        codes.LITERAL,
        codes.MAX_REPEAT,
        codes.MIN_REPEAT,
        codes.NOT_LITERAL,
        codes.SUBPATTERN,
    }
)


def check_linear(tree: Any) -> None:
    """Rejects the parts that cannot be decided in linear time."""
    pending = list(tree)
    while pending:
        code, argument = pending.pop()
        if code in _REJECTED:
            what, remedy = _REJECTED[code]
            raise RegexError(f"this regular expression {what}", f"{_LINEAR}; {remedy}.")
        if code not in _ACCEPTED:
            raise RegexError(f"this regular expression has a part that is unknown: {code}")
        pending += (part for inner in inside(code, argument) for part in inner)


def inside(code: Any, argument: Any) -> Sequence[Any]:
    """The parts inside a part."""
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.SUBPATTERN:
        return [argument[3]]
    return [argument[2]] if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) else []


def too_large() -> RegexError:
    """The error for an expression with too many nodes."""
    help = "A part that is repeated counts as often as it may repeat: repeat fewer times, or use *."
    return RegexError("this regular expression is too large", help)
