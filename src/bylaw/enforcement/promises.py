"""Promises: a severity that a procedure states, and that the gate must be able to keep.

The search for rules that break a promise imports much and may take long. Its outcome belongs to the
procedure, so it is found once, and can be kept with a procedure that was checked before.
"""

from __future__ import annotations

from typing import Final

from bylaw.enforcement.severity import Setting
from bylaw.errors import Diagnostic, SpecError
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.semantics.engine import heard_role
from bylaw.semantics.machine.conditions import reads_result
from bylaw.semantics.past.compiled import past_bodies, triggers
from bylaw.trace.event import ROLES

_BEFORE: Final = (f.Earlier, f.EarlierWithin, f.Yesterday, t.Last)
"""Nodes that read events before the current one."""


def check_promises(procedure: Procedure, setting: Setting) -> None:
    """Raises a SpecError if a stated severity acts and cannot be kept."""
    if setting == "as-written" and (problems := procedure.derived(broken_promises)):
        raise SpecError(problems)


def broken_promises(procedure: Procedure) -> tuple[Diagnostic, ...]:
    """The stated severities that cannot be kept, each with remedies."""
    doubtful = [
        number
        for number, rule in enumerate(procedure.constraints)
        if rule.severity is not None and not _surely_kept(rule, procedure)
    ]
    if not doubtful:
        return ()
    from bylaw.enforcement.coverage import find_broken  # slow to import

    return tuple(find_broken(procedure, doubtful))


def _surely_kept(rule: Constraint, procedure: Procedure) -> bool:
    """Can every violation be refused, whatever it may be? Then no violation need be found.

    So it is if the rule judges each call by its arguments and by what came before it.
    """
    if rule.severity == "TOLERATE":
        return True
    bodies = past_bodies(rule.formula)
    if bodies is None or rule.across is not None or any(map(_reads_own, bodies)):
        return False
    return procedure.events_of(rule) == "calls" or all(map(_judges_calls, bodies))


def _judges_calls(body: f.Formula) -> bool:
    """Can the body be false only at calls, and at no message?"""
    heard = triggers(body)
    return heard is not None and not any(heard_role(role) in heard for role in ROLES)


def _reads_own(formula: f.Formula) -> bool:
    """Does the formula read the result of the event that it judges?"""
    pending: list[Node] = [formula]
    while pending:
        node = pending.pop()
        if isinstance(node, _BEFORE):
            continue
        if not node.parts() and reads_result(node):
            return True
        if isinstance(node, f.ResultIs):
            return True
        pending += node.parts()
    return False
