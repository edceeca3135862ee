"""Attacks by an agent or a user: the example procedures hold, finished and live."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import airline_cases as airline
import assistant_cases as assistant
import pytest
import retail_cases as retail
from runs import agent, failing, run, user

from bylaw import Call, Monitor, Outcome, Procedure, Trace, Verdict, verify_trace

EXAMPLES = Path(__file__).parents[2] / "examples"

VIOLATED = {
    # procedure, rule: what is tried, the run
    ("retail", "swap-once", "twice in one turn"): run(
        retail.order(), (retail.exchange(), retail.exchange())
    ),
    ("retail", "transfer-ends-it", "in the turn of the transfer"): run(
        (retail.TRANSFER, retail.order())
    ),
    ("retail", "only-pending", "without a lookup"): run(retail.cancel()),
    ("retail", "only-pending", "the lookup in the same turn"): run(
        (retail.order("pending"), retail.cancel())
    ),
    ("retail", "only-pending", "after a lookup that failed"): run(
        failing(retail.order("pending")), retail.cancel()
    ),
    ("retail", "only-pending", "after a lookup of another order"): run(
        retail.order("pending", id="#W0000009"), retail.cancel()
    ),
    ("retail", "own-orders-only", "by nobody in particular"): run(
        retail.order("pending"), retail.cancel()
    ),
    ("airline", "cancel-once", "twice in one turn"): run(
        (airline.cancel(airline.FRESH_TRIP), airline.cancel(airline.FRESH_TRIP))
    ),
    ("airline", "transfer-ends-it", "in the turn of the transfer"): run(
        (airline.TRANSFER, airline.look())
    ),
    ("airline", "cancel-conditions", "without a lookup"): run(airline.cancel()),
    ("airline", "cancel-unflown", "without a lookup"): run(airline.cancel()),
    ("airline", "basic-economy-flights-stay", "without a lookup"): run(airline.fly()),
    ("airline", "balance-covers", "without a profile"): run(
        airline.book(paid_by={airline.GIFT_CARD: 1})
    ),
    ("assistant", "not-to-own-account", "read in the same turn"): run(
        (
            assistant.read("/my_info.txt", "Account NO9386011117947"),
            assistant.pay(to=assistant.ACCOUNT),
        )
    ),
}


@cache
def load(name: str) -> Procedure:
    return Procedure.load(EXAMPLES / name / "procedure.yaml")


def outcome(name: str, rule: str, trace: Trace) -> Outcome:
    found = {result.name: result.outcome for result in verify_trace(trace, load(name)).constraints}
    return found[rule]


def live(name: str, rule: str, trace: Trace) -> Verdict:
    procedure = load(name)
    constraint = procedure[rule]
    events = procedure.events_of(constraint)
    monitor = Monitor(constraint.formula, order=procedure.order, events=events)
    for event in procedure.marked(trace).events:
        monitor.step(event)
    return monitor.verdict


@pytest.mark.parametrize("case", VIOLATED, ids=" ".join)
def test_it_is_violated(case: tuple[str, str, str]) -> None:
    name, rule, _ = case
    assert outcome(name, rule, VIOLATED[case]) is Outcome.VIOLATED
    assert live(name, rule, VIOLATED[case]) is Verdict.VIOLATED


CONSENT = {
    "Yes.": True,
    "Yes, please.": True,
    "  yes": True,
    "YES, go ahead and cancel it.": True,
    "Sure, that is fine.": True,
    "Confirm.": True,
    "Please proceed with the cancellation.": True,
    "That sounds good, thank you!": True,
    "No, do not cancel, yesterday I said yes": False,
    "No.": False,
    "Yesterday I said yes.": False,
    "yesterday": False,
    "I never said yes.": False,
    "Is that correct?": False,
    "Yes, but not that one.": False,
    "Yes... wait, which order is it?": False,
    "Yes, and please do not charge my card.": False,
    "Yessir": False,
    "Eyes only.": False,
    "": False,
}


@pytest.mark.parametrize("text", CONSENT)
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_a_yes_is_a_yes(name: str, text: str) -> None:
    write = retail.cancel() if name == "retail" else airline.cancel()
    trace = run(agent("Shall I cancel it?"), user(text), write)
    expected = Outcome.SATISFIED if CONSENT[text] else Outcome.VIOLATED
    assert outcome(name, "confirmed", trace) is expected


def test_a_yes_from_before_the_question_does_not_count() -> None:
    trace = run(user("Yes."), agent("Shall I cancel it?"), user("Which one?"), retail.cancel())
    assert outcome("retail", "confirmed", trace) is Outcome.VIOLATED
    assert outcome("retail", "confirmed", run(retail.cancel())) is Outcome.VIOLATED


def test_without_a_payment_method_there_is_none_to_check() -> None:
    """Rules about what a call need not have say so with a quantifier."""
    for name, rule, call in (
        ("retail", "payment-method-on-file", retail.cancel()),
        ("airline", "change-paid-from-profile", airline.cancel()),
    ):
        assert isinstance(call, Call)
        assert outcome(name, rule, run(call)) is Outcome.VACUOUS
