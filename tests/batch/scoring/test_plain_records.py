"""Plain records in columns are scored, and odd ones reported, as by the ordinary reader."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from bylaw import Procedure, Trace, Vocabulary
from bylaw.trace.files import read_lines

pytest.importorskip("msgspec", reason="NOT TESTED: msgspec is not installed")
pytest.importorskip("numpy", reason="NOT TESTED: numpy is not installed")

from bylaw.batch.input.chunks import TextLines
from bylaw.batch.scoring.scorer import Scorer, Scores


def _procedure(*rules: str, **settings: Any) -> Procedure:
    constraints = [{"name": f"rule {n}", "rule": rule} for n, rule in enumerate(rules)]
    return Procedure.from_dict({"constraints": constraints, **settings})


def _call(tool: str = "a", **fields: Any) -> dict[str, Any]:
    return {"tool_name": tool, **fields}


def _record(*calls: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"tool_calls": list(calls), **fields})


def _said(role: str, before: int, **fields: Any) -> dict[str, Any]:
    return {"role": role, "text": "hi", "before": before, **fields}


PROCEDURES = {
    "tools alone": _procedure("G(a -> F b)", "CalledN(a, <= 1)"),
    "arguments": _procedure("G(call(a, i = 1) -> F b)", "CalledExactly(a, i = 1)"),
    "results": _procedure("G(call(a, failed) -> F b)", 'Called(b) | F(call(a, result = "x"))'),
    "failures of its own": _procedure("G(call(a, failed) -> F b)", failed="text ~ /^Error/"),
    "steps": _procedure("Before(a, b)", "G(b -> earlier a)", order="step"),
    "the answer": _procedure("Before(a, final_answer)", 'F call(final_answer, answer = "x")'),
    "messages": _procedure("G(says(user) -> F a)", events="all"),
    "steps and texts of messages": _procedure(
        "G(says(user) -> earlier call)",
        "G(call -> earlier (says(user) & text contains tool))",
        "F(final_answer & step > 3)",
        events="all",
    ),
    "who says something, and when": _procedure(
        'G(says(user) -> agent = "x" & usage.n = 1)',
        "G(a -> O says(user) within 1 s)",
        events="all",
    ),
    "metrics": _procedure('forall t in metrics("tools"): Called(t)'),
    "values of other events": _procedure(
        "G(a -> let x = args.i: earlier call(b, i = x))", "G(b -> last(a).args.i = 1)"
    ),
    "times": _procedure(
        "G(b -> O a within 1 s)", "F (a & F final_answer within 2 s)", "G(duration < 1)"
    ),
    "who, and at what cost": _procedure('G(agent = "x")', "G(sum(sofar(call).usage.n) < 2)"),
    "one by one": _procedure('G(a -> labels.kind = "x")'),
    "the number of a step": _procedure("G(b -> step > 0)", "F(step = 1)"),
    "values": _procedure('forall x in args(a, "i"): CalledWith(b, i = x)', "G(a -> args.i > 1)"),
}

LINES: dict[str, str | bytes] = {
    "plain": _record(_call("a"), _call("b")),
    "no calls": _record(),
    "steps in parallel": _record(_call("a", step=0), _call("b", step=0), _call("b", step=1)),
    "no step here and there": _record(_call("a", step=3), _call("b")),
    "a step that continues after a call without one": _record(
        _call("b", step=0), _call("a"), _call("b", step=0)
    ),
    "a step that a call without one would get": _record(_call("b"), _call("a"), _call("b", step=1)),
    "a null step": _record(_call("a", step=None), _call("b", step=None)),
    "steps that go back": _record(_call("a", step=1), _call("b", step=0)),
    "a negative step": _record(_call("a", step=-1)),
    "a step that is no whole number": _record(_call("a", step=1.0)),
    "a step that is true": _record(_call("a", step=True)),
    "a step beyond bounds": _record(_call("a", step=2**53 + 1)),
    "a step beyond all bounds": _record(_call("a", step=2**80)),
    "a tool without a name": _record(_call("")),
    "a tool that is no text": _record(_call(1)),  # type: ignore[arg-type]  # the mistake
    "no tool": _record({"arguments": {}}),
    "the answer as last call": _record(
        _call("a"), _call("final_answer", arguments={"answer": "x"})
    ),
    "the answer in between": _record(_call("final_answer"), _call("a")),
    "an answer": _record(_call("a"), answer="x"),
    "an answer by its other name": _record(_call("a"), final_answer="x"),
    "a null answer": _record(_call("a"), answer=None, final_answer="x"),
    "an answer that is no text": _record(_call("a"), answer=5),
    "an answer alone": _record(answer="x"),
    "messages": _record(
        _call("a", step=0),
        _call("b", step=0),
        messages=[{"role": "user", "text": "hi", "before": 1}],
    ),
    "messages with steps": _record(
        _call("a", step=1),
        _call("b", step=3, tool_result="hi"),
        messages=[
            _said("user", 0, step=0, text="the system said hi"),
            _said("assistant", 1, step=2),
            _said("user", 1, step=2),
            _said("user", 9, step=4),
        ],
        answer="x",
    ),
    "messages alone": _record(messages=[_said("user", 0, step=0)]),
    "messages in another order": _record(
        _call("a", step=1), messages=[_said("user", 1, step=2), _said("assistant", 0, step=0)]
    ),
    "a message whose step goes back": _record(
        _call("a", step=1), messages=[_said("user", 1, step=0)]
    ),
    "a message without a step": _record(_call("a", step=1), messages=[_said("user", 0)]),
    "a call without a step after a message": _record(
        _call("a"), messages=[_said("user", 0, step=0)]
    ),
    "a message of nobody": _record(_call("a"), messages=[_said("tool", 0, step=0)]),
    "a message nowhere": _record(_call("a"), messages=[{"role": "user", "text": "hi"}]),
    "a message before a negative call": _record(_call("a"), messages=[_said("user", -1)]),
    "a message with details": _record(
        _call("a", step=1, start=2),
        messages=[_said("user", 0, step=0, start=1, agent="x", usage={"n": 1})],
    ),
    "a message with usage that is a list": _record(
        _call("a", step=1), messages=[_said("user", 0, step=0, usage=[1])]
    ),
    "half a surrogate pair": '{"tool_calls": [{"tool_name": "a", "tool_result": "\\ud800"}]}',
    "null for messages": _record(_call("a"), messages=None),
    "arguments": _record(_call("a", arguments={"i": 1}), _call("b", arguments={"i": 1, "j": 2})),
    "null for arguments": _record(_call("a", arguments=None)),
    "arguments that are a list": _record(_call("a", arguments=[1])),
    "a number twice the same": _record(_call("a", arguments={"i": 1.0})),
    "a key twice": '{"tool_calls": [{"tool_name": "a", "arguments": {"i": 1, "i": 2}}]}',
    "no JSON number": '{"tool_calls": [{"tool_name": "a", "arguments": {"i": NaN}}]}',
    "a result": _record(_call("a", tool_result="x"), _call("b", tool_result=None)),
    "a result in JSON": _record(_call("a", tool_result='"x"')),
    "an error": _record(_call("a", error="no"), _call("b", error=None)),
    "an error that is no text": _record(_call("a", error=5)),
    "a failure reported as text": _record(_call("a", tool_result="Error: no")),
    "times": _record(_call("a", start=0.1, end=0.4), _call("b", start=1.1), answer="x", answered=2),
    "whole times": _record(_call("a", start=1, end=1), _call("b", start=2, end=3)),
    "times out of order": _record(_call("a", start=9), _call("b", start=8)),
    "null for times": _record(_call("a", start=None, end=None), answer="x", answered=None),
    "a time that is text": _record(_call("a", start="1")),
    "a time beyond bounds": _record(_call("a", start=2**53 + 2)),
    "a time beyond all bounds": _record(_call("a", start=-(10**400))),
    "an end that is true": _record(_call("a", end=True)),
    "an answer at a time that is text": _record(_call("a"), answer="x", answered="1"),
    "an agent and usage": _record(_call("a", agent="x", usage={"n": 1}), _call("a", usage=None)),
    "an agent that is no text": _record(_call("a", agent=1)),
    "usage that is a list": _record(_call("a", usage=[1])),
    "metrics": _record(_call("a"), tools=["a", "c"]),
    "this version": _record(_call("a"), bylaw=1),
    "another version": _record(_call("a"), bylaw=2),
    "a version that is text": _record(_call("a"), bylaw="1"),
    "messages of a chat": json.dumps(
        [{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}]
    ),
    "no record": '{"nothing": 1}',
    "no object": "5",
    "no JSON": '{"tool_calls": [',
    "no text": b'\xff\xfe{"tool_calls": []}',
    "a mark in front": b"\xef\xbb\xbf" + _record(_call("a")).encode(),
    "space around": "  " + _record(_call("a")) + " \r",
    "nothing": "",
    "space": "  ",
}
NOTICED_IF_READ = (
    "arguments that are a list",
    "a key twice",
    "an error that is no text",
    "steps that go back",
    "a negative step",
    "a step that is no whole number",
    "a step that is true",
    "a step beyond bounds",
    "a step beyond all bounds",
    "a time that is text",
    "a time beyond bounds",
    "a time beyond all bounds",
    "an end that is true",
    "an answer at a time that is text",
    "an agent that is no text",
    "usage that is a list",
    "a message whose step goes back",
    "a message of nobody",
    "a message nowhere",
    "a message before a negative call",
    "a message with usage that is a list",
)
"""Mistakes that are noticed only if a rule reads the field."""


def _ordinary(scorer: Scorer, content: bytes) -> Scores:
    return scorer.entries(read_lines(BytesIO(content), "f.jsonl"))


def _bytes(lines: list[str]) -> bytes:
    contents = [LINES[name] for name in lines]
    return b"\n".join(c if isinstance(c, bytes) else c.encode() for c in contents)


def _same(scores: Scores, expected: Scores) -> None:
    assert scores.names == expected.names
    assert scores.calls.tolist() == expected.calls.tolist()
    assert scores.outcomes.tolist() == expected.outcomes.tolist()
    assert scores.notes == expected.notes
    assert [(each.name, [d.code for d in each.diagnostics]) for each in scores.unusable] == [
        (each.name, [d.code for d in each.diagnostics]) for each in expected.unusable
    ]


@pytest.mark.parametrize("kind", PROCEDURES)
@pytest.mark.parametrize("line", LINES)
def test_a_line_is_scored_as_in_the_ordinary_way(kind: str, line: str) -> None:
    procedure, content = PROCEDURES[kind], _bytes([line])
    scores = Scorer(procedure).lines(TextLines("f.jsonl", 1, content))
    expected = _ordinary(Scorer(procedure), content)
    if line in NOTICED_IF_READ and expected.unusable and not scores.unusable:
        assert len(scores) == 1
        return
    _same(scores, expected)


@cases(200)
@given(
    st.sampled_from(list(PROCEDURES)),
    st.lists(st.sampled_from([n for n in LINES if n not in NOTICED_IF_READ]), max_size=8),
)
def test_odd_lines_do_not_disturb_the_others(kind: str, lines: list[str]) -> None:
    procedure, content = PROCEDURES[kind], _bytes(lines)
    _same(
        Scorer(procedure).lines(TextLines("f.jsonl", 1, content)),
        _ordinary(Scorer(procedure), content),
    )


@cases(100)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 3)), max_size=5),
    st.sampled_from(["steps", "the number of a step"]),
)
def test_steps_are_numbered_as_in_the_ordinary_way(
    calls: list[tuple[str, int | None]], kind: str
) -> None:
    content = _record(*(_call(tool, step=step) for tool, step in calls)).encode()
    _same(
        Scorer(PROCEDURES[kind]).lines(TextLines("f.jsonl", 1, content)),
        _ordinary(Scorer(PROCEDURES[kind]), content),
    )


def test_only_what_a_rule_reads_is_looked_at() -> None:
    content = _bytes(["a key twice"])
    unread = Scorer(PROCEDURES["tools alone"]).lines(TextLines("f.jsonl", 1, content))
    read = Scorer(PROCEDURES["arguments"]).lines(TextLines("f.jsonl", 1, content))
    assert (len(unread), len(unread.unusable)) == (1, 0)
    assert [each.diagnostics[0].code for each in read.unusable] == ["E315"]


def test_what_had_to_be_judged_alone_is_counted() -> None:
    procedure = PROCEDURES["one by one"]
    content = _bytes(["plain", "no calls", "an answer alone", "arguments"])
    assert Scorer(procedure).lines(TextLines("f.jsonl", 1, content)).alone == {"rule 0": 4}
    others = b"\n".join(_record(_call("c")).encode() for _ in range(3))
    assert not Scorer(procedure).lines(TextLines("f.jsonl", 1, others)).alone.total()


def test_a_failure_may_be_told_by_arguments_that_no_rule_reads() -> None:
    procedure = _procedure("G !call(a, failed)", failed='args.mode = "bad"')
    content = _record(_call("a", arguments={"mode": "bad"}, tool_result=1)).encode()
    scores = Scorer(procedure).lines(TextLines("f.jsonl", 1, content))
    assert scores.values.tolist() == [0.0]


def test_an_odd_record_does_not_make_its_neighbours_odd() -> None:
    odd_but_unread = '{"tool_calls": [{"tool_name": "a", "start": "x"}]}'
    content = "\n".join([odd_but_unread, str(LINES["a key twice"]), odd_but_unread]).encode()
    scores = Scorer(PROCEDURES["arguments"]).lines(TextLines("f.jsonl", 1, content))
    assert scores.names == ["f.jsonl:1", "f.jsonl:3"]
    assert [each.name for each in scores.unusable] == ["f.jsonl:2"]


def test_procedures_side_by_side_accept_the_same_records() -> None:
    content = _bytes(["steps that go back", "an error that is no text", "plain"])
    both = (PROCEDURES["steps"], PROCEDURES["results"])
    found = [
        Scorer(each, others=both).lines(TextLines("f.jsonl", 1, content)).names for each in both
    ]
    assert found == [["f.jsonl:3"]] * 2


def test_a_function_sees_the_name_of_the_trace() -> None:
    vocabulary = Vocabulary()

    @vocabulary.predicate
    def has_a_name(trace: Trace, at: int, metrics: object) -> bool:
        return trace.name == "f.jsonl:1"

    rules = {"constraints": [{"name": "r", "rule": "has_a_name()"}]}
    procedure = Procedure.from_dict(rules, vocabulary=vocabulary)
    scores = Scorer(procedure).lines(TextLines("f.jsonl", 1, _bytes(["plain"])))
    assert scores.values.tolist() == [1.0]


def test_many_odd_records_cost_no_more_than_a_few() -> None:
    """Each is decoded twice at most, and not once for each of the others."""
    line = '{"tool_calls": [{"tool_name": "a", "start": "x"}]}'
    scorer = Scorer(PROCEDURES["one by one"])
    reader = scorer._reader
    decoded, plain = 0, reader.decoded

    def counted(line: memoryview) -> Any:
        nonlocal decoded
        decoded += 1
        return plain(line)

    object.__setattr__(reader, "decoded", counted)
    scores = scorer.lines(TextLines("f.jsonl", 1, "\n".join([line] * 50).encode()))
    assert len(scores.unusable) == 50
    assert decoded <= 100
