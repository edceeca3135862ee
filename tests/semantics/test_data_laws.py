"""Laws of values, of let, last, earlier and later, on every formula and trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

import jmespath
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from random_cases import cases
from strategies import (
    data_domains,
    data_formulas,
    data_terms,
    data_traces,
    json_values,
    past_rules,
)
from textbook import textbook, textbook_row

from bylaw import Call, Monitor, Trace, Vocabulary, holds, parse
from bylaw import formulas as b
from bylaw.formulas import F, G, H, O
from bylaw.logic import formula as f
from bylaw.logic.formula import Formula
from bylaw.logic.operators import RELATIONS
from bylaw.logic.terms import Last, Sofar, Term
from bylaw.logic.walk import inlined
from bylaw.semantics.evaluation import Evaluation, evaluate, view_of
from bylaw.semantics.verdict import TRUE, UNKNOWN
from bylaw.syntax.printer import to_text
from bylaw.trace.event import MISSING, may_get_result
from bylaw.trace.trace import Events
from bylaw.values import MAX_DEPTH, decoded, equal
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.reading import as_object
from bylaw.vocabulary.view import Order, View

ORDERS = st.sampled_from(["position", "step"])
EVENTS = st.sampled_from(["all", "calls"])


@cases(300)
@given(data_formulas() | past_rules(), data_traces(), ORDERS, EVENTS)
def test_the_reference_is_the_textbook(
    formula: Formula, trace: Trace, order: Order, events: Events
) -> None:
    value = evaluate(formula, view_of(formula, trace, order, events)).value
    assert value is not UNKNOWN
    assert value.is_true is textbook(formula, trace, order, events)


@cases(200)
@given(data_formulas(), data_traces(), EVENTS)
def test_at_every_event_the_reference_is_the_textbook(
    formula: Formula, trace: Trace, events: Events
) -> None:
    evaluation = evaluate(formula, view_of(formula, trace, events=events))
    row = evaluation.row(formula)[: len(evaluation.view)]
    assert [value.is_true for value in row] == textbook_row(formula, evaluation.view)
    assert [evaluation.at(formula, i) for i in range(len(row))] == row


def _same_everywhere(left: Formula, right: Formula, trace: Trace, events: Events = "all") -> None:
    """Two formulas have one truth value at every event, and on the empty trace."""
    for pair in (left.iff(right), G(left.iff(right))):
        assert evaluate(pair, view_of(pair, trace, events=events)).value.is_true


# ── other steps ───────────────────────────────────────────────────────────────────────────

x, s = b.var("x"), b.var("s_")

Law: TypeAlias = Callable[[Formula], tuple[Formula, Formula]]

STEPS: dict[str, Law] = {
    "earlier": lambda a: (
        b.earlier(a),
        b.let("s_", b.this.step, O(a & b.compare(b.this.step, "<", s))),
    ),
    "later": lambda a: (
        b.later(a),
        b.let("s_", b.this.step, F(a & b.compare(b.this.step, ">", s))),
    ),
    "earlier by last": lambda a: (b.earlier(a), b.compare(b.at(b.last(a), "step"), ">=", 0)),
    "earlier of earlier": lambda a: (
        b.earlier(b.earlier(a)),
        b.earlier(b.earlier(a)) & b.earlier(a),
    ),
    "nothing earlier than the first step": lambda a: (
        b.compare(b.this.step, "=", 0) & b.earlier(a),
        b.false,
    ),
}


@pytest.mark.parametrize("law", STEPS)
@cases(60)
@given(data_formulas(2), data_traces())
def test_law_of_steps(law: str, a: Formula, trace: Trace) -> None:
    _same_everywhere(*STEPS[law](a), trace)


@cases(250)
@given(data_formulas(2), data_traces(), EVENTS)
def test_last_is_the_latest_event_of_an_earlier_step(
    condition: Formula, trace: Trace, events: Events
) -> None:
    evaluation = evaluate(condition, view_of(condition, trace, events=events))
    view = evaluation.view
    row = evaluation.row(condition)
    for here in range(len(view)):
        before = [e for e in range(len(view)) if view.step(e) < view.step(here)]
        fitting = [e for e in before if row[e].is_true]
        expected = as_object(view.events[fitting[-1]]) if fitting else MISSING
        assert evaluation.read(Last(condition), here) == expected
        assert evaluation.last(condition, here) == (fitting[-1] if fitting else None)


@cases(150)
@given(data_formulas(2), data_traces())
def test_last_by_past_operators(a: Formula, trace: Trace) -> None:
    """`last` is an event of an earlier step where the condition holds, and no later one does."""
    o = b.var("o_")
    there = b.compare(b.this.step, "=", b.at(o, "step"))
    between = b.compare(b.this.step, "<", s) & b.compare(b.this.step, ">", b.at(o, "step"))
    described = O(a & there) & ~O(a & between)
    rule = G(b.let("s_", b.this.step, b.forall("o_", b.listed(b.last(a)), described)))
    assert holds(rule, trace, events="all")


# ── the events so far ─────────────────────────────────────────────────────────────────────


@cases(250)
@given(data_formulas(2), data_traces(), EVENTS)
def test_sofar_is_the_events_up_to_now(condition: Formula, trace: Trace, events: Events) -> None:
    evaluation = evaluate(condition, view_of(condition, trace, events=events))
    row, seen = evaluation.row(condition), evaluation.view.events
    for here in range(len(seen)):
        expected = [as_object(seen[e]) for e in range(here + 1) if row[e].is_true]
        assert evaluation.read(Sofar(condition), here) == expected


def _number(a: Formula) -> Term:
    return b.apply("length", b.sofar(a))


e = b.var("e_")
EVERY = b.says("user") | b.says("assistant") | b.says("system") | b.call() | b.call("final_answer")

SOFAR: dict[str, Law] = {
    "once": lambda a: (O(a), b.compare(_number(a), ">", 0)),
    "always so far": lambda a: (H(a), b.compare(_number(a), "=", _number(b.true))),
    "what does not satisfy it": lambda a: (
        b.compare(b.apply("+", _number(a), _number(~a)), "=", _number(b.true)),
        b.true,
    ),
    "earlier": lambda a: (
        b.earlier(a),
        b.exists("e_", b.found(b.sofar(a)), b.compare(b.at(e, "step"), "<", b.this.step)),
    ),
    "the first time": lambda a: (
        a & ~b.Y(O(a)) & EVERY,
        a & b.compare(_number(a), "=", 1) & EVERY,
    ),
    "the latest": lambda a: (
        a & EVERY,
        b.compare(b.at(b.sofar(b.true), -1), "=", b.at(b.sofar(a), -1)) & a,
    ),
    "a count": lambda a: (
        b.compare(_number(a), "=", b.count("e_", b.found(b.sofar(a)), b.true)),
        b.true,
    ),
    "a member that every event has": lambda a: (
        b.compare(_number(a), "=", b.apply("length", b.at(b.sofar(a), "step"))),
        b.true,
    ),
    "the extremes": lambda a: (
        b.compare(b.apply("max", b.at(b.sofar(a), "step")), "=", b.at(b.sofar(a), -1, "step")),
        b.compare(b.apply("min", b.at(b.sofar(a), "step")), "=", b.at(b.sofar(a), 0, "step")),
    ),
}


@pytest.mark.parametrize("law", SOFAR)
@cases(60)
@given(data_formulas(2), data_traces())
def test_law_of_the_events_so_far(law: str, a: Formula, trace: Trace) -> None:
    _same_everywhere(*SOFAR[law](a), trace)


# ── let and quantifiers at the event ──────────────────────────────────────────────────────

DOMAINS = data_domains(1, (), True)
BODIES = data_formulas(2, ("x",))


UNDEFINED = b.at({}, "nothing")


@cases(150)
@given(data_terms(), data_formulas(3, ("x",)), data_traces(), EVENTS)
def test_let_is_substitution(term: Term, body: Formula, trace: Trace, events: Events) -> None:
    """Within one event, a name means the term; results may be outstanding."""
    named = f.Let("x", term, body)
    plain = inlined(named)
    assume(plain is not None)
    assert plain is not None
    for formula, instead in ((named, plain), (G(named), G(plain)), (F(named), F(plain))):
        seen = view_of(formula, trace, events=events).events
        outstanding = frozenset(i for i, each in enumerate(seen) if may_get_result(each))
        for pending in (frozenset[int](), outstanding):
            view = View(trace, seen, pending=pending)
            found, expected = Evaluation(formula, view), Evaluation(instead, view)
            assert found.value is expected.value
            assert found.row(formula) == expected.row(instead)


@cases(150)
@given(data_terms(), BODIES, data_traces())
def test_let_by_quantifiers(term: Term, body: Formula, trace: Trace) -> None:
    """With a value it says what quantifiers over that value say; without, what is undefined."""
    named = b.let("x", term, body)
    defined = b.exists("x", b.listed(term), b.true)
    some, every = b.exists("x", b.listed(term), body), b.forall("x", b.listed(term), body)
    undefined = b.let("x", UNDEFINED, body)
    _same_everywhere(some, defined & named, trace)
    _same_everywhere(every, defined >> named, trace)
    _same_everywhere(named, some | (~defined & undefined), trace)


@cases(100)
@given(data_terms(), data_terms(2, ("x",)), data_formulas(2, ("x", "y")), data_traces())
def test_lets_in_a_row(first: Term, second: Term, body: Formula, trace: Trace) -> None:
    """Several names in one let are lets inside each other, and distribute over connectives."""
    both = b.let("x", first, b.let("y", second, body))
    assert parse(to_text(both)) == both
    _same_everywhere(b.let("x", first, ~b.let("y", second, body)), ~both, trace)
    negated = b.let("x", first, b.let("y", second, ~body))
    _same_everywhere(negated, ~both, trace)


@cases(150)
@given(DOMAINS, BODIES, BODIES, data_traces())
def test_quantifiers_are_dual(domain: f.Domain, p: Formula, q: Formula, trace: Trace) -> None:
    every, some = b.forall, b.exists
    _same_everywhere(every("x", domain, p), ~some("x", domain, ~p), trace)
    _same_everywhere(some("x", domain, p), ~every("x", domain, ~p), trace)
    _same_everywhere(
        every("x", domain, p & q), every("x", domain, p) & every("x", domain, q), trace
    )
    _same_everywhere(some("x", domain, p | q), some("x", domain, p) | some("x", domain, q), trace)


@cases(150)
@given(data_terms(), BODIES, data_traces())
def test_a_name_is_the_value(term: Term, body: Formula, trace: Trace) -> None:
    """A name can replace its value: in comparisons and in computations."""
    for relation in RELATIONS:
        direct = b.compare(term, relation, b.apply("type", term))
        named = b.exists("x", b.listed(term), b.compare(x, relation, b.apply("type", x)))
        _same_everywhere(direct, named, trace)
    for function in ("keys", "values", "to_string", "length", "decode", "reverse"):
        value = b.apply(function, term)
        same = b.let("x", term, b.let("y", value, b.compare(b.apply(function, x), "=", b.var("y"))))
        defined = b.compare(value, "=", value)
        _same_everywhere(same, defined, trace)


# ── comparisons and counts ────────────────────────────────────────────────────────────────


@cases(150)
@given(data_terms(), data_terms(), data_traces())
def test_comparisons(left: Term, right: Term, trace: Trace) -> None:
    def compare(relation: str) -> Formula:
        return b.compare(left, relation, right)

    def defined(term: Term) -> Formula:
        return b.exists("x", b.listed(term), ~b.compare(b.apply("type", x), "=", "null"))

    both = defined(left) & defined(right)
    _same_everywhere(compare("in"), b.compare(right, "contains", left), trace)
    _same_everywhere(compare("<"), b.compare(right, ">", left), trace)
    _same_everywhere(compare("<="), b.compare(right, ">=", left), trace)
    _same_everywhere(compare("="), b.compare(right, "=", left), trace)
    _same_everywhere(compare("!="), both & ~compare("="), trace)
    _same_everywhere(compare("<"), compare("<=") & compare("!="), trace)
    for relation in RELATIONS:
        assert holds(G(compare(relation) >> both), trace, events="all"), relation


@cases(150)
@given(DOMAINS, BODIES, data_traces())
def test_counts(domain: f.Domain, body: Formula, trace: Trace) -> None:
    number, failing = b.count("x", domain, body), b.count("x", domain, ~body)
    defined: Formula = b.true
    if isinstance(domain, f.Found):
        defined = b.exists("x", b.listed(domain.term), b.true)
    some, every = b.exists("x", domain, body), b.forall("x", domain, body)
    _same_everywhere(b.compare(number, ">", 0), some, trace)
    _same_everywhere(b.compare(failing, "=", 0), defined & every, trace)
    _same_everywhere(b.compare(number, "=", 0), defined & ~some, trace)
    total = b.compare(b.apply("+", number, failing), "=", b.count("x", domain, b.true))
    _same_everywhere(defined, total, trace)


# ── functions ─────────────────────────────────────────────────────────────────────────────

SHARED = "abs avg ceil ends_with floor join keys length max min reverse sort starts_with sum"
SHARED += " to_number to_string type values"


@pytest.mark.parametrize("name", SHARED.split())
@cases(200, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_functions_mean_what_they_mean_in_jmespath(name: str, data: st.DataObject) -> None:
    """Without a value in JMESPath there is none; objects have no order; letters stay letters."""
    function = FUNCTIONS[name]
    given = [data.draw(json_values | st.sampled_from([["a", "b"], [1, 2]])) for _ in function.takes]
    places = zip(function.takes, given, strict=True)
    lifted = any(place.lifts and isinstance(value, list) for place, value in places)
    assume(not lifted and "1.0" not in json.dumps(given))
    written = ", ".join(f"`{json.dumps(value, sort_keys=True)}`" for value in given)
    try:
        expected = jmespath.search(f"{name}({written})", None)
    except jmespath.exceptions.JMESPathError:
        expected = None
    found = function(*given)
    if name == "to_string":
        assert equal(decoded(found), decoded(expected))
    else:
        assert equal(None if found is MISSING else found, expected)


# ── limits ────────────────────────────────────────────────────────────────────────────────

DEEP = [
    'G (b -> let o = last(a): o.tool = "a")',
    "let x = args.i: [[x]] = [[args.i]]",
    "let x = [[args.i]]: length(x) = 1",
    "exists x in [[[args.i]]]: length(x) = 1",
    'F (b & last(last(a).tool = "a" | a).tool = "a")',
]


@pytest.mark.parametrize("rule", DEEP)
def test_values_that_nest_as_deeply_as_a_trace_allows_are_no_mistake(rule: str) -> None:
    """They may be undefined where they would nest more deeply; nothing is raised."""
    deep: object = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    calls = [{"tool_name": "a", "arguments": {"i": deep}}, {"tool_name": "b", "arguments": {}}]
    subject = Trace.from_record({"tool_calls": calls})
    assert isinstance(holds(parse(rule), subject), bool)


def test_the_empty_trace_is_checked_too() -> None:
    """`_same_everywhere` compares where there is no event."""
    pair = b.compare(1, "=", 1).iff(b.true)
    assert evaluate(pair, view_of(pair, Trace())).value is TRUE


# ── registered functions ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "kept"), [("all is well", True), ("a bad word", False)])
def test_an_extractor_is_given_values_of_the_event(text: str, kept: bool) -> None:
    vocabulary = Vocabulary()

    @vocabulary.extractor
    def spoken(trace: Trace, metrics: object, said: str) -> list[str]:
        return said.split()

    rule = parse('G(say -> forall w in spoken(args.text): w != "bad")', vocabulary=vocabulary)
    trace = Trace([Call("look"), Call("say", {"text": text}), Call("say")])
    assert holds(rule, trace, vocabulary=vocabulary) is kept
    monitor = Monitor(rule, vocabulary=vocabulary)
    for call in trace:
        monitor.step(call)
    assert monitor.verdict.holds_now is kept
