"""Every operator and predicate means what its truth table says."""

from __future__ import annotations

from typing import cast

import pytest
from notation import Row, all_rows, rows, trace
from textbook import textbook

from bylaw import parse
from bylaw.logic import formula as f
from bylaw.logic.operators import OPERATORS
from bylaw.logic.walk import everything
from bylaw.semantics.reference import evaluate, holds, view_of
from bylaw.semantics.verdict import Value
from bylaw.trace.trace import Events
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


def _rows_with(node: type[f.Formula] | str, table: str) -> list[Row]:
    """The rows of a table whose formula contains an operator or a predicate."""
    found = []
    for row in rows(table):
        parts = everything(parse(row.formula))
        if isinstance(node, str):
            uses = any(isinstance(p, f.TracePredicate) and p.name == node for p in parts)
        else:
            uses = any(isinstance(part, node) for part in parts)
        if uses:
            found.append(row)
    return found


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.tag)
def test_every_operator_has_rows(operator: object) -> None:
    """Both truth values and the empty trace."""
    node = operator.node  # type: ignore[attr-defined]
    table = "quantifiers.cases" if node in (f.ForAll, f.Exists) else "operators.cases"
    found = _rows_with(node, table)
    assert {"yes", "no"} <= {row.value for row in found}
    assert any(row.trace == "(empty)" for row in found)


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
