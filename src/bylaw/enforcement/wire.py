"""Calls, decisions and reports as JSON on the wire, and back."""

from __future__ import annotations

from typing import Any, Final, get_args

from bylaw.enforcement.decision import Action, Decision, Violation, ViolationKind
from bylaw.logic.formula import Truth
from bylaw.procedure.procedure import SEVERITIES, Constraint
from bylaw.saved import (
    Damaged,
    choice,
    fields,
    flag,
    listed,
    number,
    optional_text,
    table,
    text,
    whole,
)
from bylaw.trace.event import Call
from bylaw.values import Json

CALL_FIELDS: Final = ("tool", "arguments", "id", "agent")
"""The fields of a proposed call."""


def call_to_json(call: Call) -> dict[str, Json]:
    """A call as it is proposed."""
    told = {"id": call.id, "agent": call.agent}
    known = {name: value for name, value in told.items() if value is not None}
    return {"tool": call.tool, "arguments": dict(call.args), **known}


def call_of(given: Json) -> Call:
    """A call that was proposed. Damaged is raised for anything else."""
    parts = table(given)
    if unknown := [name for name in parts if name not in CALL_FIELDS]:
        raise Damaged(f"a call has no field '{unknown[0]}'")
    arguments = table(parts.get("arguments", {}))
    id, agent = optional_text(parts.get("id")), optional_text(parts.get("agent"))
    return Call(text(parts.get("tool")), arguments, id=id, agent=agent)


def decision_to_json(decision: Decision) -> dict[str, Json]:
    """A decision as its receiver needs it."""
    call = decision.call
    return {
        "id": decision.id,
        "action": decision.action,
        "turn": decision.turn,
        "index": decision.index,
        "call": {**call_to_json(call), "step": call.step, "start": call.start},
        "violations": [violation.to_dict() for violation in decision.violations],
        "overridden": list(decision.overridden),
        "approved": list(decision.approved),
        "named": list(decision.named),
        "message": decision.message,
        "position": decision.position,
        "decided": decision.decided,
        "problem": decision.problem,
    }


def decision_of(given: Json) -> Decision:
    """A decision that `decision_to_json` wrote. Damaged is raised for anything else.

    The rules in it have their names and severities; their formulas stay with the gate.
    """
    (id, action, turn, index, call, violations, overridden, approved, named) = fields(
        given,
        *("id", "action", "turn", "index", "call", "violations", "overridden", "approved", "named"),
        *("message", "position", "decided", "problem"),
    )[:9]
    rest = table(given)
    position = rest["position"]
    return Decision(
        _decided_call(call),
        choice(action, get_args(Action)),
        whole(turn),
        whole(index),
        tuple(_violation_of(each) for each in listed(violations)),
        tuple(map(text, listed(overridden))),
        text(rest["message"]),
        tuple(map(text, listed(named))),
        None if position is None else whole(position),
        flag(rest["decided"]),
        text(rest["problem"]),
        text(id),
        tuple(map(text, listed(approved))),
    )


def _decided_call(given: Json) -> Call:
    parts = dict(table(given))
    step, start = parts.pop("step", None), parts.pop("start", None)
    call = call_of(parts)
    return Call(
        call.tool,
        call.args,
        step=None if step is None else whole(step),
        id=call.id,
        start=None if start is None else number(start),
        agent=call.agent,
    )


def _violation_of(given: Json) -> Violation:
    name, layer, severity, kind, reason = fields(
        given, "constraint", "layer", "severity", "kind", "reason"
    )
    severe: Any = choice(severity, SEVERITIES)
    rule = Constraint(text(name), Truth(True), layer=optional_text(layer), severity=severe)
    return Violation(rule, severe, choice(kind, get_args(ViolationKind)), text(reason))
