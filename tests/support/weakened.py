"""A formula with one of its conditions dropped, in every way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.walk import Steps, everything, mapped, run


def weakened(formula: f.Formula) -> list[f.Formula]:
    """The formula without one conjunct, one condition of an implication, or one pattern."""
    number = len(list(everything(formula)))
    found = [one for at in range(number) for one in _without(formula, at)]
    return [each for each in dict.fromkeys(found) if each != formula]


def _without(formula: f.Formula, at: int) -> Iterator[f.Formula]:
    part = list(everything(formula))[at]
    for smaller in _smaller(part):
        yield cast(f.Formula, run(_replaced(formula, [at], smaller)))


def _replaced(node: Node, countdown: list[int], new: Node) -> Steps[Node]:
    """The node with the part that comes after so many others replaced."""
    countdown[0] -= 1
    if countdown[0] < 0:
        countdown[0] = 10**9  # only this one
        return new
    return (yield from mapped(node, lambda part: _replaced(part, countdown, new)))


def _smaller(part: Node) -> Iterator[Node]:
    match part:
        case f.And(operands):
            for i in range(len(operands)):
                rest = (*operands[:i], *operands[i + 1 :])
                yield f.And(rest) if len(rest) > 1 else rest[0]
        case f.Implies(_, right):
            yield right
        case f.EventAtom(tool, patterns):
            for i in range(len(patterns)):
                yield f.EventAtom(tool, (*patterns[:i], *patterns[i + 1 :]))
