"""Which formulas can be evaluated in columns, and what settles many traces of those that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

import numpy as np

from bylaw.columnar.evaluation import Evaluation
from bylaw.columnar.segments import Mask
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Answer, Labels, Literal, Term, ToolSet, Variable
from bylaw.logic.walk import everything
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.tracker import Probe

MAX_DEPTH: Final = 100
"""How many operators may nest; evaluation in columns recurses through the interpreter."""
_TERMS: Final = get_args(Term)


def alone_because(formula: f.Formula, vocabulary: Vocabulary = EMPTY) -> str | None:
    """Why traces have to be judged one by one; None if columns serve."""
    if formula.depth > MAX_DEPTH:
        return f"it nests more than {MAX_DEPTH} operators"
    plainly = vocabulary.compares_plainly
    return next(_obstacles(formula, plainly), None)


def _obstacles(formula: f.Formula, plainly: bool) -> Iterator[str]:
    found = (_obstacle(part, plainly) for part in everything(formula))
    return (reason for reason in found if reason is not None)


def _obstacle(part: Node, plainly: bool) -> str | None:
    match part:
        case f.OpenPredicate(name) | f.Extracted(name):
            return f"it asks the function '{name}'"
        case f.ArgumentIs(_, expected) | f.ResultIs(_, expected):
            return _unless(expected, Literal, Variable)
        case f.Count(_, number):
            return _unless(number, Literal)
        case f.TracePredicate("CalledWithResult") if not plainly:
            return "it compares results in a way of its own"
        case f.TracePredicate(_, operands):
            values = [each for each in operands if isinstance(each, _TERMS)]
            return next(filter(None, (_unless(each, Literal) for each in values)), None)
        case ToolSet(members) if part.free and len(members) > 1:
            return "a variable stands in a set of tools"
        case Answer() | Labels():
            return "it asks for the answer or the labels of a trace"
        case _:
            return None


def _unless(term: Node, *kinds: type[Node]) -> str | None:
    return None if isinstance(term, kinds) else "it computes a value that patterns ask for"


def settled(formula: f.Formula, over: Evaluation) -> Mask | None:
    """Which traces satisfy the formula vacuously, seen without looking into its body.

    `G(guard -> …)` asks nothing of a trace in which the guard never holds, and a universal
    nothing of one that has no calls of its domain. None if nothing can be said.
    """
    found: Mask | None = None
    for part in formula.operands if isinstance(formula, f.And) else (formula,):
        idle = _idle(part, over)
        if idle is None:
            return None
        found = idle if found is None else found & idle
    return found


def _idle(part: f.Formula, over: Evaluation) -> Mask | None:
    match part:
        case f.Always(f.Implies(guard, _)):
            asked = [
                each
                for each in (guard.operands if isinstance(guard, f.And) else (guard,))
                if alone_because(each, over.subject.vocabulary) is None
            ]
            rows = [over.row(each).true for each in asked]
            return ~over.segments.any(np.logical_and.reduce(rows)) if rows else None
        case f.ForAll(_, f.FromArgs(tool) | f.FromResults(tool), _) if not tool.free:
            return ~over.segments.any(over.subject.mask(Probe(tool)))
        case _:
            return None
