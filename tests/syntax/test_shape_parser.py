"""The parser reads the table of operators, and says what it expected."""

from __future__ import annotations

import pytest

from bylaw import SpecError, parse, to_text
from bylaw.errors import Diagnostic
from bylaw.logic.operators import ARITHMETIC, BY_SPELLING, RELATIONS
from bylaw.syntax import shapes as s
from bylaw.syntax.shape_parser import read_shape


def _mistake(text: str) -> Diagnostic:
    with pytest.raises(SpecError) as caught:
        read_shape(text)
    (mistake,) = caught.value.diagnostics
    return mistake


@pytest.mark.parametrize("spelling", BY_SPELLING)
def test_every_spelling_is_read(spelling: str) -> None:
    operator = BY_SPELLING[spelling]
    texts = {
        "prefix": f"{spelling} a",
        "binder": f"{spelling} x in D: a",
        "let": f"{spelling} x = 1: a",
    }
    shape = read_shape(texts.get(operator.fixity, f"a {spelling} b"))
    assert isinstance(shape, s.Operation | s.Binder | s.LetShape)
    assert isinstance(shape, s.LetShape) or shape.symbol == spelling


@pytest.mark.parametrize("symbol", [*RELATIONS, *ARITHMETIC])
def test_every_relation_and_calculation_is_read(symbol: str) -> None:
    shape = read_shape(f"a {symbol} b")
    assert isinstance(shape, s.Relation | s.Arithmetic)
    assert shape.symbol == symbol


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a -> b -> c", "a -> (b -> c)"),
        ("a U b S c", "a U (b S c)"),
        ("!a U b", "(!a) U b"),
        ("G args.x = 1", "G (args.x = 1)"),
        ("a & b | c & d", "(a & b) | (c & d)"),
        ("a | exists x in [1]: b | c", "a | (exists x in [1]: (b | c))"),
        ("args.x - 1 - 2 * 3 = 4", "((args.x - 1) - (2 * 3)) = 4"),
        ("args.x -1 = 4", "args.x - 1 = 4"),
        ("args.in = args.G", 'args."in" = args["G"]'),
        ("a # a comment\n & b", "a & b"),
    ],
)
def test_grouping(text: str, same: str) -> None:
    assert parse(text) == parse(same)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a b", 3, "unexpected 'b': expected an operator or the end"),
        ("a &", 4, "the formula ends too early: expected a formula"),
        ("G(a", 4, "the formula ends too early: expected ')'"),
        ("a & -> b", 5, "unexpected '->': expected a formula"),
        ("x = !a", 5, "unexpected '!': expected a value"),
        ("f(", 3, "the formula ends too early: expected a formula, a comparison or ')'"),
        ("f(a,)", 5, "unexpected ')': expected a formula or a comparison"),
        ("f(a: b: c)", 7, "unexpected ':': expected an operator, ')' or ','"),
        ("f(<= 1 & a)", 8, "unexpected '&': expected arithmetic, ')' or ','"),
        ("forall x in D & a: b", 15, "unexpected '&': expected arithmetic or ':'"),
        ("forall 1 in D: a", 8, "unexpected '1': expected a name"),
        ("let x 1", 7, "unexpected '1': expected a comparison"),
        ("x.7", 3, "unexpected '7': expected a name or a string"),
        ("a[1", 4, "the formula ends too early: expected ']'"),
        ('"a', 1, "the string is not closed"),
        ("a $", 3, "unexpected character '$'"),
        ('"\\q" b', 1, "the string has an escape or a character that JSON does not know"),
    ],
)
def test_the_first_mistake_is_reported_with_its_place(text: str, column: int, message: str) -> None:
    mistake = _mistake(text)
    assert (mistake.line, mistake.column, mistake.message) == (1, column, message)


def test_comparisons_do_not_chain() -> None:
    assert _mistake("1 < args.x < 3").help == "A comparison has two sides: write a < b & b < c."


@pytest.mark.parametrize("opening", ["!", "G ", "X ", "a -> ", "a & X "])
def test_a_thousand_operators_may_nest(opening: str) -> None:
    text = opening * (990 // max(1, opening.count("&") * 2)) + "b"
    formula = parse(text)
    assert parse(to_text(formula)) == formula


def test_parentheses_nest_without_limit() -> None:
    assert parse("(" * 50_000 + "a" + ")" * 50_000) == parse("a")
