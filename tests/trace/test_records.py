"""Records become traces and come back as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import traces

from bylaw import Call, Message, Trace, TraceError
from bylaw.trace.event import MISSING


@given(traces(messages=True))
def test_a_trace_survives_its_record(trace: Trace) -> None:
    record = json.loads(json.dumps(trace.to_record()))
    again = Trace.from_record(record)
    assert again == trace
    assert again.to_record() == trace.to_record()
    assert [type(event) for event in again.events] == [type(event) for event in trace.events]


@given(traces(messages=True), st.data())
def test_steps_never_decrease_and_survive_where_only_some_are_recorded(
    trace: Trace, data: st.DataObject
) -> None:
    kept = [data.draw(st.booleans()) for _ in trace.events]
    events = zip(trace.events, kept, strict=True)
    partly = Trace(event if keep else replace(event, step=None) for event, keep in events)
    steps = [event.step or 0 for event in partly.events]
    assert steps == sorted(steps)
    assert Trace.from_record(partly.to_record()) == partly


@pytest.mark.parametrize(
    ("recorded", "steps"),
    [
        ([0, None, 0], [0, 1, 2]),
        ([None, None, 1], [0, 1, 2]),
        ([3, 3, None, 4, 4], [0, 0, 1, 2, 2]),
        ([5, None], [0, 1]),
        ([None, 5, 5], [0, 1, 1]),
        ([5, 5], [5, 5]),
    ],
)
def test_a_call_without_a_step_shares_none(recorded: list[int | None], steps: list[int]) -> None:
    assert [call.step for call in Trace(Call("a", step=step) for step in recorded)] == steps


def test_calls_without_steps_are_steps_of_their_own() -> None:
    assert [call.step for call in Trace([Call("a"), Call("b")])] == [0, 1]


def test_parallel_calls_share_a_step() -> None:
    trace = Trace([Call("a", step=3), Call("b", step=3), Call("c", step=5)])
    assert [call.step for call in trace] == [3, 3, 5]


def test_assistant_text_shares_the_step_of_its_calls_and_others_stand_alone() -> None:
    events: list[Call | Message]
    events = [Message("user", "hi"), Message("assistant", "let me look"), Call("look"), Call("b")]
    assert [event.step for event in Trace(events).events] == [0, 1, 1, 2]


def test_messages_without_steps_fit_between_calls_that_have_them() -> None:
    record = {
        "messages": [
            {"role": "system", "text": "s", "before": 0},
            {"role": "user", "text": "u", "before": 0},
            {"role": "assistant", "text": "on it", "before": 0},
            {"role": "user", "text": "and?", "before": 2},
        ],
        "tool_calls": [
            {"tool_name": "a", "step": 3},
            {"tool_name": "b", "step": 3},
            {"tool_name": "c", "step": 4},
        ],
    }
    events = Trace.from_record(record).events
    assert [event.step for event in events] == [0, 1, 2, 2, 2, 3, 4]


def test_a_missing_result_is_not_null() -> None:
    record = {"tool_calls": [{"tool_name": "a"}, {"tool_name": "a", "tool_result": None}]}
    first, second = Trace.from_record(record).calls
    assert first.result is MISSING
    assert second.result is None
    assert (first.ok, second.ok) == (False, True)


def test_unknown_fields_are_metrics() -> None:
    trace = Trace.from_record({"tool_calls": [], "tokens": 7})
    assert trace.metrics == {"tokens": 7}


def test_a_closing_final_answer_call_is_the_answer() -> None:
    calls = [{"tool_name": "a"}, {"tool_name": "final_answer", "arguments": {"answer": "42"}}]
    trace = Trace.from_record({"tool_calls": calls})
    assert trace.answer == "42"
    assert [call.tool for call in trace] == ["a"]


@pytest.mark.parametrize(
    ("record", "code", "where"),
    [
        ([], "E301", "record"),
        ({}, "E302", "record"),
        ({"tool_calls": 5}, "E303", "tool_calls"),
        ({"tool_calls": ["a"]}, "E303", "tool_calls[0]"),
        ({"tool_calls": [{}]}, "E302", "tool_calls[0]"),
        ({"tool_calls": [{"tool_name": ""}]}, "E303", "tool_calls[0].tool_name"),
        ({"tool_calls": [{"tool_name": "a", "step": -1}]}, "E303", "tool_calls[0].step"),
        ({"tool_calls": [{"tool_name": "a", "step": True}]}, "E303", "tool_calls[0].step"),
        ({"tool_calls": [{"tool_name": "a", "arguments": [1]}]}, "E303", "tool_calls[0].arguments"),
        (
            {"tool_calls": [{"tool_name": "a", "arguments": {"x": float("nan")}}]},
            "E303",
            "tool_calls[0].arguments",
        ),
        (
            {"tool_calls": [{"tool_name": "a", "step": 2}, {"tool_name": "b", "step": 1}]},
            "E304",
            "tool_calls[1].step",
        ),
        (
            {"tool_calls": [{"tool_name": "final_answer"}, {"tool_name": "b"}]},
            "E305",
            "tool_calls[0]",
        ),
        ({"tool_calls": [], "answer": 5}, "E303", "answer"),
        ({"tool_calls": [], "bylaw": 99}, "E307", "bylaw"),
        ({"tool_calls": [], "bylaw": True}, "E307", "bylaw"),
        ({"tool_calls": [], "labels": 5}, "E303", "labels"),
    ],
)
def test_a_mistake_is_named_and_placed(record: Any, code: str, where: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.from_record(record)
    assert [(d.code, d.where) for d in caught.value.diagnostics] == [(code, where)]


def test_all_mistakes_are_reported_at_once() -> None:
    record = {"tool_calls": [{"tool_nam": "a"}, {"tool_name": 5}, 7], "answer": 1, "labels": []}
    with pytest.raises(TraceError) as caught:
        Trace.from_record({**record, "labels": [1]})
    assert len(caught.value.diagnostics) == 5
    assert "Should 'tool_nam' be 'tool_name'?" in str(caught.value)


def test_two_answers_are_a_contradiction() -> None:
    calls = [{"tool_name": "final_answer", "arguments": {"answer": "2"}}]
    with pytest.raises(TraceError) as caught:
        Trace.from_record({"tool_calls": calls, "answer": "1"})
    assert caught.value.diagnostics[0].code == "E306"
