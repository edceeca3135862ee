"""A decision belongs to its guard, and is used once."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from one_rule import procedure as _procedure
from one_rule import small_payments as _guard

from bylaw import Call, Guard, UsageError
from bylaw.enforcement.decision import Decision


def _pickled(decision: Decision) -> Decision:
    return pickle.loads(pickle.dumps(decision))  # type: ignore[no-any-return]  # a decision


FORGED: dict[str, Callable[[Guard, Decision], Any]] = {
    "a copy": lambda _, decision: copy.copy(decision),
    "another call": lambda _, decision: replace(decision, call=Call("verify")),
    "one that was sent": lambda _, decision: _pickled(decision),
    "one of another guard": lambda _, __: _guard().propose([Call("pay", {"amount": 5})])[0],
    "one that was made up": lambda _, __: Decision(Call("verify"), "allow", 0, 0, position=0),
    "one that was refused": lambda guard, _: guard.propose([Call("pay", {"amount": 50})])[0],
    "a word": lambda _, __: "allow",
    "nothing": lambda _, __: None,
}


@pytest.mark.parametrize("what", ["record", "abandon", "approve"])
@pytest.mark.parametrize("forgery", FORGED)
def test_a_guard_takes_only_its_own_decisions(forgery: str, what: str) -> None:
    guard = _guard()
    (decision,) = guard.propose([Call("pay", {"amount": 5})])
    forged = FORGED[forgery](guard, decision)
    before = guard.save()
    with pytest.raises(UsageError):
        guard.record(forged, "done") if what == "record" else getattr(guard, what)(forged)
    assert guard.save() == before
    guard.record(decision, "done")


def test_a_result_is_recorded_once() -> None:
    guard = _guard("G(refund -> O call(pay, failed))")
    (decision,) = guard.propose([Call("pay")])
    assert guard.awaiting == [decision]
    guard.record(decision, "done")
    assert guard.awaiting == []
    with pytest.raises(UsageError, match="does not wait for a result here"):
        guard.record(decision, None, error="no")
    with pytest.raises(UsageError, match="does not wait for a result here"):
        guard.abandon(decision)
    assert guard.propose([Call("refund")])[0].action == "block"


def test_an_approval_is_for_one_decision_once() -> None:
    guard = Guard(_procedure("G !pay", "ASK"))
    (decision,) = guard.propose([Call("pay", {"amount": 5})])
    assert guard.asked == [decision]
    decision.call.args["amount"] = 500  # type: ignore[index]  # the attack
    guard.approve(decision)
    assert guard.asked == []
    with pytest.raises(UsageError, match="does not wait for approval here"):
        guard.approve(decision)
    assert guard.propose([Call("pay", {"amount": 500})])[0].action == "ask"
    assert guard.propose([Call("pay", {"amount": 5})])[0].action == "allow"


def test_decisions_that_wait_are_saved_with_the_run() -> None:
    procedure = _procedure("G(pay -> O call(lookup, ok))", "ASK")
    guard = Guard(procedure)
    guard.propose([Call("lookup", {"id": 1}, id="call-1", agent="clerk")])
    (asked,) = guard.propose([Call("wire", {"amount": 5})]) and guard.propose([Call("pay")])
    saved = json.loads(json.dumps(guard.save()))
    restored = Guard(procedure)
    restored.restore(saved)
    looked, wired = restored.awaiting
    assert (looked.call.tool, looked.call.args, looked.call.agent) == ("lookup", {"id": 1}, "clerk")
    assert wired.position == 1
    assert [each.message for each in restored.asked] == [asked.message] * (asked.action == "ask")
    restored.record(looked, "found")
    assert restored.propose([Call("pay")])[0].action == "allow"
    with pytest.raises(UsageError):
        guard.record(looked, "found")
