"""Withdrawing an answer that was allowed: the run continues as if it had not been given."""

from __future__ import annotations

import json

import pytest

from bylaw import BylawError, Call, Guard, Procedure

RULES = [
    {"name": "looked", "rule": "G(final_answer -> O lookup)", "severity": "BLOCK_AND_WARN"},
    {"name": "once", "rule": "CalledN(pay, <= 1)"},
]
ANSWER = Call("final_answer", {"answer": "done"})


def _guard() -> Guard:
    return Guard(Procedure.from_dict({"constraints": RULES}))


def _actions(guard: Guard, *calls: Call) -> list[str]:
    return [decision.action for decision in guard.propose(calls)]


def test_the_run_continues_and_is_scored_without_the_answer() -> None:
    guard = _guard()
    assert _actions(guard, Call("lookup")) == ["allow"]
    assert _actions(guard, ANSWER) == ["allow"]
    guard.withdraw()
    assert not guard.finished
    assert _actions(guard, Call("pay"), Call("pay")) == ["allow", "block"]
    assert _actions(guard, ANSWER) == ["allow"]
    assert guard.finish().score == 1.0


def test_a_rule_that_was_overridden_by_the_answer_is_enforced_again() -> None:
    guard = _guard()
    assert _actions(guard, ANSWER) == ["warn"]
    (decision,) = guard.propose([ANSWER])
    assert decision.overridden == ("looked",)
    guard.withdraw()
    assert _actions(guard, Call("pay")) == ["allow"]
    assert _actions(guard, ANSWER) == ["warn"]


def test_a_withdrawn_answer_has_no_result() -> None:
    guard = _guard()
    guard.propose([Call("lookup")])
    (answered,) = guard.propose([ANSWER])
    guard.withdraw()
    (paid,) = guard.propose([Call("pay")])
    with pytest.raises(BylawError, match="does not wait for a result"):
        guard.record(answered, "rejected")
    guard.record(paid, "paid")
    assert guard.finish().score == 1.0


VERIFIED = {"name": "verified", "rule": "G((refund | final_answer) -> O call(verify, ok))"}


@pytest.mark.parametrize("error", [None, "LookupError: no"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_events_after_the_answer_are_not_withdrawn_with_it(
    error: str | None, elsewhere: bool
) -> None:
    """Calls of the same turn get their results later, and the run may be saved in between."""
    procedure = Procedure.from_dict({"finish": "free", "constraints": [VERIFIED]})
    guard = Guard(procedure, outstanding="hope")
    verify, _ = guard.propose([Call("verify"), ANSWER])
    guard.record(verify, None if error else "ok", error=error)
    guard.say("user", "Go on.")
    if elsewhere:
        saved = json.loads(json.dumps(guard.save()))
        guard = Guard(procedure, outstanding="hope")
        guard.restore(saved)
    guard.withdraw()
    assert _actions(guard, Call("refund")) == ["block" if error else "allow"]
    assert guard.finish().score == 1.0


def test_a_restored_run_has_no_answer_of_another_run() -> None:
    guard = _guard()
    start = guard.save()
    guard.propose([Call("lookup"), ANSWER])
    guard.restore(start)
    with pytest.raises(BylawError, match="no answer to withdraw"):
        guard.withdraw()


def test_there_must_be_an_answer_to_withdraw() -> None:
    guard = _guard()
    with pytest.raises(BylawError, match="no answer to withdraw"):
        guard.withdraw()
    guard.finish("done")
    with pytest.raises(BylawError, match="no answer to withdraw"):
        guard.withdraw()
