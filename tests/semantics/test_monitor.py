"""A monitor is the reference, call by call, and knows what is final as soon as it is."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notation import Row, all_rows
from random_cases import cases
from strategies import formulas, quantified, traces

from bylaw import Call, Trace, holds, parse
from bylaw.logic.formula import Formula
from bylaw.logic.walk import sees_answer
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.monitor import Monitor
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.trace import Events
from bylaw.vocabulary.view import Order

ORDERS = st.sampled_from(["position", "step"])


def _events(formula: Formula, subject: Trace, events: Events = "calls") -> tuple[Any, ...]:
    return subject.seen(events, sees_answer(formula))


def _all_events(subject: Trace, events: Events) -> tuple[Any, ...]:
    """The events of an agent's run, answer included: a monitor knows whether to look at it."""
    return subject.seen(events, answer=True)


@pytest.mark.parametrize("row", list(all_rows()), ids=lambda row: row.place)
def test_truth_tables(row: Row) -> None:
    formula, subject = parse(row.formula), row.subject()
    order: Any = row.order
    events: Any = row.events
    monitor = Monitor(formula, order=order, events=events, labels=subject.labels)
    for event in _all_events(subject, events):
        monitor.step(event)
    assert monitor.verdict.holds_now is (row.value != "no")


@cases(300)
@given(formulas(), traces(), ORDERS)
def test_run_to_the_end_it_is_the_reference(formula: Formula, subject: Trace, order: Order) -> None:
    monitor = Monitor(formula, order=order, metrics=subject.metrics)
    for event in _events(formula, subject):
        monitor.step(event)
    assert monitor.verdict.holds_now is holds(formula, subject, order=order)


@cases(300)
@given(quantified(), traces(max_size=10), ORDERS)
def test_quantifiers_are_followed_by_their_instances(
    formula: Formula, subject: Trace, order: Order
) -> None:
    """On every prefix, what is final is so; at the end, the monitor is the reference."""
    monitor = Monitor(formula, order=order)
    events = _events(formula, subject)
    final: Verdict | None = None
    for event in events:
        monitor.step(event)
        assert final in (None, monitor.verdict)
        final = monitor.verdict if monitor.verdict.final else None
    assert monitor.verdict.holds_now is holds(formula, subject, order=order)


def test_instances_are_followed_without_the_trace() -> None:
    """Ten thousand files are opened and closed; the monitor keeps values, not events."""
    rule = 'forall x in args(open, "f"): G(call(open, f = x) -> F call(close, f = x))'
    monitor = Monitor(parse(rule))
    for number in range(2_000):
        monitor.step(Call("open", {"f": number}))
        assert not monitor.verdict.holds_now
        monitor.step(Call("close", {"f": number}))
        assert monitor.verdict.holds_now
    engine = monitor._engine
    assert isinstance(engine, Slices)
    assert len(engine.groups) <= 2
    assert not engine.queue


def test_a_recorded_result_replaces_the_unknown_one() -> None:
    monitor = Monitor(parse("F call(a, result.i = 1)"))
    monitor.step(Call("a"))
    assert not monitor.verdict.holds_now
    monitor.record(0, {"i": 1})
    assert monitor.verdict.holds_now


MANY_UNKNOWN = [
    "G(call(a, ok) -> F call(b, ok))",
    "CalledN(a, <= 30) & G !call(a, failed)",
    "call(a, result = 1) U call(b, ok)",
    'G(call(a, result.i = 1) -> X call(b, result = {"i": 1}))',
]


@pytest.mark.parametrize("rule", MANY_UNKNOWN)
@pytest.mark.parametrize("seed", range(10))
def test_any_number_of_results_may_be_unknown_at_once(rule: str, seed: int) -> None:
    """Fourteen at once are more than are told apart; nothing final is said too early."""
    random = Random(seed)
    outcomes = [(1, None), ("x", None), ({"i": 1}, None), ("x", "failed")]
    calls = []
    for _ in range(14):
        result, error = random.choice(outcomes)
        calls.append(Call(random.choice("ab"), {}, result, error=error))
    expected = holds(parse(rule), Trace(calls))
    monitor = Monitor(parse(rule))
    for call in calls:
        monitor.step(Call(call.tool))
        assert not monitor.verdict.final or monitor.verdict.holds_now is expected
    again = Monitor(parse(rule))
    again.restore(json.loads(json.dumps(monitor.save())))
    for position in random.sample(range(14), 14):
        for each in (monitor, again):
            each.record(position, calls[position].result, error=calls[position].error)
            assert not each.verdict.final or each.verdict.holds_now is expected
    assert monitor.verdict.holds_now is again.verdict.holds_now is expected


def test_one_doomed_instance_dooms_a_universal() -> None:
    monitor = Monitor(
        parse('forall x in args(pay, "id"): CalledN(pay, <= 5) & G !call(drop, id = x)')
    )
    monitor.step(Call("drop", {"id": 7}))
    assert not monitor.verdict.final, "7 is not in the domain yet"
    monitor.step(Call("pay", {"id": 8}))
    assert not monitor.verdict.final
    monitor.step(Call("pay", {"id": 7}))
    assert monitor.verdict is Verdict.VIOLATED


@cases(300)
@given(formulas() | quantified(), traces(), ORDERS, st.data())
def test_results_may_arrive_later_and_in_any_order(
    formula: Formula, subject: Trace, order: Order, data: st.DataObject
) -> None:
    monitor = Monitor(formula, order=order, metrics=subject.metrics)
    events = _events(formula, subject)
    arriving = []
    for position, event in enumerate(events):
        bare = Call(event.tool, event.args, step=event.step)
        known = event.tool == "final_answer"
        monitor.step(event if known else bare)
        if not known and event != bare:
            arriving.append((position, event))
    for position, event in data.draw(st.permutations(arriving)):
        monitor.record(position, event.result, error=event.error)
    assert monitor.verdict.holds_now is holds(formula, subject, order=order)


@cases(150)
@given(formulas(), traces(), ORDERS)
def test_final_verdicts_never_change_and_hold_on_every_prefix(
    formula: Formula, subject: Trace, order: Order
) -> None:
    monitor = Monitor(formula, order=order)
    final: Verdict | None = None
    for event in _events(formula, subject):
        monitor.step(event)
        assert final in (None, monitor.verdict)
        final = monitor.verdict if monitor.verdict.final else None
    if final is not None:
        assert holds(formula, subject, order=order) is (final is Verdict.SATISFIED)


@cases(150)
@given(formulas() | quantified(), traces(), traces(), ORDERS)
def test_a_restored_monitor_goes_on_as_before(
    formula: Formula, subject: Trace, more: Trace, order: Order
) -> None:
    monitor = Monitor(formula, order=order)
    for call in subject.calls:
        monitor.step(call)
    again = Monitor(formula, order=order)
    again.restore(json.loads(json.dumps(monitor.save())))
    assert again.verdict is monitor.verdict
    for call in more.calls:
        for each in (monitor, again):
            each.step(Call(call.tool, call.args, call.result, None, call.error))
        assert again.verdict is monitor.verdict


def test_an_attempt_that_is_taken_back_forgets_no_outstanding_result() -> None:
    """Not even when many are outstanding and the attempt would have settled the rule."""
    monitors = Monitors([parse("G(!stop & (pay -> earlier (ask & result.i = 1)))")])
    for _ in range(64):
        monitors.step(Call("ask"))
    attempt = monitors.attempt(Call("stop"))
    assert attempt.doomed == [0]
    attempt.take_back()
    monitors.record(0, {"i": 1})
    monitors.step(Call("pay"))
    assert monitors.verdicts[0].holds_now
