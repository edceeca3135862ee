"""Rules about the past, followed by what is remembered, are the reference at every event."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from notation import trace
from random_cases import cases
from strategies import data_domains, data_formulas, data_terms, data_traces, past_rules

from bylaw import Call, Monitor, Trace, Verdict, holds, parse
from bylaw.logic import formula as f
from bylaw.logic.formula import Formula
from bylaw.logic.terms import Answer, Term
from bylaw.logic.walk import everything, inlined, sees_answer
from bylaw.semantics.history import History
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.past.keyed import Index
from bylaw.semantics.past.registers import Registers
from bylaw.semantics.past.tallies import Tallies
from bylaw.trace.event import MISSING, Event, may_get_result
from bylaw.vocabulary.registry import EMPTY

KINDS: Any = st.sampled_from(["calls", "all"])
QUERIES = st.builds(
    lambda values, past, condition: f.Always(f.ForAll("x", values, past(condition))),
    data_domains(1, (), False),
    st.sampled_from([f.Earlier, f.Once, f.Historically, lambda each: f.Yesterday(f.Once(each))]),
    data_formulas(3, ("x",), future=False),
)
"""Rules that ask of each value whether some earlier event fits it."""
PAST: Any = past_rules() | QUERIES


def _follow(monitor: Monitor, events: tuple[Event, ...]) -> list[Verdict]:
    verdicts = []
    for event in events:
        monitor.step(event)
        verdicts.append(monitor.verdict)
    return verdicts


def _monitor(formula: Formula, kind: Any, subject: Trace) -> Monitor:
    return Monitor(formula, events=kind, metrics=subject.metrics, labels=subject.labels)


# ── one law ───────────────────────────────────────────────────────────────────────────────


@cases(400)
@given(data_formulas(), data_traces(), KINDS)
def test_run_to_the_end_it_is_the_reference(formula: Formula, subject: Trace, kind: Any) -> None:
    monitor = _monitor(formula, kind, subject)
    _follow(monitor, subject.seen(kind, answer=True))
    assert monitor.verdict.holds_now is holds(formula, subject, events=kind)


@cases(400)
@given(PAST, data_traces(), KINDS)
def test_a_rule_about_the_past_is_doomed_exactly_when_it_is_violated(
    formula: Formula, subject: Trace, kind: Any
) -> None:
    """On every prefix; and once it is violated, it stays so."""
    assume(past_bodies(formula) is not None)  # the answer is no matter of the past
    monitor = _monitor(formula, kind, subject)
    events = subject.seen(kind, sees_answer(formula))
    for length, event in enumerate(events, start=1):
        monitor.step(event)
        prefix = Trace(events[:length], labels=subject.labels)
        # A call without a result may still get one: what depends on it is unknown, not lost.
        complete = all(
            not isinstance(e, Call) or e.result is not MISSING or e.failed for e in prefix.events
        )
        held = holds(formula, prefix, events=kind)
        assert monitor.verdict.holds_now is held
        if complete:
            assert monitor.verdict is (
                Verdict.PRESUMABLY_SATISFIED if held else Verdict.VIOLATED
            ) or (held and monitor.verdict is Verdict.SATISFIED)
        if monitor.verdict is Verdict.VIOLATED:
            rest = Trace(events, labels=subject.labels)
            assert not holds(formula, rest, events=kind)


@cases(300)
@given(PAST, data_traces(), KINDS, st.randoms(use_true_random=False), st.booleans())
def test_results_may_arrive_late_and_in_any_order(
    formula: Formula, subject: Trace, kind: Any, random: Random, again: bool
) -> None:
    """Nothing final is said too early; when all results are there, it is the reference."""
    assume(past_bodies(formula) is not None)  # the answer is no matter of the past
    expected = holds(formula, subject, events=kind)
    events = subject.seen(kind, sees_answer(formula))
    monitor = _monitor(formula, kind, subject)
    late: list[int] = []
    for position, event in enumerate(events):
        if isinstance(event, Call) and (event.result is not MISSING or event.failed):
            monitor.step(replace(event, result=MISSING, error=None))
            late.append(position)
        else:
            monitor.step(event)
        assert not monitor.verdict.final or monitor.verdict.holds_now is expected
        while late and random.random() < 0.5:
            position = late.pop(random.randrange(len(late)))
            call = events[position]
            assert isinstance(call, Call)
            monitor.record(position, call.result, error=call.error)
            assert not monitor.verdict.final or monitor.verdict.holds_now is expected
        if again:
            saved = json.loads(json.dumps(monitor.save()))
            monitor = _monitor(formula, kind, subject)
            monitor.restore(saved)
    random.shuffle(late)
    for position in late:
        call = events[position]
        assert isinstance(call, Call)
        monitor.record(position, call.result, error=call.error)
    assert monitor.verdict.holds_now is expected


@cases(200)
@given(PAST, data_traces(), KINDS)
def test_memories_say_what_the_whole_trace_says(
    formula: Formula, subject: Trace, kind: Any
) -> None:
    """With results missing, too: both engines know what is lost, and what only seems so."""
    assume(past_bodies(formula) is not None)
    monitor = _monitor(formula, kind, subject)
    kept = History(formula, "position", kind, EMPTY, {}, subject.labels, past=True)
    lost = False
    for position, event in enumerate(subject.seen(kind, sees_answer(formula))):
        monitor.step(event)
        kept.take(event, position, event.step or 0, False)
        theirs = kept.verdict()
        assert monitor.verdict.holds_now is theirs.holds_now
        lost = lost or theirs is Verdict.VIOLATED
        if isinstance(monitor._engine, Registers):
            assert (monitor.verdict is Verdict.VIOLATED) is lost


@cases(100)
@given(st.lists(st.tuples(past_rules(), KINDS), min_size=1, max_size=4), data_traces())
def test_many_at_once_are_each_by_itself(rules: list[Any], subject: Trace) -> None:
    monitors = Monitors(
        [rule for rule, _ in rules], events=[kind for _, kind in rules], labels=subject.labels
    )
    alone = [_monitor(rule, kind, subject) for rule, kind in rules]
    for event in subject.seen("all", answer=True):
        monitors.step(event)
        for each in alone:
            each.step(event)
    assert [v.holds_now for v in monitors.verdicts] == [m.verdict.holds_now for m in alone]


# ── unknown results ───────────────────────────────────────────────────────────────────────

LOOKUP = 'G(pay -> let i = args.id, o = last(call(get, id = i, ok)).result: o.status = "open")'

UNKNOWN = [
    # rule, events before, proposed call, is it lost at once?
    (LOOKUP, 'get{"id":1}=>{"status":"open"}', 'pay{"id":1}', False),
    (LOOKUP, 'get{"id":1}=>{"status":"shut"}', 'pay{"id":1}', True),
    (LOOKUP, 'get{"id":1}', 'pay{"id":1}', False),  # the status may still come
    (LOOKUP, 'get{"id":1}=>{"status":"shut"} get{"id":1}', 'pay{"id":1}', False),
    (LOOKUP, 'get{"id":1}=>{"status":"shut"} get{"id":2}', 'pay{"id":1}', True),
    ("G(pay -> earlier call(get, ok))", "get", "pay", False),
    ("G(pay -> earlier call(get, ok))", "other", "pay", True),
    ("G(pay -> earlier get)", "get", "pay", False),
    ("G(pay -> ok)", "get", "pay", False),
    ("G(call(pay, result.x > 1) -> false)", "get", "pay", False),
    ("G(pay -> !Y call(get, failed))", "get", "pay", False),
    ("G(pay -> args.id = 1)", "get", 'pay{"id":2}', True),
    # let is substitution: what does not depend on the unknown value is decided.
    ("G(pay -> let r = result.x: r = 1)", "get", "pay", False),
    ("G(pay -> let r = result.x: r = 1 & args.id = 1)", "get", 'pay{"id":2}', True),
    ("G(pay -> let r = last(get).result: r = 1)", "get", "pay", False),
    ("G(pay -> let r = last(get).result: r = 1)", "other", "pay", True),
    ("G(pay -> let g = last(get): g.args.id = 1)", 'get{"id":2}', "pay", True),
    # sofar: an outstanding call may yet be in the list.
    ("G(pay -> length(sofar(pay)) <= 1)", "pay", "pay", True),
    ("G(pay -> length(sofar(call(pay, ok))) <= 1)", "pay", "pay", False),
    ("G(pay -> length(sofar(call(pay, ok))) <= 1)", "pay=>1 pay=>1", "get", True),
    ("G(pay -> length(sofar(call(get, ok))) = 0)", "get", "pay", False),
    ("G(pay -> length(sofar(call(get, ok))) = 0)", "get=>1", "pay", True),
    ("G(pay -> length(sofar(call(get, ok))) >= 1)", "get", "pay", False),
    ("G(pay -> length(sofar(call(get, ok))) >= 2)", "get", "pay", True),
    ("G(pay -> length(sofar(call(get, ok))) >= 2)", "get get", "pay", False),
    ("G(pay -> sum(sofar(call(pay, ok)).args.n) <= 5)", 'pay{"n":6}=>1', "get", True),
    ("G(pay -> sum(sofar(call(get, ok)).args.n) <= 5)", 'get{"n":3} get{"n":3}', "pay", False),
    ("G(pay -> sum(sofar(call(get, ok)).args.n) > 7)", 'get{"n":3} get{"n":3}', "pay", True),
    ("G(pay -> sum(sofar(get).result.n) <= 5)", 'get=>{"n":6} get', "pay", False),
    ("G(pay -> sum(sofar(get).args.n) <= 5)", 'get{"n":6}=>1 get', "pay", True),
    ("G(pay -> max(sofar(call(get, ok)).args.n) > 3)", 'get{"n":3} get{"n":2}', "pay", True),
    ("G(pay -> max(sofar(call(get, ok)).args.n) > 2)", 'get{"n":3} get{"n":2}', "pay", False),
    (
        "G(pay -> length(unique(sofar(call(get, ok)).args.n)) >= 2)",
        'get{"n":1} get{"n":1}',
        "pay",
        True,
    ),
    (
        "G(pay -> length(unique(sofar(call(get, ok)).args.n)) >= 2)",
        'get{"n":1} get{"n":2}',
        "pay",
        False,
    ),
    ("G(pay -> forall g in sofar(call(get, ok)): g.args.n = 1)", 'get{"n":1}', "pay", False),
    ("G(pay -> exists g in sofar(call(get, ok)): g.args.n = 1)", 'get{"n":2}', "pay", True),
    (
        "G(pay -> let i = args.id: length(sofar(call(get, id = i))) = 0)",
        'get{"id":1}',
        'pay{"id":1}',
        True,
    ),
    (
        "G(pay -> let i = args.id: length(sofar(call(get, id = i))) = 0)",
        'get{"id":1}',
        'pay{"id":2}',
        False,
    ),
    ("G(pay -> let i = args.id: !Y O call(get, id = i, ok))", 'get{"id":1}', 'pay{"id":1}', False),
    ("G(pay -> let i = args.id: !Y O call(get, id = i))", 'get{"id":1}', 'pay{"id":1}', True),
]


@pytest.mark.parametrize(("rule", "before", "call", "lost"), UNKNOWN)
def test_what_depends_on_a_result_is_unknown(rule: str, before: str, call: str, lost: bool) -> None:
    monitor = Monitor(parse(rule))
    for event in trace(f"{before} {call}").events:
        monitor.step(event)
    assert (monitor.verdict is Verdict.VIOLATED) is lost


def test_siblings_do_not_see_each_other() -> None:
    """The lookup of the same turn does not help, whatever it will return."""
    monitor = Monitor(parse("G(pay -> earlier call(get, ok))"))
    monitor.step(Call("get", step=0))
    monitor.step(Call("pay", step=0))
    assert monitor.verdict is Verdict.VIOLATED


def test_a_lookup_repeated_with_another_status() -> None:
    monitor = Monitor(parse(LOOKUP))
    for status, verdict in (
        ("open", Verdict.PRESUMABLY_SATISFIED),
        ("shut", Verdict.VIOLATED),
    ):
        monitor.step(Call("get", {"id": 1}))
        monitor.record(monitor.length - 1, {"status": status})
        monitor.step(Call("pay", {"id": 1}))
        assert monitor.verdict is verdict


# ── cost ──────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_kept_that_no_question_can_ask_for() -> None:
    """A register per key, whatever happens in between."""
    monitor = Monitor(parse(LOOKUP))
    for number in range(3_000):
        monitor.step(Call("get", {"id": number % 7}))
        monitor.record(monitor.length - 1, {"status": "open"})
        monitor.step(Call("noise", {"n": number}, result=number))
        monitor.step(Call("pay", {"id": number % 7}))
        monitor.record(monitor.length - 1, "paid")
    engine = monitor._engine
    assert isinstance(engine, Registers)
    assert not engine.queue
    assert not engine.keeps_events
    buckets = [m.buckets.values() for m in engine.memories if isinstance(m, Index)]
    kept = sum(len(bucket) for each in buckets for bucket in each)
    assert kept <= 2 * 7
    assert len(monitor._monitors.outstanding) <= 64


FACTS = [
    "G(pay -> forall i in args.ids: earlier (get & exists k in keys(args): args[k] = i))",
    "G(pay -> let i = args.id: earlier (call(get, ok) & exists n in args.n: n <= i | args.id = i))",
    "G(pay -> let i = args.id: H !(get & exists n in [args.id]: n > i + 10 & step > 0))",
    "G(pay & args.id >= 0 -> O (get & args.id >= 0))",
]


@pytest.mark.parametrize("rule", FACTS)
def test_what_was_seen_takes_no_more_room_than_its_different_values(rule: str) -> None:
    """The events are not kept, nor how often there were such events."""
    monitor = Monitor(parse(rule))
    for number in range(1_000):
        monitor.step(Call("get", {"id": number % 7, "n": [number % 3], "text": "x" * 1_000}))
        monitor.record(monitor.length - 1, "y" * 1_000)
        monitor.step(Call("pay", {"id": number % 7, "ids": [number % 7]}))
        monitor.record(monitor.length - 1, "paid")
    assert monitor.verdict is Verdict.PRESUMABLY_SATISFIED
    assert not monitor._engine.keeps_events
    # The first rule reads whatever arguments there are, so it knows the long text: once.
    assert len(json.dumps(monitor.save())) < 5_000


TALLIES = [
    "G(pay -> let i = args.id: length(sofar(call(pay, id = i))) <= 5000)",
    "G(pay -> let i = args.id: sum(sofar(call(pay, id = i)).args.n) <= 100000)",
    "G(pay -> max(sofar(call(pay, ok)).args.n) <= 7)",
    "G(pay -> min(sofar(pay).args.n) >= 0 & avg(sofar(pay).args.n) < 7)",
    "G(pay -> sum(sofar(call(pay, ok)).result.paid) <= 100000)",
]


@pytest.mark.parametrize("rule", TALLIES)
def test_a_tally_takes_no_more_room_than_its_keys(rule: str) -> None:
    """Lengths, sums and extremes are kept as they grow, not the events."""
    monitor = Monitor(parse(rule))
    for number in range(2_000):
        monitor.step(Call("pay", {"id": number % 7, "n": number % 7 + 0.5}))
        monitor.record(monitor.length - 1, {"paid": 1})
    engine = monitor._engine
    assert isinstance(engine, Registers)
    assert monitor.verdict is Verdict.PRESUMABLY_SATISFIED
    assert not engine.keeps_events
    assert not engine.queue
    tallies = [memory for memory in engine.memories if isinstance(memory, Tallies)]
    assert tallies
    assert all(len(each.tallies) <= 7 and not each.unsure for each in tallies)
    assert len(json.dumps(monitor.save())) < 10_000


KEPT = [
    ("G(pay -> length(unique(sofar(get).args.n)) >= 0)", True),
    ("G(pay -> exists g in sofar(get): g.args.n >= 0)", True),
    ("G(pay -> let n = args.n: length(sofar(get & args.n > n)) >= 0)", True),
    ("G(pay -> let n = args.n: length(sofar(get & args.l contains n)) >= 0)", True),
    ("G(pay -> length(sofar(get)) >= 0)", False),
    ("G(pay -> let n = args.n: length(sofar(get & args.n = n)) >= 0)", False),
]


@pytest.mark.parametrize(("rule", "keeps"), KEPT)
def test_other_uses_of_the_list_keep_the_events_and_say_so(rule: str, keeps: bool) -> None:
    monitor = Monitor(parse(rule))
    for number in range(5):
        monitor.step(Call("get", {"n": number, "l": [number]}, result=1))
    monitor.step(Call("pay", {"n": 1}, result=1))
    assert monitor.verdict is Verdict.PRESUMABLY_SATISFIED
    assert monitor._engine.keeps_events is keeps


@cases(150)
@given(data_terms(future=False), data_formulas(2, ("x",), future=False), data_traces(), KINDS)
def test_a_name_changes_nothing_live(term: Term, body: Formula, subject: Trace, kind: Any) -> None:
    """`let` is substitution at every prefix. Safety may be found sooner without names, and so may
    doom where a result is outstanding.
    """
    named = f.Let("x", term, body)
    plain = inlined(named)
    assume(plain is not None and Answer() not in everything(term))  # known at the end
    assert plain is not None
    one, other = (_monitor(f.Always(rule), kind, subject) for rule in (named, plain))
    outstanding = False
    for event in subject.seen(kind, sees_answer(named)):
        one.step(event)
        other.step(event)
        outstanding = outstanding or may_get_result(event)
        assert one.verdict.holds_now is other.verdict.holds_now
        if not outstanding:
            assert (one.verdict is Verdict.VIOLATED) is (other.verdict is Verdict.VIOLATED)


def test_texts_are_kept_only_for_evidence_by_substring() -> None:
    by_key = "G(pay -> let p = args.p: earlier (get & p in keys(result.ways)))"
    by_text = "G(pay -> let p = args.p: earlier (get & text contains p))"
    for rule, keeps in ((by_key, False), (by_text, True)):
        monitor = Monitor(parse(rule))
        for number in range(50):
            monitor.step(Call("get", result={"ways": {f"w{number}": 1}}))
            monitor.step(Call("pay", {"p": f"w{number}"}))
        engine = monitor._engine
        assert isinstance(engine, Registers)
        assert monitor.verdict is Verdict.PRESUMABLY_SATISFIED
        assert engine.keeps_events is keeps


OUTSTANDING = {
    "arguments of a call are known before its result": (
        "G(a -> last(b).args.x = 1)",
        [Call("b", {"x": 2}), Call("a")],
        Verdict.VIOLATED,
    ),
    "every case of an outstanding result is false": (
        "G(a -> last(b & ok).args.x = 1)",
        [Call("b", {"x": 3}, result=1), Call("b", {"x": 2}), Call("a")],
        Verdict.VIOLATED,
    ),
    "one case of an outstanding result is true": (
        "G(a -> last(b & ok).args.x = 1)",
        [Call("b", {"x": 1}, result=1), Call("b", {"x": 2}), Call("a")],
        Verdict.PRESUMABLY_SATISFIED,
    ),
    "no event at all is a case, too": (
        "G(a -> last(b & ok).args.x = 2)",
        [Call("b", {"x": 2}), Call("a")],
        Verdict.PRESUMABLY_VIOLATED,
    ),
    "a result that is outstanding may still be ok": (
        "G(a -> let v = args.x: true S (call(a, x = v) & ok))",
        [Call("a", {"x": 1}), Call("c")],
        Verdict.PRESUMABLY_VIOLATED,
    ),
}


@pytest.mark.parametrize("case", OUTSTANDING)
def test_outstanding_results_leave_open_only_what_they_can_change(case: str) -> None:
    rule, calls, verdict = OUTSTANDING[case]
    monitor = Monitor(parse(rule))
    for call in calls:
        monitor.step(call)
    assert monitor.verdict is verdict
