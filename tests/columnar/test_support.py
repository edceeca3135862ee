"""Formulas without columns are judged by the reference; nothing new crashes a corpus."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bylaw import Call, Constraint, Procedure, Trace, parse
from bylaw.logic import formula as f
from bylaw.logic.operators import BY_NODE
from bylaw.logic.terms import Apply, Literal, Reading, Tool, ToolName
from bylaw.scoring.verify import verify_trace
from bylaw.trace.files import Entry
from bylaw.vocabulary.predicate import Occurred, OperandKind, Parameter, Predicate, Probe, Tracker
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Kleene, Order, View

pytest.importorskip("msgspec", reason="NOT TESTED: msgspec is not installed")
pytest.importorskip("numpy", reason="NOT TESTED: numpy is not installed")

from bylaw.batch.input.chunks import TextLines
from bylaw.batch.scoring.scorer import Scorer
from bylaw.columnar.evaluation import unsupported_because

CORPUS = [
    Trace([Call("a", {"x": 1}, "yes")]),
    Trace([Call("b"), Call("a", {"x": 2}, error="no")]),
    Trace([Call("b", {"x": 1})]),
    Trace([]),
]


def _holds(view: View, tool: Tool) -> Kleene:
    """Some call of the tool succeeded."""
    return view.occurs(tool, (f.OutcomeIs("ok"),))


def _track(order: Order, tool: Tool) -> Tracker:
    return Occurred(Probe(tool, (f.OutcomeIs("ok"),)))


SUCCEEDED = Predicate(
    "Succeeded",
    "Succeeded(pay)",
    (Parameter("tool", OperandKind.TOOL),),
    _holds,
    lambda view, tool: [],
    lambda view, held, tool: "It succeeded." if held else "It did not succeed.",
    _track,
)


class Someday(f.Eventually):
    """An operator that columns know nothing of. It means what `F` means."""


class Computed(Apply):
    """A term that columns know nothing of. It is a function applied."""


OLD = parse("F a")
LARGE = f.Compare(">", Computed("abs", (Literal.of(-2),)), Literal.of(1))
FORMULAS: dict[str, f.Formula] = {
    "predicate": f.TracePredicate("Succeeded", (ToolName("a"),)),
    "predicate below an operator": f.Always(
        f.Implies(f.EventAtom(ToolName("b")), f.TracePredicate("Succeeded", (ToolName("b"),)))
    ),
    "operator": Someday(f.EventAtom(ToolName("a"))),
    "operator below others": f.Not(f.Always(f.Not(Someday(f.EventAtom(ToolName("a")))))),
    "term": LARGE,
    "term under a guard": f.Always(f.Implies(f.EventAtom(ToolName("a")), LARGE)),
    "term of the event": f.Eventually(
        f.Compare("=", Computed("length", (Reading("args"),)), Literal.of(1))
    ),
}


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_a_corpus_with_something_new_is_scored(
    formula: f.Formula, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PREDICATES, "Succeeded", SUCCEEDED)
    monkeypatch.setitem(BY_NODE, Someday, BY_NODE[f.Eventually])
    procedure = Procedure([Constraint("new", formula), Constraint("old", OLD)])
    expected = [verify_trace(trace, procedure).score for trace in CORPUS]
    assert len(set(expected)) > 1
    assert unsupported_because(formula) is not None

    lines = "\n".join(json.dumps(trace.to_record()) for trace in CORPUS)
    of_lines = Scorer(procedure).lines(TextLines("f.jsonl", 1, lines.encode()))
    assert list(of_lines.values) == expected
    assert of_lines.alone["new"]
    assert not of_lines.alone["old"]

    of_traces = Scorer(procedure).entries(Entry(str(n), trace) for n, trace in enumerate(CORPUS))
    assert list(of_traces.values) == expected


def test_columns_of_a_new_predicate_read_what_its_probes_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results are decoded for it, although only its probes say that it needs them."""
    with_columns = replace(
        SUCCEEDED, columns=lambda calls, tool: calls.counts(Probe(tool, (f.OutcomeIs("ok"),))) > 0
    )
    monkeypatch.setitem(PREDICATES, "Succeeded", with_columns)
    formula = FORMULAS["predicate"]
    procedure = Procedure([Constraint("new", formula)])
    assert unsupported_because(formula) is None
    lines = "\n".join(json.dumps(trace.to_record()) for trace in CORPUS)
    scores = Scorer(procedure).lines(TextLines("f.jsonl", 1, lines.encode()))
    expected = [verify_trace(trace, procedure).score for trace in CORPUS]
    assert list(scores.values) == expected
    assert not scores.alone["new"]
