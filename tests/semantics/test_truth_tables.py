"""Every operator and predicate means what its truth table says."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast, get_args

import pytest
from notation import Row, all_rows, rows, trace
from textbook import textbook

from bylaw import parse
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.operators import BOUNDED, OPERATORS, RELATIONS, Operator
from bylaw.logic.terms import FIELDS, Apply, Reading, Term, ToolGlob
from bylaw.logic.walk import everything
from bylaw.semantics.evaluation import evaluate, holds, view_of
from bylaw.semantics.verdict import Value
from bylaw.trace.event import ROLES
from bylaw.trace.trace import Events
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Order

VALUES = {"yes": Value.TRUE, "no": Value.FALSE, "vacuous": Value.VACUOUS}
ROWS = list(all_rows())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place} {row.formula} on {row.trace}")
def test_row(row: Row) -> None:
    formula, subject = parse(row.formula), row.subject()
    order, events = cast(Order, row.order), cast(Events, row.events)
    evaluation = evaluate(formula, view_of(formula, subject, order, events))
    assert evaluation.value is VALUES[row.value], row.why
    assert holds(formula, subject, order=order, events=events) is (row.value != "no"), row.why
    assert textbook(formula, subject, order, events) is (row.value != "no"), row.why


def _rows_where(uses: Callable[[Node], bool], *tables: str) -> list[Row]:
    """The rows of these tables whose formula has such a part."""
    return [
        row
        for table in tables
        for row in rows(table)
        if any(map(uses, everything(parse(row.formula))))
    ]


def _rows_with(node: type[Node] | str, table: str) -> list[Row]:
    """The rows of a table whose formula contains an operator or a predicate."""
    if isinstance(node, str):
        return _rows_where(lambda p: isinstance(p, f.TracePredicate) and p.name == node, table)
    return _rows_where(lambda p: isinstance(p, node), table)


def _complete(found: list[Row]) -> bool:
    """Both truth values and the empty trace."""
    values = {row.value for row in found}
    return {"yes", "no"} <= values and any(row.trace == "(empty)" for row in found)


_TABLES = {
    f.ForAll: "quantifiers.cases",
    f.Exists: "quantifiers.cases",
    f.Let: "data.cases",
    f.Earlier: "data.cases",
    f.Later: "data.cases",
}


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.tag)
def test_every_operator_has_rows(operator: Operator) -> None:
    assert _complete(_rows_with(operator.node, _TABLES.get(operator.node, "operators.cases")))


DATA = (f.Earlier, f.Later, f.Says, f.Compare, f.Listed, f.Found, ToolGlob, *get_args(Term))


@pytest.mark.parametrize("node", DATA, ids=lambda node: node.__name__)
def test_every_part_that_speaks_of_data_has_rows(node: type[Node]) -> None:
    assert _complete(_rows_with(node, "data.cases"))


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_has_rows(field: str) -> None:
    assert _complete(
        _rows_where(lambda part: part == Reading(field), "data.cases", "time.cases")  # type: ignore[arg-type]  # one of the fields
    )


@pytest.mark.parametrize("node", BOUNDED, ids=lambda node: node.__name__)
def test_every_operator_with_a_bound_in_time_has_rows(node: type[Node]) -> None:
    assert _complete(_rows_with(node, "time.cases"))


@pytest.mark.parametrize("role", ROLES)
def test_every_role_has_rows(role: str) -> None:
    assert _complete(_rows_where(lambda part: part == f.Says(role), "data.cases"))


@pytest.mark.parametrize("symbol", RELATIONS)
def test_every_relation_has_rows(symbol: str) -> None:
    """Also with undefined and null operands."""
    found = _rows_where(lambda p: isinstance(p, f.Compare) and p.symbol == symbol, "data.cases")
    assert _complete(found)
    assert any(row.trace == "a" and row.value == "no" for row in found)
    assert any("null" in row.trace and row.value == "no" for row in found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_rows(name: str) -> None:
    """Both truth values, an undefined operand, and a list where it takes them one by one."""
    found = _rows_where(lambda p: isinstance(p, Apply) and p.function == name, "functions.cases")
    assert {"yes", "no"} <= {row.value for row in found}
    assert any(row.trace == "a" and row.value == "no" for row in found)
    if any(place.lifts for place in FUNCTIONS[name].takes):
        assert any("[" in row.trace and row.value == "yes" for row in found)


@pytest.mark.parametrize("name", PREDICATES)
def test_every_predicate_has_rows(name: str) -> None:
    """Both truth values, the empty trace, parallel calls, and both orders."""
    found = _rows_with(name, "predicates.cases")
    assert {"yes", "no"} <= {row.value for row in found}
    assert any(row.trace == "(empty)" for row in found)
    assert any("[" in row.trace.split("{")[0] for row in found)
    assert _rows_with(name, "predicates-by-step.cases")


@pytest.mark.parametrize("name", ["Before", "After", "AllBefore", "InstanceBefore", "InOrder"])
def test_ordering_predicates_tell_the_orders_apart(name: str) -> None:
    """Some trace with a parallel step separates `order: position` from `order: step`."""
    assert any(
        holds(parse(row.formula), trace(row.trace), order="position")
        is not holds(parse(row.formula), trace(row.trace), order="step")
        for row in _rows_with(name, "predicates-by-step.cases")
    )
