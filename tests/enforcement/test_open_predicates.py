"""Registered predicates at a gate: the calls that they refuse, and the events that they see."""

from __future__ import annotations

from typing import Any

import pytest

from bylaw import Call, Guard, Message, Procedure, Trace, Vocabulary, verify_trace


def _vocabulary(*, final: bool) -> Vocabulary:
    vocabulary = Vocabulary()

    def known(trace: Trace, at: int, metrics: Any, value: Any, step: int) -> bool:
        """The value was said, or returned, before this step."""
        for event in trace.events:
            if (event.step or 0) < step:
                text = event.text if isinstance(event, Message) else str(event.result)
                if str(value) in text:
                    return True
        return False

    vocabulary.predicate(false_is_final=final)(known)
    return vocabulary


def _guard(rule: str = "G(pay -> known(args.to, step))", *, final: bool = True) -> Guard:
    constraints = [{"name": "known-payee", "rule": rule}]
    vocabulary = _vocabulary(final=final)
    return Guard(Procedure.from_dict({"constraints": constraints}, vocabulary=vocabulary))


def _actions(guard: Guard, *calls: Call) -> list[str]:
    return [decision.action for decision in guard.propose(calls)]


PAY = Call("pay", {"to": "acme"})


def test_a_predicate_whose_false_is_final_refuses() -> None:
    assert _actions(_guard(), PAY) == ["block"]


def test_a_predicate_whose_false_is_not_final_never_refuses() -> None:
    guard = _guard(final=False)
    assert _actions(guard, PAY) == ["allow"]
    assert guard.finish().score == 0.0


def test_predicates_see_messages_although_the_rule_sees_calls_only() -> None:
    guard = _guard()
    guard.say("user", "Pay acme.")
    assert _actions(guard, PAY) == ["allow"]
    report = guard.finish()
    trace = Trace([Message("user", "Pay acme.", 0), Call("pay", {"to": "acme"}, step=1)])
    assert report.score == verify_trace(trace, guard.procedure).score == 1.0


def test_an_outstanding_result_is_waited_for() -> None:
    guard = _guard()
    (looked,) = guard.propose([Call("look")])
    (decision,) = guard.propose([PAY])
    assert [violation.kind for violation in decision.violations] == ["early"]
    guard.record(looked, "acme")
    assert _actions(guard, PAY) == ["allow"]
    assert guard.finish().score == 1.0


def test_a_known_result_counts() -> None:
    guard = _guard()
    (looked,) = guard.propose([Call("look")])
    guard.record(looked, "acme, Main Street")
    assert _actions(guard, Call("pay", {"to": "other"})) == ["block"]
    assert _actions(guard, PAY) == ["allow"]


def test_a_saved_run_keeps_messages() -> None:
    guard = _guard()
    guard.say("user", "Pay acme.")
    guard.propose([Call("look")])
    saved = guard.save()
    restored = _guard()
    restored.restore(saved)
    (look,) = restored.awaiting
    restored.record(look, "nothing")
    assert _actions(restored, Call("pay", {"to": "other"})) == ["block"]
    assert _actions(restored, PAY) == ["allow"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("G(pay -> (known(args.to, step) & O verify))", "block"),
        ("G(pay -> (known(args.to, step) | O verify))", "allow"),
        ("G(pay -> !known(args.to, step))", "allow"),
        ("F(pay & known(args.to, step))", "allow"),
    ],
)
def test_only_doomed_rules_refuse(rule: str, expected: str) -> None:
    guard = _guard(rule)
    guard.say("user", "Pay acme.")
    if "|" in rule:
        guard.propose([Call("verify")])
    assert _actions(guard, PAY) == [expected]
