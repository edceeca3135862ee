"""The definitions of the paper's appendix, transcribed with `any` and `all`, truth values only.

Written apart from `bylaw.semantics.reference`, and as slowly as the definitions read, to be
compared with it.
"""

from __future__ import annotations

from bylaw import Trace
from bylaw.logic import formula as f
from bylaw.logic.walk import sees_answer, substitute
from bylaw.vocabulary.domains import elements
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Order, View


def textbook(formula: f.Formula, trace: Trace, order: Order = "position") -> bool:
    """Does the trace satisfy the formula?"""
    view = View(trace, trace.seen("calls", sees_answer(formula)), order)
    return _at(formula, view, 0)


def _at(formula: f.Formula, view: View, i: int) -> bool:
    n = len(view)

    def at(part: f.Formula, j: int) -> bool:
        return _at(part, view, j)

    match formula:
        case f.Truth(truth):
            return truth
        case f.Event(tool, patterns):
            return i < n and view.matches(i, tool, patterns) is True
        case f.TracePredicate(name, operands):
            return PREDICATES[name].judge(view, operands) is True
        case f.Not(a):
            return not at(a, i)
        case f.And(parts):
            return all(at(part, i) for part in parts)
        case f.Or(parts):
            return any(at(part, i) for part in parts)
        case f.Implies(a, b):
            return not at(a, i) or at(b, i)
        case f.Iff(a, b):
            return at(a, i) == at(b, i)
        case f.Next(a):
            return i + 1 < n and at(a, i + 1)
        case f.WeakNext(a):
            return i + 1 >= n or at(a, i + 1)
        case f.Eventually(a):
            return any(at(a, j) for j in range(i, n))
        case f.Always(a):
            return all(at(a, j) for j in range(i, n))
        case f.Until(a, b):
            return any(at(b, j) and all(at(a, k) for k in range(i, j)) for j in range(i, n))
        case f.WeakUntil(a, b):
            until = any(at(b, j) and all(at(a, k) for k in range(i, j)) for j in range(i, n))
            return until or all(at(a, j) for j in range(i, n))
        case f.Release(a, b):
            return all(at(b, j) or any(at(a, k) for k in range(i, j)) for j in range(i, n))
        case f.Yesterday(a):
            return 0 < i < n and at(a, i - 1)
        case f.Once(a):
            return any(at(a, j) for j in range(min(i + 1, n)))
        case f.Historically(a):
            return all(at(a, j) for j in range(min(i + 1, n)))
        case f.Since(a, b):
            return any(
                at(b, j) and all(at(a, k) for k in range(j + 1, i + 1))
                for j in range(min(i + 1, n))
            )
        case f.ForAll(x, domain, body):
            return all(at(substitute(body, x, v), i) for v in elements(domain, view).values)
        case f.Exists(x, domain, body):
            return any(at(substitute(body, x, v), i) for v in elements(domain, view).values)
        case f.OpenPredicate():
            raise AssertionError("not generated")
