"""Certificates of refusals: that a call breaks a rule, whatever follows.

A refusal says that a rule would be doomed: violated in every continuation. Rows of one trace show
that for a rule whose violations last: it says that something holds at every event, and reads at
each only what came before. Then the rows of what ran and the proposed call, on which the rule is
violated, prove the refusal. Other rules, and refusals for several rules together, have no such
certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bylaw.certificates.truth_tables import truth_tables
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import everything
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.semantics.reference import reading
from bylaw.semantics.scope import EvaluationScope
from bylaw.syntax.json_writer import to_json
from bylaw.trace.event import Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.view import View

_AHEAD = (
    *(f.Next, f.WeakNext, f.Eventually, f.Always, f.Until, f.WeakUntil, f.Release, f.Later),
    *(f.EventuallyWithin, f.LaterWithin, f.TracePredicate, f.OpenPredicate, f.Extracted),
    *(f.FromArgs, f.FromResults, f.FromMetrics, t.Answer),
)
"""Parts whose value at an event may depend on what follows it."""


def refusal_certificates(
    procedure: Procedure, ran: Trace, call: Call, constraints: Iterable[Constraint]
) -> list[Json]:
    """The certificates of these rules, as far as they have one. `ran` is what ran before."""
    if procedure.failed is not None:
        return []  # calls that fail by a test of the procedure's own are not certified here
    found = (_certificate(procedure, ran, call, each) for each in constraints)
    return [each for each in found if each is not None]


def violations_last(formula: f.Formula) -> bool:
    """Is the rule, once violated by what happened so far, violated whatever follows?"""
    match formula:
        case _ if not _looks_ahead(formula):
            return True
        case f.Always(operand) | f.WeakNext(operand):
            return violations_last(operand)
        case f.WeakUntil(left, right) | f.Release(left, right):
            return violations_last(left) and violations_last(right)
        case f.And(operands) | f.Or(operands):
            return all(map(violations_last, operands))
        case f.Implies(left, right):
            return not _looks_ahead(left) and violations_last(right)
        case f.ForAll(_, source, body) | f.Exists(_, source, body) | f.Let(_, source, body):
            return not _looks_ahead(source) and violations_last(body)
        case f.TracePredicate("CalledN", (_, f.Count(symbol, _))):
            return symbol in ("<", "<=")
        case _:
            return False


def _looks_ahead(node: Node) -> bool:
    return any(isinstance(part, _AHEAD) for part in everything(node))


def _certificate(
    procedure: Procedure, ran: Trace, call: Call, constraint: Constraint
) -> Json | None:
    if not violations_last(constraint.formula):
        return None
    everything_seen = procedure.events_of(constraint) == "all"
    before = [each for each in ran.events if everything_seen or isinstance(each, Call)]
    after = _scope(procedure, ran, [*before, call])
    if not _holds(constraint.formula, _scope(procedure, ran, before)):
        return None  # it was broken before, and the gate excused that
    if _holds(constraint.formula, after):
        return None
    return {
        "name": constraint.name,
        "formula": to_json(constraint.formula)["formula"],
        "tables": truth_tables(constraint.formula, after),
    }


def _scope(procedure: Procedure, ran: Trace, events: Sequence[Event]) -> EvaluationScope:
    return EvaluationScope(View(ran, events, procedure.order))


def _holds(formula: f.Formula, scope: EvaluationScope) -> bool:
    return bool(reading(formula)(scope, 1)[0] & 1)
