"""Text, JSON and Python are three forms of one formula."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from notation import Row, all_rows
from random_cases import cases
from strategies import data_formulas, formulas, json_values

from bylaw import SpecError, from_json, parse, to_json, to_python, to_text
from bylaw import formulas as python
from bylaw.logic.formula import Formula
from bylaw.logic.node import MAX_DEPTH
from bylaw.logic.operators import OPERATORS, Operator
from bylaw.semantics.evaluation import holds
from bylaw.trace.trace import Trace


@cases(250)
@given(formulas() | data_formulas())
def test_text(formula: Formula) -> None:
    assert parse(to_text(formula)) == formula


@cases(150)
@given(formulas() | data_formulas())
def test_json(formula: Formula) -> None:
    assert from_json(json.loads(json.dumps(to_json(formula)))) == formula


@cases(150)
@given(formulas() | data_formulas())
def test_python(formula: Formula) -> None:
    assert eval(to_python(formula), vars(python)) == formula


@given(json_values)
def test_values_of_every_kind(value: object) -> None:
    formula = python.CalledWith("a", q=value)
    assert parse(to_text(formula)) == formula
    assert from_json(json.loads(json.dumps(to_json(formula)))) == formula
    assert eval(to_python(formula), vars(python)) == formula


@pytest.mark.parametrize("row", list(all_rows()), ids=lambda row: row.place)
def test_truth_table_formulas(row: Row) -> None:
    formula = parse(row.formula)
    assert parse(to_text(formula)) == formula
    assert from_json(to_json(formula)) == formula
    assert eval(to_python(formula), vars(python)) == formula


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.tag)
def test_the_parser_knows_every_spelling_in_the_table(operator: Operator) -> None:
    for symbol in (operator.symbol, *operator.words):
        text = {
            "prefix": f"{symbol} a",
            "right": f"a {symbol} b",
            "flat": f"a {symbol} b",
            "binder": f"{symbol} x in [1]: a",
            "let": f"{symbol} x = 1: a",
        }[operator.fixity]
        assert isinstance(parse(text), operator.node)


@pytest.mark.parametrize(
    ("looser", "tighter"),
    [(a, b) for a in OPERATORS for b in OPERATORS if 0 < a.precedence < b.precedence],
    ids=lambda operator: operator.tag,
)
def test_the_parser_binds_as_the_table_says(looser: Operator, tighter: Operator) -> None:
    loose, tight = looser.symbol, tighter.symbol
    if tighter.fixity == "prefix":
        assert parse(f"{tight} a {loose} b") == parse(f"({tight} a) {loose} b")
    else:
        assert parse(f"a {tight} b {loose} c") == parse(f"(a {tight} b) {loose} c")
        assert parse(f"a {loose} b {tight} c") == parse(f"a {loose} (b {tight} c)")


def test_a_quantifier_reaches_as_far_as_it_can() -> None:
    assert parse("forall x in [1]: a & b") == parse("forall x in [1]: (a & b)")
    assert parse("a & forall x in [1]: b | c") == parse("a & (forall x in [1]: (b | c))")
    assert parse("G forall x in [1]: a -> b") == parse("G (forall x in [1]: (a -> b))")


# ── depth ─────────────────────────────────────────────────────────────────────────────────


def _tower(depth: int) -> str:
    return "G(a -> " * (depth // 2) + "b" + ")" * (depth // 2)


def test_a_formula_a_thousand_deep_works_in_every_way() -> None:
    formula = parse(_tower(MAX_DEPTH))
    assert parse(to_text(formula)) == formula
    assert from_json(json.loads(json.dumps(to_json(formula)))) == formula
    assert hash(formula) == hash(parse(_tower(MAX_DEPTH)))
    assert repr(formula).startswith("Always(Implies(")
    assert to_python(formula).startswith("G(call('a') >> G(")
    assert holds(formula, Trace()) is True


@pytest.mark.parametrize("text", [_tower(MAX_DEPTH + 2), "!" * 50_000 + "a", "X(" * 20_000])
def test_deeper_is_a_diagnostic(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert caught.value.diagnostics[0].code in ("E112", "E101")


def test_ten_thousand_conjuncts_are_one_level() -> None:
    formula = parse(" & ".join(["a"] * 10_000))
    assert parse(to_text(formula)) == formula
