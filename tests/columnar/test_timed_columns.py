"""Rules about time over a corpus: columns, the reference and the monitors say the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from random_cases import chosen_number
from timed_formulas import TimedFormulas
from timed_rules import DEADLINES, OTHERS, WINDOWS
from timed_traces import timed_trace

from bylaw import Call, Constraint, Monitor, Procedure, Trace, parse
from bylaw.logic.formula import Formula
from bylaw.logic.walk import is_timed, sees_answer
from bylaw.scoring.missing_times import notes_on_times
from bylaw.scoring.verify import CheckedTrace, verify_trace
from bylaw.semantics.evaluation import evaluate, view_of
from bylaw.semantics.verdict import FALSE, TRUE, VACUOUS, Value
from bylaw.trace.event import Event, Message
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
from bylaw.columnar.segments import TruthColumn
from bylaw.semantics.verdict import OUTCOMES

RUNS = int(os.environ.get("BYLAW_TIMED_RUNS", "12"))
"""The number of corpora for each rule."""
PAIRS = chosen_number("BYLAW_TIMED_PAIRS", 3_000)
"""The number of random pairs of a formula and a trace."""
SIZE = 6
"""The number of traces of a corpus."""
RULES = (*WINDOWS, *DEADLINES, *OTHERS)

# ── corpora ───────────────────────────────────────────────────────────────────────────────

Change = Callable[[Random, list[Event]], list[Event]]


def _with_starts(events: list[Event], start: Callable[[float | None], float | None]) -> list[Event]:
    return [replace(event, start=start(event.start)) for event in events]


def _shuffled(random: Random, events: list[Event]) -> list[Event]:
    """The starts in any order."""
    starts = [event.start for event in events]
    random.shuffle(starts)
    return [replace(event, start=start) for event, start in zip(events, starts, strict=True)]


def _today(random: Random, events: list[Event]) -> list[Event]:
    """Times of today, as floats that are not exact."""
    return _with_starts(events, lambda start: None if start is None else 1.7e9 + start * 1.1)


def _far(random: Random, events: list[Event]) -> list[Event]:
    """Times whose microseconds no float holds, nor 64 bits."""
    times = [1e14, 1e14 + 0.5, 10**14 + 1, 2**53, 2**53 - 1, -(2.0**53), 0, 3]
    return _with_starts(events, lambda _: random.choice(times))


def _undated(random: Random, events: list[Event]) -> list[Event]:
    return _with_starts(events, lambda _: None)


def _whole(random: Random, events: list[Event]) -> list[Event]:
    """Whole seconds as whole numbers, so that many events tie."""
    return _with_starts(events, lambda start: None if start is None else int(start))


def _spoken(random: Random, events: list[Event]) -> list[Event]:
    """With messages in between."""
    found = list(events)
    for _ in range(random.randint(1, 3)):
        place = random.randint(0, len(found))
        near = found[min(place, len(found) - 1)] if found else None
        said = Message("user", "hi", near.step if near else 0, near.start if near else 1.0, "x")
        found.insert(place, said)
    return found


CHANGES: tuple[Change, ...] = (
    *(lambda random, events: events,) * 3,
    *(_shuffled, _shuffled, _today, _far, _undated, _whole, _spoken),
)


def _trace(random: Random) -> Trace:
    events = random.choice(CHANGES)(random, list(timed_trace(random, 9)))
    answered = random.choice([None, 3.0, 20])
    return Trace(events, answer=random.choice([None, "yes"]), answered=answered)


def _corpus(random: Random) -> list[Trace]:
    return [_trace(random) for _ in range(SIZE)]


# ── the law ───────────────────────────────────────────────────────────────────────────────


def _values(column: TruthColumn) -> list[Value]:
    vacuous = np.zeros_like(column.true) if column.vacuous is None else column.vacuous
    pairs = zip(column.true.tolist(), vacuous.tolist(), strict=True)
    return [VACUOUS if empty else TRUE if true else FALSE for true, empty in pairs]


def _columns_agree(formula: Formula, corpus: list[Trace], order: Order, events: Events) -> None:
    """At every position, columns say what the reference says."""
    columns, there = columns_of(corpus, Codes(), events, answer=sees_answer(formula))
    over = ColumnarEvaluation(Subject(columns, order))
    found, starts = _values(over.column(formula)), _values(over.start(formula))
    for number, trace in enumerate(there):
        evaluation = evaluate(formula, view_of(formula, corpus[trace], order, events))
        expected = [evaluation.at(formula, at) for at in range(len(evaluation.view))]
        begin, end = columns.segments.starts[number], columns.segments.ends[number]
        assert found[begin:end] == expected, corpus[trace].to_record()
        assert starts[number] is expected[0], corpus[trace].to_record()


def _lines_agree(formula: Formula, corpus: list[Trace], order: Order, events: Events) -> None:
    """Lines and traces are scored as each trace is, and none is judged alone."""
    procedure = Procedure([Constraint("rule", formula)], order=order, events=events)
    expected = [CheckedTrace(trace, procedure).outcomes() for trace in corpus]
    undated = sum(bool(list(notes_on_times(verify_trace(each, procedure)))) for each in corpus)
    lines = "\n".join(json.dumps(trace.to_record()) for trace in corpus).encode()
    entries = (Entry(str(number), trace) for number, trace in enumerate(corpus))
    scorer = Scorer(procedure)
    for scores in (scorer.lines(TextLines("f.jsonl", 1, lines)), scorer.entries(entries)):
        assert not scores.unusable
        assert _outcomes(scores) == [list(each) for each in expected]
        assert scores.notes["W527"] == undated
        assert not scores.alone.total()


def _outcomes(scores: Scores) -> list[list[object]]:
    return [[OUTCOMES[code] for code in row] for row in scores.outcomes]


def _monitor_agrees(formula: Formula, trace: Trace, order: Order, events: Events) -> bool:
    """Event by event, a monitor comes to what columns say; it needs events in order of time."""
    starts = [event.start for event in trace.events if event.start is not None]
    if starts != sorted(starts) or sees_answer(formula) or not trace.seen(events):
        return False
    columns, _ = columns_of([trace], Codes(), events)
    (value,) = _values(ColumnarEvaluation(Subject(columns, order)).start(formula))
    monitor = Monitor(formula, order=order, events=events)
    for event in trace.events:
        monitor.step(event)
    assert monitor.verdict.holds_now is value.is_true, trace.to_record()
    return True


ORDERS: tuple[Order, ...] = ("position", "step")
SEEN: tuple[Events, ...] = ("calls", "all")


@pytest.mark.parametrize("rule", RULES)
def test_columns_say_what_reference_and_monitors_say(rule: str) -> None:
    formula, random, followed = parse(rule), Random(rule), 0
    assert unsupported_because(formula) is None
    for _ in range(RUNS):
        corpus, view = _corpus(random), (random.choice(ORDERS), random.choice(SEEN))
        _columns_agree(formula, corpus, *view)
        _lines_agree(formula, corpus, *view)
        followed += sum([_monitor_agrees(formula, trace, *view) for trace in corpus])
    assert followed > RUNS or sees_answer(formula)


def test_the_same_for_random_formulas() -> None:
    random, followed = Random(7), 0
    formulas = TimedFormulas(random)
    for _ in range(PAIRS // SIZE):
        formula, corpus = formulas.formula(3), _corpus(random)
        assert unsupported_because(formula) is None
        view = (random.choice(ORDERS), random.choice(SEEN))
        _columns_agree(formula, corpus, *view)
        _lines_agree(formula, corpus, *view)
        followed += _monitor_agrees(formula, random.choice(corpus), *view)
    assert followed > PAIRS // SIZE // 10


# ── cases ─────────────────────────────────────────────────────────────────────────────────

CASES = (
    # rule | tool and start of each call | holds | why
    ("G(b -> O a within 10 s)", "a0 b10", True, "the bound itself is within it"),
    ("G(b -> O a within 10 s)", "a0 b10.000001", False, "a microsecond more is not"),
    ("G(b -> O a within 10 s)", "a0 b10.0000004", True, "less than half a microsecond is nothing"),
    ("G(b -> O a within 0.3 s)", "a0.1 b0.4", True, "0.4 - 0.1 is 0.30000000000000004"),
    ("G(b -> O a within 0.1 s)", "a0.2 b0.3", True, "0.3 - 0.2 is 0.09999999999999998"),
    ("G(b -> O a within 1 s)", "a0.9999999999999999 b2", True, "ten times 0.1 is a second"),
    ("G(b -> !(O a within 0.3 s))", "a1700000000.1 b1700000000.4", False, "floats of today"),
    ("G(b -> O a within 1 s)", "a9 a0 b5", True, "the latest found start is that of the first"),
    ("G(b -> O a within 1 s)", "a0 a9 b5", True, "what starts later was before it"),
    ("G(b -> O a within 1 s)", "a9 c0 b20", False, "and may be too old nevertheless"),
    ("G(b -> O a within 9 s)", "a b5", False, "an event without a start is near nothing"),
    ("G(b -> O a within 9 s)", "a0 a b5", True, "and hides no other"),
    ("G(b -> O a within 9 s)", "a0 b", False, "nothing is near it"),
    ("F a within 9 s", "a", False, "not even it itself"),
    ("F b within 5 s", "a0 b9 b5", True, "the earliest of those that follow"),
    ("F b within 5 s", "a5 b2", True, "an event that follows and started before"),
    ("later b within 5 s", "b0", False, "not of a later step"),
    ("G(b -> earlier a within 0 s)", "a3 b3", True, "ties are within nothing"),
    ("G(length(sofar(a, 1 s)) <= 2)", "a0 a0 a0", False, "ties count"),
    ("G(length(sofar(a, 1 s)) <= 2)", "a0 a1 a2 a3", True, "two at a time"),
    ("G(length(sofar(a, 1 s)) <= 1)", "a0 a1", False, "the bound itself is in the window"),
    ("G(b -> length(sofar(a, 1 s)) = 2)", "a5 a0 a4 b5", True, "the one in between is too old"),
    ("G(b -> length(sofar(a, 1 s)) = 0)", "a0 b5", True, "an empty window"),
    ("G(b -> length(sofar(a, 1 s)) >= 0)", "a b5", False, "one without a start: undefined"),
    ("G(b -> length(sofar(a, 1 s)) >= 0)", "b5 a", True, "it comes too late to matter"),
    ("G(b -> length(sofar(a, 1 s)) >= 0)", "a5 b", False, "no start: undefined"),
    ("G(b -> length(sofar(a, 1 s)) = 1)", "a9 b5", True, "what starts later was before it"),
)  # fmt: skip


def _calls(written: str) -> list[Call]:
    calls = []
    for step, each in enumerate(written.split()):
        calls.append(Call(each[0], step=step, start=float(each[1:]) if each[1:] else None))
    return calls


@pytest.mark.parametrize(("rule", "calls", "holds", "why"), CASES, ids=[case[3] for case in CASES])
def test_cases(rule: str, calls: str, holds: bool, why: str) -> None:
    formula, trace = parse(rule), Trace(_calls(calls))
    assert evaluate(formula, view_of(formula, trace)).value.is_true is holds
    _columns_agree(formula, [trace, Trace([Call("c", start=0)]), trace], "position", "calls")
    _lines_agree(formula, [trace, trace], "position", "calls")


def test_a_long_trace_takes_no_memory_for_each_of_its_windows() -> None:
    events = [Call("a", start=float(n if n % 2 else -n), step=n) for n in range(20_000)]
    columns, _ = columns_of([Trace(events)], Codes())
    over = ColumnarEvaluation(Subject(columns))
    assert not over.start(parse("G(length(sofar(a, 10 s)) <= 5)")).true.any()


# ── what is decoded ───────────────────────────────────────────────────────────────────────

ODD_RECORDS = (
    ("a time that is text", {"start": "noon"}),
    ("a time that is true", {"start": True}),
    ("a time that is no number", {"start": [1]}),
    ("a time beyond all bounds", {"start": 1e305}),
    ("a whole time beyond all bounds", {"start": -(10**400)}),
    ("an end beyond all bounds", {"end": 2**53 + 2}),
    ("an agent that is no text", {"agent": 1}),
    ("usage that is no object", {"usage": [1]}),
    ("an end that is text", {"end": "x"}),
)


@pytest.mark.parametrize(("name", "field"), ODD_RECORDS, ids=[name for name, _ in ODD_RECORDS])
def test_a_mistake_in_a_field_that_is_read_is_reported(name: str, field: dict[str, object]) -> None:
    rule = "G(sum(sofar(a, 1 h).usage.tokens) <= 9 & duration < 5 & agent = agent)"
    procedure = Procedure([Constraint("rule", parse(rule))])
    good = {"tool_name": "a", "start": 0, "end": 1, "agent": "x", "usage": {"tokens": 1}}
    lines = [json.dumps({"tool_calls": [call]}) for call in (good, good | field, good)]
    scores = Scorer(procedure).lines(TextLines("f.jsonl", 1, "\n".join(lines).encode()))
    assert scores.names == ["f.jsonl:1", "f.jsonl:3"]
    assert [(each.name, each.diagnostics[0].code) for each in scores.unusable] == [
        ("f.jsonl:2", "E303")
    ]
    assert scores.values.tolist() == [1.0, 1.0]


def test_rules_about_other_things_count_no_missing_times() -> None:
    formula = parse('G(a -> agent = "x")')
    assert not is_timed(formula)
    _lines_agree(formula, [Trace([Call("a", agent="x")])], "position", "calls")
