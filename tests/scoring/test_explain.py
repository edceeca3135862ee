"""An explanation is a set of calls that decides the verdict, and none can be left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from notation import trace
from random_cases import cases
from strategies import formulas, traces

from bylaw import Call, Constraint, Message, Procedure, Trace, explain
from bylaw.logic.formula import Formula
from bylaw.scoring.explain import deciding_events, follows
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.vocabulary.view import Order


@cases(200)
@given(formulas(3), traces())
def test_the_set_decides_and_is_minimal(formula: Formula, subject: Trace) -> None:
    evaluation = evaluate(formula, view_of(formula, subject))
    deciding, minimal = deciding_events(evaluation)
    assert minimal
    assert follows(evaluation, deciding)
    for left_out in deciding:
        rest = [position for position in deciding if position != left_out]
        assert not follows(evaluation, rest)


@cases(150)
@given(formulas(3), traces(max_size=5), traces(max_size=5))
def test_what_the_set_says_is_true_of_every_trace_that_agrees_with_it(
    formula: Formula, subject: Trace, other: Trace
) -> None:
    """Replace the other calls by anything: the verdict stays."""
    order: Order = "position"
    evaluation = evaluate(formula, view_of(formula, subject, order))
    deciding, _ = deciding_events(evaluation)
    size = len(subject.calls)
    if len(other.calls) < size or any(position >= size for position in deciding):
        return
    mixed = [
        call if position in deciding else replacement
        for position, (call, replacement) in enumerate(
            zip(subject.calls, other.calls[:size], strict=True)
        )
    ]
    stepless = [type(call)(call.tool, call.args, call.result, None, call.error) for call in mixed]
    changed = Trace(stepless, answer=subject.answer, metrics=subject.metrics)
    again = evaluate(formula, view_of(formula, changed, order))
    assert again.outcome.passed is evaluation.outcome.passed


EXPLAINED = [
    # rule, trace, calls that matter for what they are, for what they are not
    ("CalledN(pay, <= 1)", "pay . pay pay", (0, 2), ()),
    ("G !drop", "a drop b drop", (1,), ()),
    ("G(search -> F cite)", ". search . .", (1,), (2, 3)),
    ("G(refund -> O verify)", ". refund verify", (1,), (0,)),
    ("Before(a, b)", "b . a", (0,), ()),
    ("Before(a, b)", "a .", (), (1,)),  # whatever comes first, no b can follow it
    ("F done", "a b", (), (0, 1)),
    ("Called(a)", ". a a", (1,), ()),
    ("BranchCalled(a, b)", "a b", (1,), ()),
    ("false", "a b", (), ()),
    ("CalledWith(pay, amount = 5)", 'pay{"amount":6} .', (0,), (1,)),
]


@pytest.mark.parametrize(("rule", "shown", "calls", "absence"), EXPLAINED)
def test_explained(rule: str, shown: str, calls: tuple[int, ...], absence: tuple[int, ...]) -> None:
    procedure = Procedure.from_dict({"constraints": [{"name": "c", "rule": rule}]})
    explanation = explain(trace(shown), procedure, "c")
    assert explanation.calls == calls
    assert explanation.absence == absence
    assert explanation.minimal


EXPLAINED_WITH_MESSAGES = [
    # rule, calls, messages that matter for what they are, for what they are not
    ("G(a -> X b)", (0,), (), (1,)),
    ("G(a -> X says(user))", (), (1,), (3,)),  # no other event need be looked at but for an a
    ("F says(system)", (), (), (1, 3)),
    ("G !says(user)", (), (1,), ()),
    ('G(b -> last(says(user)).text = "yes")', (1,), (1,), ()),
    ("G(b -> X says(user))", (1,), (), (3,)),
]


@pytest.mark.parametrize(("rule", "calls", "messages", "others"), EXPLAINED_WITH_MESSAGES)
def test_deciding_messages_are_named(
    rule: str, calls: tuple[int, ...], messages: tuple[int, ...], others: tuple[int, ...]
) -> None:
    said = Message("user", "wait"), Message("assistant", "Done.")
    subject = Trace([Call("a"), said[0], Call("b"), said[1]])
    spec = {"events": "all", "constraints": [{"name": "c", "rule": rule}]}
    explanation = explain(subject, Procedure.from_dict(spec), "c")
    assert explanation.calls == calls
    assert (explanation.messages, explanation.other_messages) == (messages, others)
    assert explanation.to_dict()["other_messages"] == [*others]
    assert explanation.minimal


def test_a_very_long_trace_is_explained_by_more_than_it_needs() -> None:
    subject = trace("a " * 4_500)
    procedure = Procedure.from_dict({"constraints": [{"name": "c", "rule": "F done"}]})
    explanation = explain(subject, procedure, "c")
    assert not explanation.minimal
    assert len(explanation.absence) == 4_500


def test_explaining_uses_the_order_of_the_procedure() -> None:
    spec = {"order": "step", "constraints": [{"name": "c", "rule": "Before(a, b)"}]}
    explanation = explain(trace("[a b] ."), Procedure.from_dict(spec), "c")
    assert explanation.calls == (1,)


def test_constraints_can_be_built_in_python() -> None:
    from bylaw.formulas import F, G, call

    rule = G(call("search") >> F(call("cite")))
    procedure = Procedure([Constraint("cited", rule)])
    assert procedure["cited"].rule == "G(search -> F cite)"
    assert explain(trace("search"), procedure, "cited").calls == (0,)
