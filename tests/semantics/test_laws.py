"""Laws that the reference obeys for every formula and trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import formulas, traces
from textbook import textbook, textbook_row

from bylaw import Call, Trace, holds
from bylaw.formulas import (
    WX,
    F,
    G,
    H,
    O,
    R,
    S,
    U,
    W,
    X,
    Y,
    call,
    exists,
    false,
    forall,
    listed,
    true,
)
from bylaw.logic.formula import And, Formula, Implies, Not, Or
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.reference import reading
from bylaw.semantics.scope import EvaluationScope
from bylaw.semantics.verdict import FALSE, TRUE, UNKNOWN, VACUOUS, Value
from bylaw.vocabulary.view import Order, View, mask_of

ORDERS = st.sampled_from(["position", "step"])


@cases(300)
@given(formulas(), traces(), ORDERS)
def test_the_reference_is_the_textbook(formula: Formula, trace: Trace, order: Order) -> None:
    assert holds(formula, trace, order=order) is textbook(formula, trace, order)


_A, _B, _C = map(call, "abc")


@pytest.mark.parametrize(
    "formula", [U(~_A, _B), U(_A | _B, _C), W(~_A, _B), W(_A | _B, _C), R(_A, ~_B), R(_C, _A | _C)]
)
@given(st.text("aaabc", max_size=30))
def test_however_many_positions_are_requested_each_has_the_textbooks_value(
    formula: Formula, tools: str
) -> None:
    """A few positions and many are computed in different ways."""
    view = view_of(formula, Trace(map(Call, tools)))
    scope, truth = EvaluationScope(view), reading(formula)
    expected = mask_of([i for i, holds in enumerate(textbook_row(formula, view)) if holds])
    assert truth(scope, scope.everywhere)[0] & scope.positions == expected
    for i in range(len(view)):
        assert truth(scope, 1 << i)[0] >> i & 1 == expected >> i & 1


def _same(left: Formula, right: Formula, trace: Trace) -> None:
    """Two formulas have one truth value; both see the answer or neither does."""
    pair = left.iff(right)
    assert evaluate(pair, view_of(pair, trace)).value is TRUE


Law: TypeAlias = Callable[[Formula, Formula], tuple[Formula, Formula]]

LAWS: dict[str, Law] = {
    "G is the dual of F": lambda a, b: (G(a), ~F(~a)),
    "WX is the dual of X, where there is an event": lambda a, b: (WX(a), ~X(~a)),
    "H is the dual of O": lambda a, b: (H(a), ~O(~a)),
    "R is the dual of U": lambda a, b: (R(a, b), ~U(~a, ~b)),
    "W is U or G": lambda a, b: (W(a, b), U(a, b) | G(a)),
    "R by W": lambda a, b: (R(a, b), W(b, a & b)),
    "F by U": lambda a, b: (F(a), U(true, a)),
    "G by R": lambda a, b: (G(a), R(false, a)),
    "O by S": lambda a, b: (O(a), S(true, a)),
    "implication": lambda a, b: (a >> b, ~a | b),
    "De Morgan": lambda a, b: (~(a & b), ~a | ~b),
    "double negation": lambda a, b: (a, ~~a),
    "GG is G": lambda a, b: (G(G(a)), G(a)),
    "FF is F": lambda a, b: (F(F(a)), F(a)),
    "G over &": lambda a, b: (G(a & b), G(a) & G(b)),
    "F over |": lambda a, b: (F(a | b), F(a) | F(b)),
}
"""Each pair has one truth value on every trace."""

EXPANSIONS: dict[str, Law] = {
    "F": lambda a, b: (F(a), a | X(F(a))),
    "G": lambda a, b: (G(a), a & WX(G(a))),
    "U": lambda a, b: (U(a, b), b | (a & X(U(a, b)))),
    "W": lambda a, b: (W(a, b), b | (a & WX(W(a, b)))),
    "R": lambda a, b: (R(a, b), b & (a | WX(R(a, b)))),
    "O": lambda a, b: (O(a), a | Y(O(a))),
    "H": lambda a, b: (H(a), a & ~Y(~H(a))),
    "S": lambda a, b: (S(a, b), b | (a & Y(S(a, b)))),
}
"""Unfolding: an operator's claim now, and its claim at the next or the previous event. On the
empty trace there is no now, so they are laws of traces that have events."""


@pytest.mark.parametrize("law", LAWS)
@given(formulas(2), formulas(2), traces())
def test_law(law: str, a: Formula, b: Formula, trace: Trace) -> None:
    _same(*LAWS[law](a, b), trace)


@pytest.mark.parametrize("operator", EXPANSIONS)
@given(formulas(2), formulas(2), traces().filter(lambda trace: len(trace) > 0))
def test_expansion(operator: str, a: Formula, b: Formula, trace: Trace) -> None:
    left, right = EXPANSIONS[operator](a, b)
    _same(G(left.iff(right)), true, trace)


@given(formulas(2), traces())
def test_quantifiers_over_one_value_are_the_instance(body: Formula, trace: Trace) -> None:
    _same(forall("x", listed(1), body), body, trace)
    _same(exists("x", listed(1), body), body, trace)
    _same(forall("x", listed(1), body), ~exists("x", listed(1), ~body), trace)


@given(formulas(), traces(), ORDERS)
def test_vacuity_never_changes_the_truth(formula: Formula, trace: Trace, order: Order) -> None:
    value = evaluate(formula, view_of(formula, trace, order)).value
    assert value is not UNKNOWN
    assert value.is_true is textbook(formula, trace, order)


@given(formulas(3), formulas(3), traces())
def test_implication_is_vacuous_exactly_where_its_antecedent_fails_or_its_consequent_is(
    a: Formula, b: Formula, trace: Trace
) -> None:
    evaluation = evaluate(Implies(a, b), view_of(Implies(a, b), trace))
    left, right = evaluation.at(a, 0), evaluation.at(b, 0)
    assert evaluation.value is (Value.VACUOUS if left is FALSE else right)


# ── the connectives on four values ────────────────────────────────────────────────────────

ALL = st.sampled_from(list(Value))
KNOWN = [value for value in Value if value is not UNKNOWN]


OPERANDS: dict[Value, Formula] = {
    FALSE: false,
    TRUE: true,
    VACUOUS: Implies(false, true),
    UNKNOWN: call("a"),
}
"""A formula for each value, on a trace of one hidden event."""


def _value(formula: Formula) -> Value:
    trace = Trace([Call("a")])
    return evaluate(formula, View(trace, trace.calls, hidden=frozenset({0}))).value


@pytest.mark.parametrize(("value", "formula"), OPERANDS.items())
def test_there_is_a_formula_for_each_value(value: Value, formula: Formula) -> None:
    assert _value(formula) is value


@pytest.mark.parametrize("a", Value)
@pytest.mark.parametrize("b", Value)
@pytest.mark.parametrize("c", Value)
@pytest.mark.parametrize("join", [And, Or])
def test_and_and_or_do_not_depend_on_the_order_of_evaluation(
    join: type[And | Or], a: Value, b: Value, c: Value
) -> None:
    x, y, z = OPERANDS[a], OPERANDS[b], OPERANDS[c]
    assert _value(join((x, y))) is _value(join((y, x)))
    assert _value(join((x, y, z))) is _value(join((z, y, x)))
    assert _value(join((x, x))) is a


CONNECTIVES: dict[str, Callable[[Formula, Formula], Formula]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "implies": lambda x, y: x >> y,
    "iff": lambda x, y: x.iff(y),
    "not": lambda x, y: ~x,
    "until": U,
    "weak until": W,
    "release": R,
    "since": S,
}


@pytest.mark.parametrize("a", Value)
@pytest.mark.parametrize("b", Value)
@pytest.mark.parametrize("name", CONNECTIVES)
def test_unknown_is_strong_kleene(name: str, a: Value, b: Value) -> None:
    """A connective is unknown exactly where what is known leaves both truth values open."""

    def completions(value: Value) -> list[Formula]:
        return [true, false] if value is UNKNOWN else [OPERANDS[value]]

    connective = CONNECTIVES[name]
    possible = {_value(connective(x, y)).is_true for x in completions(a) for y in completions(b)}
    answer = _value(connective(OPERANDS[a], OPERANDS[b]))
    assert (answer is UNKNOWN) is (len(possible) > 1)
    assert answer is UNKNOWN or answer.is_true is possible.pop()


def test_formulas_refuse_python_truth() -> None:
    with pytest.raises(TypeError, match="has no truth value"):
        bool(Not(true))
    with pytest.raises(TypeError):
        Or((true, false)) and true
