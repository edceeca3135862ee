"""Rules that ask for other events by values: in columns, they mean what the reference says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_traces

from bylaw import Call, Message, Trace, parse
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import TRUE
from bylaw.trace.event import Event

pytest.importorskip("msgspec", reason="NOT TESTED: msgspec is not installed")
pytest.importorskip("numpy", reason="NOT TESTED: numpy is not installed")

import bylaw.columnar.segments as segments
from bylaw.columnar.columns import Codes, Subject
from bylaw.columnar.evaluation import ColumnarEvaluation, unsupported_because
from bylaw.columnar.from_traces import columns_of

RULES = [
    # by an argument or a result that is equal
    "let x = args.i: earlier call(a, i = x)",
    "let x = args.i: Y O call(a, i = x, ok)",
    "let x = args.i: !O call({a, b}, j = x)",
    "let x = result: earlier call(b, result = x)",
    "let x = args.i: let y = args.j: earlier call(a, i = x, j = y)",
    "let x = args.i: earlier (call & args.j = x)",
    "let x = args.i: earlier (call & x = args.j)",
    "let x = step: Y (call & step = x)",
    # as an element, or as a part of a text
    "forall x in args.i: earlier (call(a) & x in args.j)",
    "forall x in [args.i, args.j]: earlier (call & keys(args) contains x)",
    "forall x in find(text, /[a-z]/): earlier (says(user) & text contains x)",
    'forall x in find(text, /./): x = "h" | earlier ((says(user) | ok) & text contains x)',
    "let x = args.i: earlier (normalise(text) contains x)",
    # in the latest event
    "let x = args.i: last(call(a, i = x)).args.j = x",
    "let x = args.i: let o = last(call({a, b}, i = x, ok)).result: o.i = args.j",
    "let x = args.i, o = last(call & args.j = x): o.tool = tool",
    "let x = last(says(user)).text: x contains text",
    "exists x in args.i: length(unique(sofar(call(a, i = x)).args.j)) >= 1",
    # with other conditions that depend on the row
    "let x = args.i, y = step: earlier (call(a, i = x) & step < y)",
    "let y = last(says(user)).step: earlier (says(assistant) & step < y)",
    "let x = args.i: earlier (call & (args.j = x | args.i = x))",
    "let x = args.i: earlier (call(a) & (args.i = x -> earlier call(b, j = x)))",
    "let x = args.i: earlier (call(a) & forall z in args.j: z = x)",
    "let x = args.i: O (a & F call(b, i = x))",
    "let x = args.i: H (call -> args.j != x)",
    "let x = args.i: F call(b, j = x)",
    "let x = args.i: earlier (let x = args.j: call(a, i = x))",
    "let x = args.i: count(z in args.j: z = x) >= 1",
    "let x = args.i: X (call & args.i = x)",
    "let x = tool: earlier call(x)",
]
TRACES = st.lists(data_traces(8), min_size=1, max_size=4)
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]


def _agree(rules: list[str], corpus: list[Trace]) -> None:
    columns, there = columns_of(corpus, Codes(), "all")
    if not len(there):
        return
    over = ColumnarEvaluation(Subject(columns))
    for rule in rules:
        formula = parse(rule)
        column = over.column(formula)
        checked = column.checked.tolist()
        for number, trace in enumerate(there):
            found = evaluate(formula, view_of(formula, corpus[trace], "position", "all"))
            start = int(columns.segments.starts[number])
            for at in range(len(found.view)):
                value = found.at(formula, at)
                assert bool(column.true[start + at]) is value.is_true, (rule, at)
                assert checked[start + at] is (value is TRUE), (rule, at)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_columns(rule: str) -> None:
    assert unsupported_because(parse(rule)) is None


@cases(100, suppress_health_check=CHECKS)
@given(TRACES)
def test_searches_find_what_the_reference_finds(corpus: list[Trace]) -> None:
    _agree(RULES, corpus)


@cases(30, suppress_health_check=CHECKS)
@given(TRACES)
def test_searches_in_small_portions_find_the_same(corpus: list[Trace]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MAX_POSITIONS", 3)
        _agree(RULES, corpus)


def test_null_equals_null_in_a_pattern_and_nothing_in_a_comparison() -> None:
    events: list[Event] = [Call("a", {"i": None, "j": None}), Call("a", {"i": None, "j": None})]
    _agree(RULES, [Trace(events)])


def test_values_of_every_kind_are_told_apart() -> None:
    values = [1, 1.0, True, "1", [1], [True], {"k": 1}, None, "", []]
    calls: list[Event] = [Call("a", {"i": i, "j": j}) for i in values for j in values]
    said: list[Event] = [Message("user", "1"), Message("assistant", "")]
    _agree(RULES, [Trace([*calls[::3], *said, *calls[::5]])])
