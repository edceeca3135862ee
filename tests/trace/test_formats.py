"""Chats, τ-bench results and AgentDojo runs are read as what happened in them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_or_refused import check_read_or_refused
from same_run import FOREIGN

from bylaw import Call, Message, Trace, TraceError, read_trace, read_traces
from bylaw.cli.main import main
from bylaw.codes import CODES
from bylaw.trace.event import MISSING
from bylaw.trace.formats import FORMATS, format_of, read
from bylaw.trace.formats.conversation import RAW_ARGUMENTS


def asks(*calls: tuple[str, Any] | tuple[str, Any, str], text: Any = None) -> dict[str, Any]:
    """An assistant's message with tool calls: (tool, arguments) or (tool, arguments, id)."""
    entries = []
    for tool, arguments, *id in calls:
        entry = {"type": "function", "function": {"name": tool, "arguments": arguments}}
        entries.append(entry | ({"id": id[0]} if id else {}))
    return {"role": "assistant", "content": text, "tool_calls": entries}


def says(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def returns(content: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id} | more


def trace_of(*messages: dict[str, Any]) -> Trace:
    return read(list(messages)).trace


def events(trace: Trace) -> list[tuple[int | None, str]]:
    """Each event as its step, and the tool or `role: text`."""
    return [
        (event.step, event.tool if isinstance(event, Call) else f"{event.role}: {event.text}")
        for event in trace.events
    ]


# ── one run, in every format ──────────────────────────────────────────────────────────────

NATIVE = {
    "tool_calls": [
        {"step": 2, "tool_name": "look", "arguments": {"n": 7}, "tool_result": "x", "id": "c1"},
        {"step": 2, "tool_name": "list", "arguments": {}, "tool_result": '["a"]', "id": "c2"},
        {"step": 3, "tool_name": "pay", "arguments": {"to": "[1]"}, "error": "no", "id": "c1"},
        {"step": 4, "tool_name": "pay", "arguments": {"to": "ada"}, "id": "c3"},
    ],
    "messages": [
        {"role": "system", "text": "Be kind.", "before": 0, "step": 0},
        {"role": "user", "text": "Pay.", "before": 0, "step": 1},
        {"role": "assistant", "text": "Let me look.", "before": 0, "step": 2},
        {"role": "assistant", "text": "Done.", "before": 4, "step": 5},
    ],
    "answer": "Done.",
}
CHAT = [
    says("system", "Be kind."),
    says("user", "Pay."),
    asks(("look", '{"n": 7}', "c1"), ("list", "", "c2"), text="Let me look."),
    returns("x", "c1"),
    returns('["a"]', "c2"),
    asks(("pay", '{"to": "[1]"}', "c1")),
    returns("no", "c1", is_error=True),
    asks(("pay", '{"to": "ada"}', "c3")),
    says("assistant", "Done."),
]


def parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "content": text}]


DOJO = {
    "suite_name": "desk",
    "user_task_id": "user_task_1",
    "messages": [
        says("system", parts("Be kind.")),
        says("user", parts("Pay.")),
        says("assistant", parts("Let me look."))
        | {
            "tool_calls": [
                {"function": "look", "args": {"n": 7}, "id": "c1", "placeholder_args": None},
                {"function": "list", "args": {}, "id": "c2", "placeholder_args": None},
            ]
        },
        returns(parts("x"), "c1", error=None),
        returns(parts('["a"]'), "c2", error=None),
        says("assistant", None)
        | {"tool_calls": [{"function": "pay", "args": {"to": "[1]"}, "id": "c1"}]},
        returns(parts(""), "c1", error="no"),
        says("assistant", None)
        | {"tool_calls": [{"function": "pay", "args": {"to": "ada"}, "id": "c3"}]},
        says("assistant", parts("Done.")) | {"tool_calls": None},
    ],
}
SAME_RUN: dict[str, Any] = {
    "record": NATIVE,
    "OpenAI chat": CHAT,
    "τ-bench": {"task_id": 1, "reward": 1.0, "info": {}, "traj": CHAT, "trial": 0},
    "AgentDojo": DOJO,
    **FOREIGN,
}


def test_every_format_is_among_the_examples() -> None:
    assert set(SAME_RUN) == {known.name for known in FORMATS}


@pytest.mark.parametrize("name", SAME_RUN)
def test_a_run_is_the_same_in_every_format(name: str) -> None:
    known = format_of(SAME_RUN[name])
    assert known is not None
    assert known.name == name
    reading = read(SAME_RUN[name])
    native = Trace.from_record(NATIVE)
    assert reading.notes == ()
    undated = [replace(event, start=None) for event in reading.trace.events]
    undated = [replace(e, end=None) if isinstance(e, Call) else e for e in undated]
    assert tuple(undated) == native.events  # one of the formats has times
    assert reading.trace.answer == native.answer
    assert Trace.from_record(reading.trace.to_record()) == reading.trace


RULES = [
    "G(pay -> O look)",
    "CalledN(pay, <= 1)",
    "G(call(pay, failed) -> F call(pay, ok))",
    'forall x in results(list, "[]"): CalledWith(pay, to = x)',
    'G(refund -> says(user) | args.to = "ada")',
]


@pytest.mark.parametrize("name", SAME_RUN)
def test_a_corpus_is_scored_alike_in_every_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    constraints = [{"name": rule, "rule": rule} for rule in RULES]
    Path("p.json").write_text(json.dumps({"constraints": constraints, "events": "all"}))
    rows = []
    for file, run in (("runs", SAME_RUN[name]), ("records", NATIVE)):
        Path(f"{file}.jsonl").write_text(f"{json.dumps(run)}\n" * 3)
        command = ["verify", "-p", "p.json", f"{file}.jsonl", "--out", f"{file}-scores.jsonl"]
        assert main([*command, "--jobs", "1"]) == 1
        lines = Path(f"{file}-scores.jsonl").read_text().splitlines()
        rows.append([json.loads(line) for line in lines])
    for found, expected in zip(*rows, strict=True):
        for field in ("score", "violated", "vacuous"):
            assert found[field] == expected[field]
    assert len(rows[0]) == 3


# ── messages and steps ────────────────────────────────────────────────────────────────────


def test_an_assistants_text_shares_the_step_of_its_calls_and_others_stand_alone() -> None:
    trace = trace_of(
        says("developer", "rules"),
        says("user", "hi"),
        says("assistant", "hello"),
        says("user", "go"),
        asks(("a", "{}"), ("b", "{}"), text="on it"),
        returns("1"),
        returns("2"),
        asks(("c", "{}")),
    )
    assert events(trace) == [
        (0, "system: rules"),
        (1, "user: hi"),
        (2, "assistant: hello"),
        (3, "user: go"),
        (4, "assistant: on it"),
        (4, "a"),
        (4, "b"),
        (5, "c"),
    ]


@pytest.mark.parametrize("content", [None, "", " \n", [], [{"type": "text", "text": " "}]])
def test_blank_text_of_an_assistant_is_no_message(content: Any) -> None:
    assert events(trace_of(asks(("a", "{}"), text=content))) == [(0, "a")]
    assert events(trace_of(says("user", "hi"), says("assistant", content))) == [(0, "user: hi")]


def test_an_assistant_may_leave_its_content_out() -> None:
    call = {"function": {"name": "a", "arguments": "{}"}}
    assert events(trace_of({"role": "assistant", "tool_calls": [call]})) == [(0, "a")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("look", "look"),
        ([{"type": "text", "text": "look"}], "look"),
        ([{"type": "text", "content": "look"}], "look"),
        (["look"], "look"),
        ([{"type": "text", "text": "look"}, {"type": "text", "text": "here"}], "look\nhere"),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "image_url", "image_url": {"url": "x"}}], ""),
        (None, ""),
    ],
)
def test_the_text_of_content(content: Any, text: str) -> None:
    assert trace_of(says("user", content)).events == (Message("user", text, 0),)


# ── the answer ────────────────────────────────────────────────────────────────────────────


def test_a_closing_text_of_the_assistant_is_message_and_answer() -> None:
    trace = trace_of(says("user", "hi"), says("assistant", "hello"))
    assert trace.answer == "hello"
    assert trace.events[-1] == Message("assistant", "hello", 1)
    assert trace.calls == ()


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [says("assistant", "hello"), says("user", "bye")],
        [asks(("a", "{}"), text="hello")],
        [says("assistant", "hello"), asks(("a", "{}")), returns("1")],
        [says("assistant", "hello"), says("assistant", " ")],
    ],
)
def test_other_conversations_have_no_answer(messages: list[Any]) -> None:
    assert read({"messages": messages}).trace.answer is None


def test_a_closing_final_answer_call_is_the_answer_as_in_records() -> None:
    trace = trace_of(asks(("a", "{}")), asks(("final_answer", '{"answer": "42"}')), returns("ok"))
    assert (trace.answer, [call.tool for call in trace]) == ("42", ["a"])


# ── arguments ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "args"),
    [
        ('{"q": 1}', {"q": 1}),
        ({"q": 1}, {"q": 1}),
        ("", {}),
        ("  ", {}),
        (None, {}),
        ("null", {}),
        ('{"ids": "[1, 2]"}', {"ids": "[1, 2]"}),
    ],
)
def test_arguments_come_as_text_or_as_an_object(given: Any, args: dict[str, Any]) -> None:
    reading = read([asks(("a", given))])
    assert reading.trace[0].args == args
    assert reading.notes == ()


@pytest.mark.parametrize(
    ("given", "kept", "reason"),
    [
        ('{"q": ', '{"q": ', "not JSON: Expecting value"),
        ('{"q": 1, "q": 2}', '{"q": 1, "q": 2}', "appears twice"),
        ("[1]", "[1]", "a list, not an object"),
        ('"q"', '"q"', "a string, not an object"),
        ("true", "true", "true or false, not an object"),
        ([1], "[1]", "a list, not an object"),
        (5, "5", "a number, not an object"),
    ],
)
def test_other_arguments_are_kept_as_text_and_noted(given: Any, kept: str, reason: str) -> None:
    reading = read([says("user", "hi"), asks(("a", "{}"), ("b", given)), returns("1")])
    assert reading.trace[1].args == {RAW_ARGUMENTS: kept}
    (note,) = reading.notes
    assert (note.code, note.where) == ("W520", "messages[1].tool_calls[1].function.arguments")
    assert reason in note.message


# ── results ───────────────────────────────────────────────────────────────────────────────


def results(*messages: dict[str, Any]) -> list[Any]:
    return [call.result for call in trace_of(*messages)]


def test_results_belong_to_the_calls_before_them_although_ids_repeat() -> None:
    first = (asks(("a", "{}", "c")), returns("1", "c"))
    assert results(*first, asks(("a", "{}", "c")), returns("2", "c")) == ["1", "2"]
    assert results(asks(("a", "{}", "c"), ("b", "{}", "c")), *map(returns, "12", "cc")) == [
        "1",
        "2",
    ]


def test_parallel_results_may_arrive_in_another_order() -> None:
    asked = asks(("a", "{}", "x"), ("b", "{}", "y"))
    assert results(asked, returns("2", "y"), returns("1", "x")) == ["1", "2"]
    assert results(asked, returns("2", "y")) == [MISSING, "2"]


def test_without_telling_ids_results_are_taken_in_order() -> None:
    asked = asks(("a", "{}", "x"), ("b", "{}", "y"))
    assert results(asked, returns("1"), returns("2")) == ["1", "2"]
    assert results(asked, returns("1", "?"), returns("2", "?")) == ["1", "2"]
    assert results(asks(("a", "{}"), ("b", "{}")), returns("1", "y"), returns("2")) == ["1", "2"]


def test_a_result_that_names_a_call_leaves_the_others_to_the_rest() -> None:
    asked = asks(("a", "{}", "x"), ("b", "{}", "y"))
    assert results(asked, returns("2", "y"), returns("1", "?")) == ["1", "2"]


def test_calls_that_share_an_id_are_answered_in_order_and_the_others_by_name() -> None:
    asked = asks(("a", "{}", "x"), ("b", "{}", "x"), ("c", "{}", "y"))
    assert results(asked, *map(returns, "312", "yxx")) == ["1", "2", "3"]
    assert results(asked, *map(returns, "124", "xxx")) == ["1", "2", MISSING]


def test_a_result_that_names_a_call_answers_no_other() -> None:
    asked = asks(("a", "{}", "x"), ("b", "{}", "y"))
    reading = read([asked, returns("pending", "y"), returns("found", "y"), asks(("c", "{}"))])
    assert [call.result for call in reading.trace] == [MISSING, "pending", MISSING]
    assert [(note.code, note.where) for note in reading.notes] == [("W521", "messages[2]")]


def test_a_late_result_answers_the_earlier_call_that_it_names() -> None:
    first, second = asks(("a", "{}", "x")), asks(("b", "{}", "y"))
    assert results(first, says("user", "?"), second, returns("1", "x")) == ["1", MISSING]
    assert results(first, second, returns("2", "y"), returns("1", "x")) == ["1", "2"]
    twice = read([first, returns("1", "x"), second, returns("2", "x")])
    assert [call.result for call in twice.trace] == ["1", MISSING]
    assert [(note.code, note.where) for note in twice.notes] == [("W521", "messages[3]")]


def test_of_calls_that_share_an_id_the_latest_is_meant() -> None:
    first, second = asks(("a", "{}", "x")), asks(("b", "{}", "x"))
    late = (first, second, asks(("c", "{}", "y")), returns("2", "x"), returns("1", "x"))
    assert results(*late) == [MISSING, "2", MISSING]


def test_a_call_that_was_answered_in_order_is_not_answered_again_by_name() -> None:
    first, second = asks(("a", "{}", "x")), asks(("b", "{}", "y"))
    assert results(first, returns("1", "?"), second, returns("2", "x")) == ["1", MISSING]


def test_messages_may_stand_between_a_call_and_its_result() -> None:
    assert results(asks(("a", "{}")), says("user", "?"), returns("1")) == ["1"]


def test_a_call_may_have_no_result() -> None:
    reading = read([asks(("a", "{}")), asks(("b", "{}")), returns("1")])
    assert [call.result for call in reading.trace] == [MISSING, "1"]
    assert reading.notes == ()


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        ([says("user", "hi"), returns("1")], "messages[1]"),
        ([asks(("a", "{}", "c")), returns("0", "c"), returns("1", "c")], "messages[2]"),
        ([says("user", "hi"), returns("1"), asks(("a", "{}")), returns("0")], "messages[1]"),
    ],
)
def test_a_result_that_answers_no_call_is_noted(messages: list[Any], where: str) -> None:
    reading = read(messages)
    assert [(note.code, note.where) for note in reading.notes] == [("W521", where)]
    assert [call.result for call in reading.trace] in ([], ["0"])


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ("done", "done"),
        ("", ""),
        (None, None),
        ([{"type": "text", "text": "done"}], "done"),
        ({"paid": 20}, {"paid": 20}),
        ([1, {"type": "text"}], [1, {"type": "text"}]),
    ],
)
def test_what_came_back(content: Any, result: Any) -> None:
    assert results(asks(("a", "{}")), returns(content)) == [result]


@pytest.mark.parametrize(
    ("fields", "error", "result"),
    [
        ({}, None, "Error: boom"),
        ({"error": None}, None, "Error: boom"),
        ({"is_error": False, "status": "success"}, None, "Error: boom"),
        ({"is_error": True}, "Error: boom", MISSING),
        ({"status": "error"}, "Error: boom", MISSING),
        ({"error": True}, "Error: boom", MISSING),
        ({"error": "timeout"}, "timeout", "Error: boom"),
        ({"error": {"code": 5}}, '{"code": 5}', "Error: boom"),
        ({"error": "timeout", "content": ""}, "timeout", MISSING),
        ({"is_error": True, "content": None}, "", MISSING),
    ],
)
def test_only_a_field_says_that_a_call_failed(
    fields: dict[str, Any], error: str | None, result: Any
) -> None:
    (call,) = trace_of(asks(("a", "{}")), returns("Error: boom") | fields)
    assert (call.error, call.result) == (error, result)


def test_the_older_function_call_is_read_too() -> None:
    trace = trace_of(
        {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}},
        {"role": "function", "name": "a", "content": "1"},
        {
            "role": "assistant",
            "content": "on",
            "tool_calls": None,
            "function_call": {"name": "b", "arguments": '{"q": 1}'},
        },
    )
    assert events(trace) == [(0, "a"), (1, "assistant: on"), (1, "b")]
    assert [call.result for call in trace] == ["1", MISSING]
    assert trace[1].args == {"q": 1}


# ── labels and metrics ────────────────────────────────────────────────────────────────────


def test_labels_of_a_chat_are_the_scalars_around_it() -> None:
    value = {"messages": CHAT, "model": "m", "seed": 7, "ok": True, "tools": [], "user": None}
    trace = read(value).trace
    assert trace.labels == {"model": "m", "seed": 7, "ok": True}
    assert trace.metrics == {}


def test_labels_of_a_tau_bench_result() -> None:
    info = {"source": "user", "user_cost": None, "task": {"user_id": "ada"}, "reward": 9}
    value: Any = {"task_id": 3, "reward": 0.5, "trial": 1, "info": info, "traj": []}
    trace = read(value).trace
    assert trace.labels == {"source": "user", "task_id": 3, "reward": 0.5, "trial": 1}
    assert read({"traj": [], "info": None}).trace.labels == {}


def test_labels_and_metrics_of_an_agentdojo_run() -> None:
    more = {"utility": False, "security": True, "injection_task_id": None, "attack_type": "direct"}
    value: Any = (
        DOJO | more | {"pipeline_name": "m", "duration": 2.5, "injections": {}, "error": None}
    )
    trace = read(value).trace
    assert trace.labels == {
        "suite_name": "desk",
        "user_task_id": "user_task_1",
        "attack_type": "direct",
        "pipeline_name": "m",
        "utility": False,
        "security": True,
    }
    assert trace.metrics == {"duration": 2.5}


# ── what cannot be read ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"messages": 5}, "messages"),
        ({"traj": None}, "traj"),
        ([says("user", "hi"), 7], "messages[1]"),
        ([says("narrator", "hi")], "messages[0].role"),
        ([says("user", "hi") | {"role": ["user"]}], "messages[0].role"),
        ([says("user", "hi"), {"content": "hi"}], "messages[1]"),
        ([{"role": "user"}], "messages[0]"),
        ([says("user", 5)], "messages[0].content"),
        ([says("user", ["hi", 5])], "messages[0].content[1]"),
        ([says("assistant", None) | {"tool_calls": {"a": 1}}], "messages[0].tool_calls"),
        ([says("assistant", None) | {"tool_calls": ["a"]}], "messages[0].tool_calls[0]"),
        ([asks(("", "{}"))], "messages[0].tool_calls[0].function.name"),
        ([asks((5, "{}"))], "messages[0].tool_calls[0].function.name"),  # type: ignore[arg-type]  # the mistake
        (
            {"traj": [says("assistant", None) | {"tool_calls": [{"function": "a"}]}]},
            "traj[0].tool_calls[0].function.name",
        ),
        ([says("assistant", None) | {"function_call": {}, "tool_calls": [{}]}], None),
        ([says("assistant", None) | {"function_call": "a"}], "messages[0].function_call"),
        (
            DOJO | {"messages": [says("assistant", None) | {"tool_calls": [{"args": {}}]}]},
            "messages[0].tool_calls[0].function",
        ),
    ],
)
def test_a_mistake_is_named_and_placed(value: Any, where: str | None) -> None:
    with pytest.raises(TraceError) as caught:
        read(value)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E320"
    assert diagnostic.where == (where or "messages[0].tool_calls[0].function.name")


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(TraceError) as caught:
        read([says("narrator", "hi"), 7, asks(("", "{}"), ("b", "{}"), text=5)])
    places = [diagnostic.where for diagnostic in caught.value.diagnostics]
    assert places == [
        "messages[0].role",
        "messages[1]",
        "messages[2].content",
        "messages[2].tool_calls[0].function.name",
    ]


def test_the_first_of_very_many_mistakes_are_enough() -> None:
    with pytest.raises(TraceError) as caught:
        read({"messages": [0] * 100_000})
    assert len(caught.value.diagnostics) == 50


@pytest.mark.parametrize("value", [{}, {"toolcalls": []}, {"results": [1]}, [1], 5, None, "x", []])
def test_an_unknown_value_is_told_what_is_read(value: Any) -> None:
    with pytest.raises(TraceError) as native:
        Trace.from_record(value)
    with pytest.raises(TraceError) as caught:
        read(value)
    (expected,), (found,) = native.value.diagnostics, caught.value.diagnostics
    assert (found.code, found.message, found.where) == (
        expected.code,
        expected.message,
        expected.where,
    )
    assert (found.help or "").startswith(expected.help or "The formats read are: ")
    assert all(known.name in (found.help or "") for known in FORMATS)


def test_an_answer_of_the_api_is_told_to_be_a_part_of_a_run() -> None:
    answer = {"id": "c", "choices": [{"index": 0, "message": says("assistant", "Done.")}]}
    with pytest.raises(TraceError) as caught:
        read(answer)
    (found,) = caught.value.diagnostics
    assert "Save all messages" in (found.help or "")
    assert "choices[0].message" in (found.help or "")
    assert "The formats read are" not in (found.help or "")


def test_python_objects_that_are_not_json_are_refused() -> None:
    with pytest.raises(TraceError, match="not a JSON value"):
        read([says("user", object())])


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
_ROLES = ["system", "developer", "user", "assistant", "tool", "function", "narrator"]


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with some of the fields, each as it should be or as anything."""
    return st.fixed_dictionaries(
        {}, optional={name: field | _json for name, field in fields.items()}
    )


_text = st.sampled_from(["", "hi", "{}", '{"q": 1}', "[", "c", "final_answer"])
_part = _object(type=st.sampled_from(["text", "image_url"]), text=_text, content=_text)
_function = _object(name=_text, arguments=_text)
_call = _object(id=_text, function=_function | _text, args=st.just({}))
_message = _object(
    role=st.sampled_from(_ROLES),
    content=_text | st.lists(_part, max_size=2),
    tool_calls=st.lists(_call | _json, max_size=2),
    function_call=_function,
    tool_call_id=_text,
    error=_text,
)
_messages = st.lists(_message | _json, max_size=5)
_run = _object(
    messages=_messages,
    traj=_messages,
    info=_json,
    suite_name=_text,
    user_task_id=_text,
    tool_calls=_json,
    results=_json,
)


@given(_json | _messages | _run)
def test_any_json_value_is_a_trace_or_a_trace_error(value: Any) -> None:
    check_read_or_refused(value)


# ── files ─────────────────────────────────────────────────────────────────────────────────

TAU = SAME_RUN["τ-bench"]
RECORD = json.dumps({"tool_calls": [{"tool_name": "a"}]})


def _spread(value: Any) -> str:
    """A list with an item a line."""
    return "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"


@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("chat.json", json.dumps(CHAT), [4]),
        ("chat.json", json.dumps(CHAT, indent=2), [4]),
        ("chat.json", _spread(CHAT), [4]),
        ("chat.json", _spread([CHAT[2]]), [2]),
        ("chat.json", f'{{"messages": [\n{json.dumps(CHAT[2])}\n]}}', [2]),
        ("chat.json", json.dumps({"messages": CHAT}), [4]),
        ("chats.json", json.dumps([{"messages": CHAT}, {"messages": []}]), [4, 0]),
        ("chats.json", json.dumps([CHAT, CHAT[:4]]), [4, 2]),
        ("chats.jsonl", f"{json.dumps(CHAT)}\n{json.dumps({'messages': CHAT})}\n", [4, 4]),
        ("tau.json", json.dumps(TAU), [4]),
        ("tau.json", json.dumps([TAU, TAU]), [4, 4]),
        ("tau.json", _spread([TAU]), [4]),
        ("tau.json", json.dumps({"metrics": {}, "results": [TAU, TAU]}), [4, 4]),
        ("tau.json", f'{{"metrics": {{}}, "results": [\n{json.dumps(TAU)}\n]}}', [4]),
        ("tau.json", json.dumps({"results": [TAU, TAU]}, indent=2), [4, 4]),
        ("tau.txt", f"{json.dumps(TAU)}\n{json.dumps(TAU)}", [4, 4]),
        ("dojo.json", json.dumps(DOJO, indent=2), [4]),
        ("dojo.jsonl", f"{json.dumps(DOJO)}\n{json.dumps(DOJO)}", [4, 4]),
        ("mixed.jsonl", f"{json.dumps(DOJO)}\n{RECORD}\n{json.dumps(CHAT)}", [4, 1, 4]),
        ("mixed.json", json.dumps([TAU, DOJO, NATIVE]), [4, 4, 4]),
        ("cut.txt", f'{{"traj": [\n{json.dumps(TAU)}\n', ["E315", 4]),
        ("empty.json", '{"metrics": {}, "results": []}', ["E311"]),
        ("unknown.json", '{"results": [1]}', ["E302"]),
        ("mixed.json", json.dumps([TAU, 5, {"messages": [7]}]), [4, "E301", "E320"]),
    ],
)
def test_file(name: str, text: str, calls: list[int | str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    found = [
        entry.error.diagnostics[0].code if entry.error else len(entry.required())
        for entry in read_traces(tmp_path / name)
    ]
    assert found == calls


def test_a_chat_is_one_trace(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    assert read_trace(tmp_path / "chat.json").name == str(tmp_path / "chat.json")


def test_an_entry_carries_notes_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{RECORD}\n{json.dumps([says('user', 'hi'), returns('1')])}\n")
    first, second = read_traces(path)
    assert first.notes == ()
    (note,) = second.notes
    assert (note.source, note.line, note.where) == (str(path), 2, "messages[1]")


# ── commands ──────────────────────────────────────────────────────────────────────────────

ODD = [says("user", "hi"), returns("0"), asks(("look", "{"), ("pay", "[1]")), returns("1")]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rule = "{name: look-first, rule: G(pay -> O look)}"
    (tmp_path / "p.yaml").write_text(f"constraints: [{rule}]\n")
    (tmp_path / "odd.json").write_text(json.dumps(ODD))
    (tmp_path / "tau.json").write_text(json.dumps({"metrics": {}, "results": [TAU, TAU]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("desk")
def test_verify_prints_notes_after_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-p", "p.yaml", "odd.json"]) == 0
    assert "note[W521]: a result answers no call (at messages[1])" in capsys.readouterr().out
    assert main(["verify", "-p", "p.yaml", "odd.json", "tau.json"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "3 traces: 3 FULL" in output
    assert f"3 notes on the traces: 1 × W521, {CODES['W521'].title}; 2 × W520" in output


@pytest.mark.usefixtures("desk")
def test_verify_json_has_notes_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-p", "p.yaml", "odd.json", "--json"]) == 0
    (trace,) = json.loads(capsys.readouterr().out)["traces"]
    assert [note["code"] for note in trace["notes"]] == ["W521", "W520", "W520"]
    main(["verify", "-p", "p.yaml", "tau.json", "odd.json", "--json"])
    lines = json.loads(capsys.readouterr().out)["traces"]
    assert ["notes" in line for line in lines] == [False, False, True]


@pytest.mark.usefixtures("desk")
def test_other_commands_read_the_same_files() -> None:
    assert main(["explain", "look-first", "-p", "p.yaml", "tau.json[1]"]) == 0
    assert main(["explain", "look-first", "-p", "p.yaml", "odd.json"]) == 0
    assert main(["view", "tau.json[0]", "-p", "p.yaml", "-o", "out.html"]) == 0
    assert main(["init", "tau.json", "odd.json", "-o", "started.yaml"]) == 0
    assert main(["verify", "-p", "started.yaml", "tau.json", "odd.json"]) == 0
