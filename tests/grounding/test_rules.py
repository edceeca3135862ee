"""Grounding as an ordinary rule: scored, explained, and enforced."""

from __future__ import annotations

from typing import Any

from bylaw import Call, Guard, Message, Procedure, Trace, explain, verify_trace
from bylaw.grounding import REFUSAL, Grounding, vocabulary
from bylaw.values import Json

GROUNDED = {
    "name": "grounded",
    "rule": "forall e in entities(answer): grounded(e)",
    "fix": "Name only what read_file returned.",
}
READ = Call("read_file", {"path": "src/retry.py"}, "def backoff_delay(attempt): ...\n")


def _procedure(*rules: dict[str, Any], **settings: Any) -> Procedure:
    return Procedure.from_dict({**settings, "constraints": list(rules)}, vocabulary=vocabulary)


# ── scoring ───────────────────────────────────────────────────────────────────────────────


def test_it_is_scored_with_other_rules() -> None:
    procedure = _procedure(GROUNDED, {"name": "read", "rule": "Called(read_file)"})
    report = verify_trace(Trace([READ], answer="It calls jitter_delay()."), procedure)
    assert (report.score, report.label) == (0.5, "PARTIAL")
    assert report.constraints[0].detail == (
        'With e = "jitter_delay()", `grounded(e)` is false at call #1.'
    )


def test_a_refusal_is_vacuous() -> None:
    (result,) = verify_trace(Trace([READ], answer=REFUSAL), _procedure(GROUNDED)).constraints
    assert result.outcome.value == "vacuous"


def test_an_empty_answer_is_a_violation_and_a_missing_one_is_vacuous() -> None:
    """An undefined value makes a domain empty; `Called(final_answer)` requires an answer."""
    outcomes = [
        verify_trace(Trace([READ], answer=answer), _procedure(GROUNDED)).constraints[0].outcome
        for answer in ("", None)
    ]
    assert [outcome.value for outcome in outcomes] == ["violated", "vacuous"]


def test_a_rule_may_ask_for_other_classes() -> None:
    procedure = Procedure.from_dict(
        {
            "constraints": [
                {
                    "name": "amounts",
                    "rule": 'forall e in entities(answer, "money", "date"): grounded(e)',
                }
            ]
        },
        vocabulary=Grounding(evidence_tools=("get_*",)).vocabulary(),
    )
    looked_up = Call("get_order", {"id": "W1"}, {"total": 54.5, "placed": "2024-05-03"})
    for answer, label in (
        ("You paid $54.50 on May 3.", "FULL"),
        ("You paid $45.50 on May 3.", "NONE"),
        ("You paid $54.50 on May 5.", "NONE"),
    ):
        assert verify_trace(Trace([looked_up], answer=answer), procedure).label == label


def test_an_unknown_class_leaves_the_rule_undecided() -> None:
    rule = {"name": "odd", "rule": 'forall e in entities(answer, "colour"): grounded(e)'}
    report = verify_trace(Trace([READ], answer="done"), _procedure(rule))
    assert report.score is None
    assert "unknown entity class 'colour'" in (report.reason or "")


def test_it_can_stand_inside_any_formula() -> None:
    rule = "Called(read_file) -> (forall e in entities(answer): grounded(e))"
    procedure = _procedure({"name": "if-read", "rule": rule})
    assert verify_trace(Trace([], answer="See made_up()."), procedure).label == "FULL"
    assert verify_trace(Trace([READ], answer="See made_up()."), procedure).label == "NONE"


def test_a_new_vocabulary_takes_further_functions() -> None:
    extended = Grounding().vocabulary()

    @extended.predicate
    def brief(trace: Trace, at: int, metrics: object, answer: str) -> bool:
        return len(answer) < 100

    procedure = Procedure.from_dict(
        {"constraints": [GROUNDED, {"name": "brief", "rule": "brief(answer)"}]},
        vocabulary=extended,
    )
    assert verify_trace(Trace([READ], answer="backoff_delay()"), procedure).score == 1.0


# ── explaining ────────────────────────────────────────────────────────────────────────────


def test_an_explanation_names_the_calls() -> None:
    trace = Trace([READ], answer="It calls jitter_delay().")
    why = explain(trace, _procedure(GROUNDED), "grounded")
    assert why.result.passed is False
    assert why.calls == (0,)


# ── enforcing ─────────────────────────────────────────────────────────────────────────────


def _answer(text: str) -> Call:
    return Call("final_answer", {"answer": text})


def test_a_gate_refuses_an_answer_that_is_not_grounded() -> None:
    guard = Guard(_procedure(GROUNDED, finish="met"))
    (decision,) = guard.propose([_answer("It is in src/retry.py.")])
    assert decision.action == "block"
    assert "Name only what read_file returned." in decision.message
    (read,) = guard.propose([Call("read_file", {"path": "src/retry.py"})])
    guard.record(read, READ.result)
    (decision,) = guard.propose([_answer("It is in src/retry.py.")])
    assert decision.action == "allow"
    assert guard.finish().score == 1.0


def test_a_gate_lets_a_refusal_pass() -> None:
    guard = Guard(_procedure(GROUNDED, finish="met"))
    assert guard.propose([_answer(REFUSAL)])[0].action == "allow"


def test_a_gate_warns_once_and_an_agent_may_insist() -> None:
    guard = Guard(_procedure({**GROUNDED, "severity": "BLOCK_AND_WARN"}, finish="met"))
    assert guard.propose([_answer("See made_up().")])[0].action == "warn"
    (decision,) = guard.propose([_answer("See made_up().")])
    assert decision.overridden == ("grounded",)
    assert guard.finish().score == 0.0


# ── places ────────────────────────────────────────────────────────────────────────────────

PLACED = {
    "name": "placed",
    "rule": "forall c in citations(answer): defined_in(c.symbol, c.file)",
}


def test_the_place_of_a_symbol_is_a_rule_of_its_own() -> None:
    calls = [READ, Call("read_file", {"path": "src/client.py"}, "from retry import backoff_delay")]
    right = Trace(calls, answer="`backoff_delay` is defined in `src/retry.py`.")
    wrong = Trace(calls, answer="`backoff_delay` is defined in `src/client.py`.")
    procedure = _procedure(GROUNDED, PLACED)
    assert verify_trace(right, procedure).score == 1.0
    report = verify_trace(wrong, procedure)
    assert [result.name for result in report.violated] == ["placed"]


def test_a_value_can_be_asked_for_by_hand() -> None:
    rule = {"name": "amount", "rule": "G(refund -> grounded(args.amount))"}
    calls = [Call("read_file", {"path": "order.json"}, '{"paid": 25.0}')]
    for amount, label in ((25, "FULL"), (250, "NONE")):
        trace = Trace([*calls, Call("refund", {"amount": amount})])
        assert verify_trace(trace, _procedure(rule)).label == label


# ── arguments ─────────────────────────────────────────────────────────────────────────────

SOURCED = {
    "name": "sourced",
    "rule": "G(refund -> sourced(args.order_id, step))",
    "events": "all",
}


def _refunds(*events: Call | Message, order: str | int = "W1234567") -> bool:
    """Is the order number of a refund, made after these events, one that was given?"""
    trace = Trace([*events, Call("refund", {"order_id": order})])
    verdicts = {
        verify_trace(trace, _procedure({**SOURCED, "events": each})).label
        for each in ("all", "calls")
    }
    (label,) = verdicts  # the same, whatever counts as a position
    return label == "FULL"


def test_an_id_may_come_from_the_prompt() -> None:
    assert _refunds(Message("user", "Refund order #W1234567, please."))
    assert _refunds(Message("system", "Today's order is w1234567."))
    assert not _refunds(Message("user", "Refund order #W12345678, please."))
    assert not _refunds(Message("assistant", "I refund W1234567."))


def test_an_id_may_come_from_an_earlier_result() -> None:
    profile = Call("get_user", {"name": "ada"}, {"orders": [{"id": "W1234567"}]})
    assert _refunds(profile)
    assert _refunds(Call("get_user", {"name": "ada"}, {"orders": {"W1234567": {"paid": 5}}}))
    assert _refunds(Call("get_user", {"name": "ada"}, "orders: W1234567, W7654321"))
    assert not _refunds(Call("get_user", {"name": "ada"}, {"orders": []}))


def test_an_echo_is_no_source() -> None:
    searched = Call("find_order", {"id": "W1234567"}, "nothing found for W1234567")
    assert not _refunds(searched)
    assert _refunds(Message("user", "It is W1234567."), searched)


def test_an_echo_in_another_spelling_is_no_source() -> None:
    spellings: list[tuple[Json, str, str | int]] = [
        ("#W999", "nothing found for #W999", "W999"),
        ("W999", "nothing found for #W999", "#W999"),
        ("order W999", "nothing found for: order W999", "W999"),
        (["order W999"], "nothing found for: order W999", "w999"),
        (999, "nothing found for 999", "999"),
        ("999", "nothing found for 999", 999),
        ("#999", "nothing found for 999", 999),
        ("order 999", "nothing found for 999", 999),
        (1200, "nothing found for 1,200", "1,200"),
        ("May 3, 2024", "nothing on 2024-05-03", "2024-05-03"),
    ]
    for asked, said, order in spellings:
        assert not _refunds(Call("find_order", {"id": asked}, said), order=order), asked


def test_a_value_similar_to_an_argument_is_not_an_echo() -> None:
    pairs: list[tuple[Json, str | int]] = [
        ("W9", "W999"),
        ("W999-B", "W9"),
        (True, 1),
        (None, "999"),
        ("C", "C#"),
    ]
    for asked, order in pairs:
        found = Call("find_order", {"id": asked}, f"found: {order}")
        assert _refunds(found, order=order), asked


def test_digits_that_are_no_number_do_not_keep_others_from_being_found() -> None:
    for digits in ("1e4567890", "1e99999999999999999999", "-1e-99999999999999999999"):
        assert _refunds(Message("user", f"Commit {digits}, order 17."), order=17)
        assert not _refunds(Message("user", f"Commit {digits}, order 17."), order=1)


def test_a_failed_call_is_no_source() -> None:
    assert not _refunds(Call("get_user", {"name": "ada"}, "W1234567?", error="no such user"))


def test_siblings_of_a_turn_do_not_see_each_other() -> None:
    calls = [
        Call("get_user", {"name": "ada"}, {"orders": ["W1"]}, step=0),
        Call("refund", {"order_id": "W1"}, step=0),
    ]
    assert verify_trace(Trace(calls), _procedure(SOURCED)).label == "NONE"


def test_a_gate_refuses_unsourced_arguments_by_a_rule_about_the_past() -> None:
    """An open predicate is never final for a gate; what the language itself says is."""
    said = "earlier ((says(user) | call(ok)) & text contains i)"
    rule = {"name": "known", "rule": f"G(refund -> let i = args.order_id: {said})", "events": "all"}
    guard = Guard(_procedure(rule))
    guard.say("user", "Refund W17, please.")
    wrong, right = guard.propose([Call("refund", {"order_id": order}) for order in ("W18", "W17")])
    assert [wrong.action, right.action] == ["block", "allow"]


def test_numbers_dates_and_lists_may_have_another_form() -> None:
    rule = {"name": "sourced", "rule": "G(book -> let v = args.v: sourced(v, step))"}
    said = Message("user", "Two bags for 1,200 dollars on May 3, 2024, seats 12A and 14C.")
    for value, expected in (
        (1200, True),
        (1200.0, True),
        (120, False),
        ("2024-05-03", True),
        ("2024-05-04", False),
        (["12A", "14C"], True),
        (["12A", "15C"], False),
        ({"seat": "14C", "window": True, "note": None}, True),
    ):
        report = verify_trace(Trace([said, Call("book", {"v": value})]), _procedure(rule))
        assert (report.label == "FULL") is expected, value
