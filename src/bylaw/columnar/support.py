"""The list of formulas that can be evaluated in columns. All others are left to the reference.

An operator, term or predicate that is not listed here, or has no columns, is judged trace by
trace. So adding one to the language never needs a change here, only more time per trace.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bylaw.columnar.evaluation import ColumnarEvaluation
from bylaw.columnar.segments import Mask
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import everything
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.tracker import Probe

MAX_DEPTH: Final = 100
"""The largest depth of a formula: evaluation in columns recurses through the interpreter."""
_ATOMS: Final = (f.Truth, f.EventAtom, f.Says, f.Compare, f.TracePredicate)
_CONNECTIVES: Final = (f.Not, f.And, f.Or, f.Implies, f.Iff)
_FUTURE: Final = (
    *(f.Next, f.WeakNext, f.Eventually, f.Always, f.Until, f.WeakUntil, f.Release),
    f.Later,
)
_PAST: Final = (f.Yesterday, f.Once, f.Historically, f.Since, f.Earlier)
_QUANTIFIERS: Final = (f.ForAll, f.Exists, f.Let, t.Counted)
_DOMAINS: Final = (f.Listed, f.Found, f.FromArgs, f.FromResults, f.FromMetrics)
_PATTERNS: Final = (f.ArgumentIs, f.ResultIs, f.OutcomeIs)
_TERMS: Final = (
    *(t.Literal, t.Variable, t.Reading, t.At, t.Apply, t.ListTerm, t.ObjectTerm, t.ObjectEntry),
    *(t.Last, t.Sofar),
)
_TOOLS: Final = (t.ToolName, t.ToolVariable, t.ToolGlob, t.ToolSet)
_OPERANDS: Final = (f.ToolList, f.Count, f.Arguments)
_SUPPORTED: Final = frozenset(
    (
        *(*_ATOMS, *_CONNECTIVES, *_FUTURE, *_PAST, *_QUANTIFIERS),
        *(*_DOMAINS, *_PATTERNS, *_TERMS, *_TOOLS, *_OPERANDS),
    )
)
_COMPUTED: Final = "it computes a value that a pattern or predicate expects"


def unsupported_because(formula: f.Formula, vocabulary: Vocabulary = EMPTY) -> str | None:
    """The reason why traces must be judged one by one; None if the formula has columns."""
    if formula.depth > MAX_DEPTH:
        return f"it nests more than {MAX_DEPTH} operators"
    reasons = (_obstacle(part, vocabulary) for part in everything(formula))
    return next((reason for reason in reasons if reason is not None), None)


def _obstacle(part: Node, vocabulary: Vocabulary) -> str | None:
    match part:
        case f.OpenPredicate(name) | f.Extracted(name):
            return f"it calls the function '{name}'"
        case t.Answer() | t.Labels():
            return "it reads the answer or the labels of a trace"
        case _ if type(part) not in _SUPPORTED:
            return f"{type(part).__name__} has no columns"
        case f.ArgumentIs(_, expected) | f.ResultIs(_, expected):
            return None if isinstance(expected, t.Literal | t.Variable) else _COMPUTED
        case f.Count(_, number):
            return None if isinstance(number, t.Literal) else _COMPUTED
        case f.TracePredicate():
            return _predicate_obstacle(part, vocabulary)
        case t.ToolSet(members) if part.free and len(members) > 1:
            return "it has a variable in a set of tools"
        case _:
            return None


def _predicate_obstacle(part: f.TracePredicate, vocabulary: Vocabulary) -> str | None:
    predicate = PREDICATES[part.name]
    if predicate.columns is None:
        return f"{part.name} has no columns"
    if not all(isinstance(each, (t.Literal, *_TOOLS, *_OPERANDS)) for each in part.operands):
        return _COMPUTED
    probes = predicate.tracker("position", part.operands).probes
    if any(probe.result is not None for probe in probes) and not vocabulary.compares_plainly:
        return "it compares results with a registered comparator"
    return None


def vacuous_by_guard(formula: f.Formula, over: ColumnarEvaluation) -> Mask | None:
    """The traces that satisfy the formula vacuously, as far as its guard alone shows.

    `G(guard -> …)` demands nothing of a trace in which the guard never holds, and a universal
    quantifier nothing of a trace without calls of its domain. None if the formula has no guard.
    """
    found: Mask | None = None
    for part in formula.operands if isinstance(formula, f.And) else (formula,):
        vacuous = _vacuous(part, over)
        if vacuous is None:
            return None
        found = vacuous if found is None else found & vacuous
    return found


def _vacuous(part: f.Formula, over: ColumnarEvaluation) -> Mask | None:
    match part:
        case f.Always(f.Implies(guard, _)):
            masks = [
                over.column(each).true
                for each in (guard.operands if isinstance(guard, f.And) else (guard,))
                if unsupported_because(each, over.subject.vocabulary) is None
            ]
            return ~over.segments.any(np.logical_and.reduce(masks)) if masks else None
        case f.ForAll(_, f.FromArgs(tool) | f.FromResults(tool), _) if not tool.free:
            return ~over.segments.any(over.subject.mask(Probe(tool)))
        case _:
            return None
