"""The one table of operators that the parser, the printer, the JSON form and the docs read."""

from __future__ import annotations

import re
from typing import Final, Literal

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.terms import FIELDS

Fixity = Literal["prefix", "right", "flat", "binder", "let"]
"""The position of an operator: before its operand, between two (grouping to the right),
between many, before a variable and its domain, or before a variable and its value."""


@frozen
class Operator:
    """One operator: its names in each form, its precedence and its node."""

    tag: str
    symbol: str
    node: type[f.Formula]
    fixity: Fixity
    precedence: int
    """Larger binds tighter."""
    words: tuple[str, ...] = ()
    """Other spellings in text."""
    temporal: bool = False
    """Does it look at other events than the current one?"""
    within: type[f.Within] | None = None
    """The node with a bound in time, if the operator can have one: `F a within 1 h`."""


OPERATORS: Final = (
    Operator("forall", "forall", f.ForAll, "binder", 0),
    Operator("exists", "exists", f.Exists, "binder", 0),
    Operator("let", "let", f.Let, "let", 0),
    Operator("iff", "<->", f.Iff, "right", 10, ("iff",)),
    Operator("implies", "->", f.Implies, "right", 20, ("implies",)),
    Operator("or", "|", f.Or, "flat", 30, ("or",)),
    Operator("and", "&", f.And, "flat", 40, ("and",)),
    Operator("until", "U", f.Until, "right", 50, ("until",), temporal=True),
    Operator("weak_until", "W", f.WeakUntil, "right", 50, ("weak_until",), temporal=True),
    Operator("release", "R", f.Release, "right", 50, ("release",), temporal=True),
    Operator("since", "S", f.Since, "right", 50, ("since",), temporal=True),
    Operator("not", "!", f.Not, "prefix", 60, ("not",)),
    Operator("next", "X", f.Next, "prefix", 60, ("next",), temporal=True),
    Operator("weak_next", "WX", f.WeakNext, "prefix", 60, ("weak_next",), temporal=True),
    Operator(
        "eventually",
        "F",
        f.Eventually,
        "prefix",
        60,
        ("eventually",),
        temporal=True,
        within=f.EventuallyWithin,
    ),
    Operator("always", "G", f.Always, "prefix", 60, ("always",), temporal=True),
    Operator("yesterday", "Y", f.Yesterday, "prefix", 60, ("yesterday",), temporal=True),
    Operator("once", "O", f.Once, "prefix", 60, ("once",), temporal=True, within=f.OnceWithin),
    Operator("historically", "H", f.Historically, "prefix", 60, ("historically",), temporal=True),
    Operator("earlier", "earlier", f.Earlier, "prefix", 60, temporal=True, within=f.EarlierWithin),
    Operator("later", "later", f.Later, "prefix", 60, temporal=True, within=f.LaterWithin),
)

BY_NODE: Final = {operator.node: operator for operator in OPERATORS}
BY_TAG: Final = {operator.tag: operator for operator in OPERATORS}
BOUNDED: Final = {operator.within: operator for operator in OPERATORS if operator.within}
"""The operators that can be bounded in time, by the node with the bound."""
BY_SPELLING: Final = {
    spelling: operator for operator in OPERATORS for spelling in (operator.symbol, *operator.words)
}

COMPARISONS: Final = ("=", "!=", "<=", ">=", "<", ">")
"""Comparisons of two numbers."""
RELATIONS: Final = (*COMPARISONS, "in", "contains", "mentions", "~")
"""Comparisons of two values."""
ARITHMETIC: Final = {"+": 70, "-": 70, "*": 80, "/": 80}
"""The precedence of the arithmetic symbols. They are functions, written between operands."""

KEYWORDS: Final = frozenset(
    {spelling for spelling in BY_SPELLING if spelling.isidentifier()}
    | {"true", "false", "null", "call", "ok", "failed", "in", "contains"}
    | {"last", "sofar", "says", "count", "like", "within"}
)
"""Words that are tool names only in quotes."""


UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1}
"""The units of time, largest first, in milliseconds."""


def in_seconds(number: float, unit: str) -> float:
    """A duration in seconds: `in_seconds(500, "ms")` is 0.5."""
    seconds = number * UNITS[unit] / 1000
    return int(seconds) if seconds == int(seconds) else seconds


def duration_text(seconds: float) -> str:
    """The duration in the largest unit of which it is a whole number: `10 min`."""
    for unit, size in UNITS.items():
        number = seconds * 1000 / size
        if number == int(number) and in_seconds(int(number), unit) == seconds and number:
            return f"{int(number)} {unit}"
    return f"{seconds} s"


_NAME: Final = re.compile(r"[^\W\d]\w*")
"""The grammar's NAME."""


def is_plain(name: str) -> bool:
    """Can this name be written without quotes?"""
    return _NAME.fullmatch(name) is not None and name not in KEYWORDS


VALUES: Final = frozenset({*FIELDS, "answer", "labels"})
"""Names that stand for a value everywhere."""
RESERVED: Final = KEYWORDS | VALUES
"""Names that no quantifier can bind: keywords, and the names of values."""


def may_be_variable(name: str) -> bool:
    """Can a quantifier bind this name?"""
    return _NAME.fullmatch(name) is not None and name not in RESERVED
