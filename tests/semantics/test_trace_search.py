"""The search for traces: it never claims a wrong one, and finds what the rules below ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_formulas, data_traces, formulas

from bylaw import Message, Procedure, Trace, holds, parse
from bylaw.logic import formula as f
from bylaw.logic.formula import Formula
from bylaw.logic.walk import sees_answer
from bylaw.scoring.repair import repair
from bylaw.semantics.examples.nearby import nearby
from bylaw.semantics.examples.reading_options import ReadingOptions
from bylaw.semantics.examples.same_by_rewriting import provably_same
from bylaw.semantics.examples.shortest import difference, examples
from bylaw.semantics.examples.shrinking import minimised, size_of, smaller_traces
from bylaw.semantics.examples.trace_search import RuleGoal, TraceSearch
from bylaw.semantics.verdict import FALSE, TRUE
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Events

FOUND = [
    # A rule, and what it reads.
    ("G(pay -> args.amount <= 100 & args.amount > 10)", "two thresholds"),
    ("G(pay -> sum(sofar(pay).args.amount) <= 500)", "a total"),
    ("G(pay -> let i = args.id: length(sofar(call(pay, id = i))) <= 2)", "a count for each id"),
    ("G(pay -> let i = args.id: i in last(call(list, ok)).result.ids)", "a join with a list"),
    ("G(pay -> last(call(quote, ok)).result.price * 2 = args.amount)", "arithmetic"),
    (
        "G(tell -> forall n in find(args.t, /#(\\d+)/): earlier (ok & text contains n))",
        "matches",
    ),
    ('forall n in results(list, "numbers[]"): CalledWith(pay, n = n)', "all results"),
    ('exists n in args(list, "n"): G(pay -> args.n = n)', "some argument"),
    ("G(pay -> args.currency = labels.currency)", "a label"),
    ('F(final_answer & answer contains "done")', "the answer"),
    ("G(pay -> count(x in args.items: x.price > 10) <= 1)", "a count of elements"),
    ("G(pay -> lower(args.who) ~ /^a[b-d]+$/)", "a regular expression"),
    ("G(a -> let s = step: !Y (call & step = s))", "steps"),
    ("G(pay -> Y (call(check, failed) S check))", "a failure"),
    ("G(pay -> earlier approve within 10 min)", "the age of an approval"),
    ("G(a -> F b within 1 h)", "a deadline"),
    ("G(pay -> sum(sofar(pay, 24 h).args.amount) <= 500)", "a total in a window"),
    ('G(pay -> hour(start, "Europe/Berlin") >= 9)', "the hour"),
    ('G(pay -> weekday(start, "UTC") <= 5 & date(start, "UTC") != "2026-03-02")', "the day"),
    ("G(pay -> length(unique(sofar(approve).agent)) >= 2)", "two people"),
    ("G(pay -> agent != last(request).agent)", "separation of duties"),
    ("G(call -> sum(sofar(call).usage.cost) <= 2)", "a cost"),
    ("G(call -> duration < 30 s)", "a duration"),
]


@pytest.mark.parametrize(("rule", "what"), FOUND)
def test_examples_are_found(rule: str, what: str) -> None:
    formula = parse(rule)
    search = TraceSearch(formula)
    for wanted in (TRUE, FALSE):
        found = search.find(wanted)
        assert found is not None, f"{what}: {wanted}"
        assert RuleGoal(formula, wanted).met(found)
        goal = RuleGoal(formula, wanted)
        assert not any(goal.met(less) for less in smaller_traces(found)), "nothing can be left out"


def test_the_search_is_deterministic() -> None:
    formula = parse("G(pay -> let i = args.id: i in last(call(list, ok)).result.ids)")
    found = [TraceSearch(formula).find(TRUE) for _ in range(2)]
    assert found[0] == found[1] is not None


settings = st.sampled_from([ReadingOptions(), ReadingOptions("step", "all")])


@pytest.mark.slow
@cases(40)
@given(data_formulas(2), data_formulas(2), settings)
def test_no_wrong_trace_is_claimed(old: Formula, new: Formula, setting: ReadingOptions) -> None:
    found = examples(old, setting)
    for trace, expected in ((found.satisfying, True), (found.violating, False)):
        if trace is not None:
            assert judged(old, trace, setting) is expected
    other = difference(old, new, setting)
    if other.trace is not None:
        assert judged(old, other.trace, setting) is other.old_holds
        assert judged(new, other.trace, setting) is not other.old_holds


def judged(formula: Formula, trace: Trace, setting: ReadingOptions) -> bool:
    return holds(formula, trace, order=setting.order, events=setting.events)


@cases(30)
@given(data_formulas(2), data_traces(max_size=4), st.sampled_from(["calls", "all"]))
def test_no_wrong_repair_is_claimed(formula: Formula, subject: Trace, events: Events) -> None:
    rules = [{"name": "c", "rule": to_text(formula)}]
    procedure = Procedure.from_dict({"events": events, "constraints": rules})
    found = repair(subject, procedure, "c")
    if found is not None:
        mended = found.apply(subject)
        assert holds(formula, mended, events=events)
        assert said(mended) == said(subject), "messages stay"


def said(trace: Trace) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in trace.events if isinstance(event, Message)]


@cases(60)
@given(formulas(3, quantifiers=False), data_traces(max_size=4))
def test_nearby_and_smaller_traces_are_traces(formula: Formula, trace: Trace) -> None:
    for other in nearby(trace):
        assert Trace.from_record(other.to_record()).to_record() == other.to_record()
    truth = holds(formula, trace)
    small = minimised(trace, lambda each: holds(formula, each) is truth)
    assert size_of(small) <= size_of(trace)


SAME = [
    ("G(call -> a)", "G a", True),
    ("G(call & a -> b)", "G(a -> b)", True),
    ("Y(call & a) | G b", "Y a | G b", True),
    ("call -> a", "a", False),
    ("call & F a", "F a", False),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_what_always_holds_can_be_left_out(one: str, other: str, same: bool) -> None:
    formulas_ = parse(one), parse(other)
    assert provably_same(*formulas_, ReadingOptions(), ReadingOptions()) is same
    messages = ReadingOptions(events="all")
    assert not provably_same(*formulas_, messages, messages)


@cases(200)
@given(formulas(3), data_traces(max_size=4))
def test_what_is_proved_the_same_is_the_same(formula: Formula, trace: Trace) -> None:
    longer, plain = f.Always(parse("call") >> formula), f.Always(formula)
    seen = (ReadingOptions(), ReadingOptions())
    assert provably_same(longer, plain, *seen) is not sees_answer(formula)
    if not sees_answer(formula):
        assert holds(longer, trace) is holds(plain, trace)
