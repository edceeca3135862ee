"""The one table of operators that the parser, the printer, the JSON form and the docs read."""

from __future__ import annotations

import re
from collections.abc import Callable
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

    def build(self, *operands: f.Formula) -> f.Formula:
        """The formula that applies a connective or temporal operator."""
        make: Callable[..., f.Formula] = self.node
        return make(operands) if self.fixity == "flat" else make(*operands)


OPERATORS: Final = (
    Operator("forall", "forall", f.ForAll, "binder", 0),
    Operator("exists", "exists", f.Exists, "binder", 0),
    Operator("let", "let", f.Let, "let", 0),
    Operator("iff", "<->", f.Iff, "right", 10, ("iff",)),
    Operator("implies", "->", f.Implies, "right", 20, ("implies",)),
    Operator("or", "|", f.Or, "flat", 30, ("or",)),
    Operator("and", "&", f.And, "flat", 40, ("and",)),
    Operator("until", "U", f.Until, "right", 50, temporal=True),
    Operator("weak_until", "W", f.WeakUntil, "right", 50, temporal=True),
    Operator("release", "R", f.Release, "right", 50, temporal=True),
    Operator("since", "S", f.Since, "right", 50, temporal=True),
    Operator("not", "!", f.Not, "prefix", 60, ("not",)),
    Operator("next", "X", f.Next, "prefix", 60, temporal=True),
    Operator("weak_next", "WX", f.WeakNext, "prefix", 60, temporal=True),
    Operator("eventually", "F", f.Eventually, "prefix", 60, temporal=True),
    Operator("always", "G", f.Always, "prefix", 60, temporal=True),
    Operator("yesterday", "Y", f.Yesterday, "prefix", 60, temporal=True),
    Operator("once", "O", f.Once, "prefix", 60, temporal=True),
    Operator("historically", "H", f.Historically, "prefix", 60, temporal=True),
    Operator("earlier", "earlier", f.Earlier, "prefix", 60, temporal=True),
    Operator("later", "later", f.Later, "prefix", 60, temporal=True),
)

BY_NODE: Final = {operator.node: operator for operator in OPERATORS}
BY_TAG: Final = {operator.tag: operator for operator in OPERATORS}
BY_SPELLING: Final = {
    spelling: operator for operator in OPERATORS for spelling in (operator.symbol, *operator.words)
}

COMPARISONS: Final = ("=", "!=", "<=", ">=", "<", ">")
"""Comparisons of two numbers."""
RELATIONS: Final = (*COMPARISONS, "in", "contains", "~")
"""Comparisons of two values."""
ARITHMETIC: Final = {"+": 70, "-": 70, "*": 80, "/": 80}
"""The precedence of the arithmetic symbols. They are functions, written between operands."""

KEYWORDS: Final = frozenset(
    {spelling for spelling in BY_SPELLING if spelling.isidentifier()}
    | {"true", "false", "null", "call", "ok", "failed", "in", "contains"}
    | {"last", "sofar", "says", "count", "like"}
)
"""Words that are tool names only in quotes."""


_NAME: Final = re.compile(r"[^\W\d]\w*")
"""The grammar's NAME."""


def is_plain(name: str) -> bool:
    """Can this name be written without quotes?"""
    return _NAME.fullmatch(name) is not None and name not in KEYWORDS


_VALUES: Final = frozenset({*FIELDS, "answer", "labels"})


def may_be_variable(name: str) -> bool:
    """Can a quantifier bind this name? Keywords and the names of values are taken."""
    return is_plain(name) and name not in _VALUES
