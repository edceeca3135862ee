"""Random core formulas over three tools, by a plain generator: fast, and the same everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from bylaw import Call, Trace
from bylaw import formulas as b
from bylaw.logic import formula as f
from bylaw.vocabulary.view import Order

TOOLS = ("a", "b", "c")
LETTERS = (*TOOLS, "other")

_UNARY: tuple[Callable[..., f.Formula], ...] = (
    f.Not,
    f.Next,
    f.WeakNext,
    f.Eventually,
    f.Always,
    f.Yesterday,
    f.Once,
    f.Historically,
)
_BINARY: tuple[Callable[..., f.Formula], ...] = (
    f.Implies,
    f.Iff,
    f.Until,
    f.WeakUntil,
    f.Release,
    f.Since,
)


class Generator:
    """Formulas and prefixes from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def formula(self, depth: int) -> f.Formula:
        """A formula of at most this depth."""
        kind = self.random.randrange(20)
        if depth == 0 or kind < 4:
            return self._atom()
        if kind < 10:
            return self.random.choice(_UNARY)(self.formula(depth - 1))
        if kind < 16:
            pair = (self.formula(depth - 1), self.formula(depth - 1))
            return self.random.choice(_BINARY)(*pair)
        flat: list[Callable[..., f.Formula]] = [f.And, f.Or]
        return self.random.choice(flat)((self.formula(depth - 1), self.formula(depth - 1)))

    def _tool(self) -> object:
        sets = self.random.random() < 0.2
        return self.random.sample(TOOLS, 2) if sets else self.random.choice(TOOLS)

    def _atom(self) -> f.Formula:
        number, tool = self.random.randrange, self._tool
        if self.random.random() < 0.55:
            return b.call(tool())
        comparison = self.random.choice(["=", "!=", "<=", ">=", "<", ">"])
        atoms: list[Callable[[], f.Formula]] = [
            lambda: b.Called(tool()),
            lambda: b.CalledN(tool(), comparison, number(3)),
            lambda: b.Before(tool(), tool()),
            lambda: b.After(tool(), tool()),
            lambda: b.InOrder(*(tool() for _ in range(number(3) + 1))),
            lambda: b.WithinSteps(tool(), tool(), number(3)),
            lambda: b.InstanceBefore(tool(), number(2), tool(), number(2)),
            lambda: b.BranchCalled(tool(), tool()),
            lambda: b.AllBefore([tool(), tool()], tool()),
        ]
        return self.random.choice(atoms)()

    def prefix(self, most: int, order: Order) -> list[tuple[str, bool]]:
        """Some moves: a tool, and whether it opens a new step."""
        return [self.random.choice(moves(order)) for _ in range(self.random.randint(0, most))]


def moves(order: Order) -> list[tuple[str, bool]]:
    """The possible next moves."""
    return [
        (tool, new) for tool in LETTERS for new in ((True, False) if order == "step" else (True,))
    ]


def all_sequences(most: int, order: Order) -> list[tuple[tuple[str, bool], ...]]:
    """Every sequence of moves up to a length, the shortest first."""
    return [s for size in range(most + 1) for s in product(moves(order), repeat=size)]


def trace_of_moves(*parts: tuple[tuple[str, bool], ...] | list[tuple[str, bool]]) -> Trace:
    """The trace that moves make."""
    calls, step = [], 0
    for tool, new in (move for part in parts for move in part):
        step += new
        calls.append(Call(tool, step=step))
    return Trace(calls)
