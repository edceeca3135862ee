"""One law: columns give a corpus the values that the reference gives each trace."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from random_cases import cases
from strategies import (
    data_formulas,
    data_terms,
    data_traces,
    formulas,
    past_rules,
    quantified,
    traces,
)

from bylaw import Constraint, Procedure, Trace
from bylaw.logic.formula import Formula, Let
from bylaw.logic.terms import Term
from bylaw.logic.walk import inlined
from bylaw.scoring.verify import CheckedTrace, verify_trace
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import FALSE, TRUE, VACUOUS, Value
from bylaw.trace.files import Entry
from bylaw.trace.trace import Events
from bylaw.vocabulary.view import Order

pytest.importorskip("msgspec", reason="NOT TESTED: msgspec is not installed")
pytest.importorskip("numpy", reason="NOT TESTED: numpy is not installed")

import numpy as np

from bylaw.batch.input.chunks import TextLines
from bylaw.batch.scoring.scorer import Scorer, Scores
from bylaw.columnar.columns import Codes, Subject
from bylaw.columnar.evaluation import ColumnarEvaluation, unsupported_because
from bylaw.columnar.from_traces import columns_of
from bylaw.columnar.rows import Rows
from bylaw.columnar.segments import TruthColumn
from bylaw.semantics.verdict import OUTCOMES

ORDERS = st.sampled_from(["position", "step"])
EVENTS = st.sampled_from(["all", "calls"])
FORMULAS = formulas() | quantified() | data_formulas() | past_rules()
CORPORA = st.lists(traces() | data_traces(), min_size=1, max_size=6)
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = cases(100, suppress_health_check=CHECKS)
MANY = cases(1000, suppress_health_check=CHECKS)


@FEW
@given(FORMULAS, CORPORA, ORDERS, EVENTS)
def test_at_every_position_columns_say_what_the_reference_says(
    formula: Formula, corpus: list[Trace], order: Order, events: Events
) -> None:
    _agree(formula, corpus, order, events)


@pytest.mark.slow
@MANY
@given(FORMULAS, CORPORA, ORDERS, EVENTS)
def test_columns_agree_with_the_reference_on_many_formulas(
    formula: Formula, corpus: list[Trace], order: Order, events: Events
) -> None:
    _agree(formula, corpus, order, events)


def _agree(formula: Formula, corpus: list[Trace], order: Order, events: Events) -> None:
    if unsupported_because(formula) is not None:
        return
    columns, there = columns_of(corpus, Codes(), events)
    if not len(there):
        return
    over = ColumnarEvaluation(Subject(columns, order))
    column, starts = over.column(formula), over.start(formula)
    for number, trace in enumerate(there):
        evaluation = evaluate(formula, view_of(formula, corpus[trace], order, events))
        if len(evaluation.view) != columns.segments.lengths[number]:
            continue  # it sees the answer, and is tested below
        expected = [evaluation.at(formula, at) for at in range(len(evaluation.view))]
        span = slice(columns.segments.starts[number], columns.segments.ends[number])
        assert _values(column.at(np.arange(span.start, span.stop))) == expected
        assert _values(starts.at(np.array([number]))) == expected[:1]


@FEW
@given(data_terms(), data_formulas(3, ("x",)), CORPORA, ORDERS, EVENTS)
def test_in_columns_a_name_changes_nothing(
    term: Term, body: Formula, corpus: list[Trace], order: Order, events: Events
) -> None:
    """`let` is substitution; its instances say what the term itself says."""
    named = Let("x", term, body)
    plain = inlined(named)
    if plain is None or unsupported_because(named) is not None:
        return
    columns, there = columns_of(corpus, Codes(), events)
    if not len(there):
        return
    over = ColumnarEvaluation(Subject(columns, order))
    places = over.segments.everywhere
    assert _values(Rows(over, places).value(named)) == _values(over.at(plain, places))


def _values(column: TruthColumn) -> list[Value]:
    vacuous = np.zeros_like(column.true) if column.vacuous is None else column.vacuous
    pairs = zip(column.true.tolist(), vacuous.tolist(), strict=True)
    return [VACUOUS if empty else TRUE if true else FALSE for true, empty in pairs]


def _procedure(rules: list[Formula], order: Order, events: Events) -> Procedure:
    constraints = [Constraint(f"rule {number}", rule) for number, rule in enumerate(rules)]
    return Procedure(constraints, order=order, events=events)


def _judged(procedure: Procedure, corpus: list[Trace]) -> list[list[object]]:
    return [list(CheckedTrace(trace, procedure).outcomes()) for trace in corpus]


def _outcomes(scores: Scores) -> list[list[object]]:
    return [[OUTCOMES[code] for code in row] for row in scores.outcomes]


RULES = st.lists(FORMULAS, min_size=1, max_size=3)


@FEW
@given(RULES, CORPORA, ORDERS, EVENTS)
def test_a_corpus_of_traces_is_judged_as_each_trace_is(
    rules: list[Formula], corpus: list[Trace], order: Order, events: Events
) -> None:
    procedure = _procedure(rules, order, events)
    scores = Scorer(procedure).entries(Entry(str(n), trace) for n, trace in enumerate(corpus))
    assert _outcomes(scores) == _judged(procedure, corpus)
    assert scores.names == [str(number) for number in range(len(corpus))]
    for trace, score in zip(corpus, scores.values, strict=True):
        assert score == verify_trace(trace, procedure).score


@FEW
@given(RULES, CORPORA, ORDERS, EVENTS, st.integers(1, 40))
def test_a_corpus_of_lines_is_judged_as_each_trace_is(
    rules: list[Formula], corpus: list[Trace], order: Order, events: Events, first: int
) -> None:
    procedure = _procedure(rules, order, events)
    lines = [json.dumps(trace.to_record()) for trace in corpus]
    scores = Scorer(procedure).lines(TextLines("f.jsonl", first, "\n".join(lines).encode()))
    assert not scores.unusable
    assert scores.names == [f"f.jsonl:{first + number}" for number in range(len(corpus))]
    assert _outcomes(scores) == _judged(procedure, corpus)
    assert scores.calls.tolist() == [len(trace.calls) for trace in corpus]
