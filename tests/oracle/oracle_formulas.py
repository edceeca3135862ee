"""Random formulas and traces that an independent implementation can judge as well."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from bylaw.logic import formula as f
from bylaw.logic.formula import Formula, FormulaNode
from bylaw.logic.operators import BY_NODE
from bylaw.logic.terms import ToolName
from bylaw.logic.walk import everything
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace

SMALLEST, LARGEST = 3, 15
"""The number of nodes of a formula."""
LONGEST = 8
"""The largest number of events of a trace."""

Unary = type[f.Not | f.Next | f.WeakNext | f.Eventually | f.Always]
Binary = Callable[[Formula, Formula], Formula]

NAMES = ("a", "b", "c")
OTHER = "other"
"""A tool that no formula names: an event at which no atom is true."""

UNARY: tuple[Unary, ...] = (f.Not, f.Next, f.WeakNext, f.Eventually, f.Always)
BINARY: tuple[Binary, ...] = (
    lambda a, b: f.And((a, b)),
    lambda a, b: f.Or((a, b)),
    f.Implies,
    f.Iff,
    f.Until,
    f.WeakUntil,
    f.Release,
)
SYMBOLS = ("!", "&", "|", "->", "<->", "X", "WX", "F", "G", "U", "W", "R")
"""Every connective and every operator of the future."""


def formulas(count: int, seed: int) -> list[Formula]:
    """So many formulas, no two alike; the same ones for the same seed."""
    choose = random.Random(seed)
    found: dict[Formula, None] = {}
    while len(found) < count:
        names = choose.sample(NAMES, choose.choice((2, 2, 3)))
        formula = _formula(choose, choose.randint(SMALLEST, LARGEST), names)
        if SMALLEST <= size(formula) <= LARGEST:
            found[formula] = None
    return list(found)


def _formula(choose: random.Random, nodes: int, names: Sequence[str]) -> Formula:
    if nodes <= 1:
        # A constant now and then; many of them would make formulas that are always true.
        constant = choose.random() < 0.04
        return f.Truth(choose.random() < 0.5) if constant else atom(choose.choice(names))
    if nodes == 2 or choose.random() < 0.4:
        return choose.choice(UNARY)(_formula(choose, nodes - 1, names))
    left = choose.randint(1, nodes - 2)
    build = choose.choice(BINARY)
    return build(_formula(choose, left, names), _formula(choose, nodes - 1 - left, names))


def atom(name: str) -> Formula:
    """`name`, as a formula."""
    return f.EventAtom(ToolName(name))


def parts(formula: Formula) -> Iterator[Formula]:
    """The formula and all formulas inside it."""
    for part in everything(formula):
        if isinstance(part, FormulaNode):
            yield part  # type: ignore[misc]  # the union is closed: every FormulaNode is in it


def size(formula: Formula) -> int:
    """The number of nodes of a formula."""
    return sum(1 for _ in parts(formula))


def symbols(formula: Formula) -> set[str]:
    """The operators that occur in a formula."""
    return {BY_NODE[type(part)].symbol for part in parts(formula) if type(part) in BY_NODE}


def words(count: int, seed: int) -> list[tuple[str, ...]]:
    """The empty word, every word of one and two events, and so many longer ones."""
    choose = random.Random(seed)
    letters = (*NAMES, OTHER)
    short = [word for length in (0, 1, 2) for word in itertools.product(letters, repeat=length)]
    longer: dict[tuple[str, ...], None] = {}
    while len(longer) < count:
        longer[tuple(choose.choices(letters, k=choose.randint(3, LONGEST)))] = None
    return [*short, *longer]


def trace(word: Sequence[str]) -> Trace:
    """The trace that calls these tools."""
    return Trace([Call(name) for name in word])
