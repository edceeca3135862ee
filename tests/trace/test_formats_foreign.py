"""The rules of single formats: their turns, failures and oddities."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_or_refused import check_read_or_refused
from same_run import (
    FOREIGN,
    INSPECT,
    LIST,
    LOOK,
    OTEL,
    PAY,
    TAU2,
    TOLD,
    action,
    chat,
    document,
    inspect_result,
    inspect_turn,
    item,
    lc,
    lc_call,
    line,
    of,
    output,
    ran,
    result,
    span,
    spoken,
    tau2_result,
    tau2_turn,
    text,
    use,
    wanted,
)

from bylaw import Call, TraceError, read_traces
from bylaw.trace.formats import read, records_in
from bylaw.trace.formats.conversation import RAW_ARGUMENTS

Seen = list[tuple[Any, ...]]


def seen(value: Any) -> Seen:
    """Each message as (step, role, text), each call as (step, tool, arguments, outcome)."""
    return [
        (event.step, event.tool, dict(event.args), _outcome(event))
        if isinstance(event, Call)
        else (event.step, event.role, event.text)
        for event in read(value).trace.events
    ]


def _outcome(call: Call) -> str:
    return f"failed: {call.error}" if call.failed else f"ok: {call.result}" if call.ok else "?"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


LOOKED = ("look", {"n": 7})
LISTED: tuple[Any, ...] = ("list", {})
PAID = ("pay", {"to": "[1]"})

SERVER_USE = {"type": "server_tool_use", "id": "s", "name": "search", "input": {"q": "x"}}
SERVER_ERROR = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "s", "content": SERVER_ERROR}
UNPARSED = {"name": "b", "args": "{", "id": "c2", "error": "not JSON", "type": "invalid_tool_call"}
HOSTED = {"type": "web_search_call", "id": "w1", "status": "failed", "action": {"query": "x"}}
MCP = {"type": "mcp_call", "id": "p1", "name": "look", "arguments": '{"n": 7}', "output": "x"}
CUSTOM = {"type": "custom_tool_call", "call_id": "k1", "name": "sql", "input": "SELECT 1"}
STRUCTURED = [
    {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
    {"key": "gen_ai.tool.name", "value": {"stringValue": "look"}},
    {
        "key": "gen_ai.tool.call.arguments",
        "value": {"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "7"}}]}},
    },
    {
        "key": "gen_ai.tool.call.result",
        "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"boolValue": True}]}},
    },
]

CASES: dict[str, tuple[Any, Seen]] = {
    # ── Anthropic
    "Anthropic: a user may go on after a result": (
        [assistant(use(LOOK)), user([result("c1", "x"), text("And?")])],
        [(0, *LOOKED, "ok: x"), (1, "user", "And?")],
    ),
    "Anthropic: ids that repeat in a turn give way to the order": (
        [assistant(use(LOOK), use(PAY)), user([result("c1", "x"), result("c1", "y")])],
        [(0, *LOOKED, "ok: x"), (0, *PAID, "ok: y")],
    ),
    "Anthropic: a server's tool has its result in the same message": (
        [assistant(SERVER_USE, SERVER_RESULT, text("I could not search."))],
        [
            (0, "assistant", "I could not search."),
            (
                0,
                "search",
                {"q": "x"},
                'failed: {"type": "web_search_tool_result_error", "error_code": "unavailable"}',
            ),
        ],
    ),
    "Anthropic: a system prompt beside plain messages": (
        {"system": [text("Be kind.")], "messages": [user("Hi."), assistant(text("Hello."))]},
        [(0, "system", "Be kind."), (1, "user", "Hi."), (2, "assistant", "Hello.")],
    ),
    "Anthropic: an empty result is a result": (
        [assistant(use(LOOK)), user([{"type": "tool_result", "tool_use_id": "c1"}])],
        [(0, *LOOKED, "ok: None")],
    ),
    # ── OpenAI Responses
    "Responses: what the model produced without a break is one turn": (
        [user("Hi."), item(LOOK), spoken("Looking."), item(LIST), output("c2", "[]")],
        [
            (0, "user", "Hi."),
            (1, "assistant", "Looking."),
            (1, *LOOKED, "?"),
            (1, *LISTED, "ok: []"),
        ],
    ),
    "Responses: hosted tools, MCP and custom tools": (
        [HOSTED, MCP, CUSTOM, {"type": "custom_tool_call_output", "call_id": "k1", "output": "1"}],
        [
            (0, "web_search", {"action": {"query": "x"}}, "failed: "),
            (0, *LOOKED, "ok: x"),
            (0, "sql", {"input": "SELECT 1"}, "ok: 1"),
        ],
    ),
    "Responses: an error of an MCP server": (
        [MCP | {"output": None, "error": "no"}],
        [(0, *LOOKED, "failed: no")],
    ),
    "Responses: the input may be a text": (
        {"input": "Hi.", "output": [spoken("Hello.")]},
        [(0, "user", "Hi."), (1, "assistant", "Hello.")],
    ),
    # ── LangChain
    "LangChain: calls that it could not parse": (
        [lc("ai", "", tool_calls=[lc_call(LOOK)], invalid_tool_calls=[UNPARSED])],
        [(0, *LOOKED, "?"), (0, "b", {RAW_ARGUMENTS: "{"}, "?")],
    ),
    "LangChain: fields beside the type, in the state of a graph": (
        {"messages": [lc("human", "Hi.")["data"], lc("AIMessageChunk", "Hello.")["data"]]},
        [(0, "user", "Hi."), (1, "assistant", "Hello.")],
    ),
    "LangChain: constructors, and what is removed": (
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["m", "HumanMessage"],
                "kwargs": {"content": "Hi."},
            },
            {"type": "remove", "id": "1", "content": ""},
            {"type": "chat", "role": "assistant", "content": "Hello."},
        ],
        [(0, "user", "Hi."), (1, "assistant", "Hello.")],
    ),
    # ── Inspect
    "Inspect: an error without words is named by its type": (
        INSPECT
        | {
            "messages": [
                inspect_turn("", LOOK),
                inspect_result("c1", "", {"type": "timeout", "message": ""}),
            ]
        },
        [(0, *LOOKED, "failed: timeout")],
    ),
    # ── τ²-bench
    "τ²-bench: what the user does is left out, what the user says is kept": (
        TAU2
        | {
            "messages": [
                tau2_turn("Rebooting.", ("reboot", {}, "c1"), role="user"),
                tau2_result("c1", "done", by="user"),
                tau2_turn(None, LOOK),
                tau2_result("c1", "x"),
            ]
        },
        [(0, "user", "Rebooting."), (1, *LOOKED, "ok: x")],
    ),
    # ── smolagents
    "smolagents: results come in the order of the ids": (
        [action(1, LIST, LOOK, observations="x\n[]")],
        [(0, *LISTED, "ok: []"), (0, *LOOKED, "ok: x")],
    ),
    "smolagents: an error belongs to the call that it names": (
        [action(1, LOOK, LIST, error={"type": "E", "message": "Error in tool 'list': no"})],
        [(0, *LOOKED, "?"), (0, *LISTED, "failed: Error in tool 'list': no")],
    ),
    "smolagents: code is a call of the interpreter": (
        {
            "steps": [
                {"task": "Add.", "task_images": None},
                {"plan": "1. Add.", "model_output_message": {}},
                action(1)
                | {
                    "tool_calls": [
                        {"id": "k", "function": {"name": "python_interpreter", "arguments": "1+1"}}
                    ],
                    "observations": "Execution logs:\n2",
                },
            ],
        },
        [
            (0, "user", "Add."),
            (1, "assistant", "1. Add."),
            (2, "python_interpreter", {"code": "1+1"}, "ok: Execution logs:\n2"),
        ],
    ),
    "smolagents: a memory of two tasks has two answers": (
        [
            {"task": "Add.", "task_images": None},
            action(1, ("final_answer", {"answer": 2}, "c"), action_output=2, is_final_answer=True),
            {"task": "Again.", "task_images": None},
            action(1, ("final_answer", {"answer": 3}, "c"), action_output=3, is_final_answer=True),
        ],
        [(0, "user", "Add."), (1, "assistant", "2"), (2, "user", "Again."), (3, "assistant", "3")],
    ),
    # ── Claude Code
    "Claude Code: lines of a subagent are left out beside others": (
        [line("user", 1, "Look.", isSidechain=True), line("assistant", 2, [use(LOOK)], "m")],
        [(0, *LOOKED, "?")],
    ),
    "Claude Code: sidechains are read if there is nothing else": (
        [line("user", 1, "Look.", isSidechain=True)],
        [(0, "user", "Look.")],
    ),
    "Claude Code: a summary of what was compacted is the system's": (
        [line("user", 1, "So far: …", isCompactSummary=True), line("user", 2, "Go on.")],
        [(0, "system", "So far: …"), (1, "user", "Go on.")],
    ),
    "Claude Code: a stream names the call that a subagent works for": (
        [
            {"type": "system", "subtype": "init", "session_id": "s"},
            {"type": "assistant", "session_id": "s", "message": assistant(use(LOOK))},
            {
                "type": "assistant",
                "session_id": "s",
                "parent_tool_use_id": "c1",
                "message": assistant(use(PAY)),
            },
            {"type": "user", "session_id": "s", "message": user([result("c1", "x")])},
            {"type": "result", "session_id": "s", "result": "Done."},
        ],
        [(0, *LOOKED, "ok: x")],
    ),
    # ── OpenTelemetry
    "OpenTelemetry: calls without chats are steps of their own": (
        document([ran(LOOK, 1, "x"), ran(LIST, 2)]),
        [(0, *LOOKED, "ok: x"), (1, *LISTED, "?")],
    ),
    "OpenTelemetry: calls after a chat share its step": (
        document(
            [
                span("chat", 1, operation__name="chat"),
                ran(LOOK, 2, parent=""),
                ran(LIST, 3, parent=""),
                span("chat", 4, operation__name="chat"),
                ran(PAY, 5, parent=""),
            ]
        ),
        [(0, *LOOKED, "?"), (0, *LISTED, "?"), (1, *PAID, "?")],
    ),
    "OpenTelemetry: an agent inside a tool has calls but no voice": (
        document(
            [
                chat(1, [of("user", "Go.")], [of("assistant", wanted(LOOK), wanted(LIST))], ""),
                ran(LOOK, 2, "x", parent=""),
                span("agent", 3, "tool-2", operation__name="invoke_agent"),
                chat(4, [of("user", "Sub.")], [of("assistant", "Sub!", wanted(PAY))], "agent-3"),
                ran(PAY, 5, "y", parent="agent-3"),
                ran(LIST, 6, "[]", parent=""),
            ]
        ),
        [
            (0, "system", "Be kind."),
            (1, "user", "Go."),
            (2, *LOOKED, "ok: x"),
            (2, *LISTED, "ok: []"),
            (3, *PAID, "ok: y"),
        ],
    ),
    "OpenTelemetry: earlier turns are not this run's, and no agent repeats what was said": (
        document(
            [
                chat(1, TOLD, [of("assistant", wanted(PAY))], ""),
                chat(
                    2,
                    [
                        *TOLD,
                        of("tool", {"type": "tool_call_response", "id": "c1", "response": "y"}),
                    ],
                    [of("assistant", "Ask ada.")],
                    "",
                ),
                span("agent", 3, operation__name="invoke_agent"),
                chat(4, [*TOLD, of("user", "Pay.")], [of("assistant", "Hello.")], "agent-3"),
            ]
        ),
        [
            (0, "system", "Be kind."),
            (1, "user", "Pay."),
            (2, *PAID, "ok: y"),
            (3, "assistant", "Ask ada."),
            (4, "user", "Pay."),
            (5, "assistant", "Hello."),
        ],
    ),
    "OpenTelemetry: attributes may be structures": (
        document([span("tool", 1) | {"attributes": STRUCTURED}]),
        [(0, *LOOKED, "ok: ['x', True]")],
    ),
    "OpenTelemetry: spans may lack ids": (
        document([s | {"spanId": ""} for s in (chat(1, [], [], ""), ran(LOOK, 2), ran(LIST, 3))]),
        [(0, "system", "Be kind."), (1, *LOOKED, "?"), (1, *LISTED, "?")],
    ),
    "OpenTelemetry: an exception says what went wrong": (
        document(
            [
                ran(LOOK, 1)
                | {
                    "status": {"code": "STATUS_CODE_ERROR"},
                    "events": [
                        {
                            "name": "exception",
                            "attributes": [
                                {"key": "exception.message", "value": {"stringValue": "boom"}}
                            ],
                        }
                    ],
                }
            ]
        ),
        [(0, *LOOKED, "failed: boom")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_seen(case: str) -> None:
    value, expected = CASES[case]
    assert seen(value) == expected


@pytest.mark.parametrize(
    ("value", "notes"),
    [
        ([action(1, LOOK, LIST, observations="a\nb\nc")], [("W521", "steps[0].observations")]),
        ([action(1, observations="a")], [("W521", "steps[0].observations")]),
        ([item(("a", {}, "c")) | {"arguments": "{"}], [("W520", "output[0].arguments")]),
        ([output("c1", "x")], [("W521", "output[0]")]),
        ([user([result("c1", "x")])], [("W521", "messages[0].content[0]")]),
        ([lc("tool", "x", tool_call_id="c1")], [("W521", "messages[0].data")]),
        ([line("user", 1, [result("c1", "x")])], [("W521", "lines[0].message.content[0]")]),
    ],
)
def test_what_is_odd_is_noted(value: Any, notes: list[tuple[str, str]]) -> None:
    assert [(note.code, note.where) for note in read(value).notes] == notes


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([assistant({"type": "tool_use", "input": {}})], "messages[0].content[0].name"),
        ([assistant(use(LOOK), 5)], "messages[0].content[1]"),
        ([item(LOOK), 5], "output[1]"),
        ([item(LOOK), {"type": 5}], "output[1].type"),
        ({"object": "response", "output": 5}, "output"),
        ({"object": "response", "input": [item(LOOK) | {"name": ""}]}, "input[0].name"),
        ([lc("human", "Hi."), 5], "messages[1]"),
        ([lc("human", "Hi."), lc("martian", "Hi.")], "messages[1].data.type"),
        (INSPECT | {"messages": 5}, "messages"),
        (
            TAU2 | {"messages": [{"role": "tool", "tool_messages": [5]}]},
            "messages[0].tool_messages[0]",
        ),
        ([{"task": "Go.", "task_images": None}, 5], "steps[1]"),
        ([{"task": 5, "task_images": None}], "steps[0].task"),
        ([{"task": "Go.", "task_images": None}, {}], "steps[1]"),
        ([line("user", 1, "Hi."), 5], "lines[1]"),
        ([line("user", 1, "Hi."), {"type": "user"}], "lines[1].message"),
        ({"resourceSpans": 5}, "resourceSpans"),
        ({"resourceSpans": [5]}, "resourceSpans[0]"),
        (document([ran(LOOK, 1), ran(PAY, 2) | {"traceId": "t2"}]), "resourceSpans"),
        (document([]), "resourceSpans"),
        (
            document([ran(LOOK, 1) | {"startTimeUnixNano": "soon"}]),
            "resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano",
        ),
        (
            document([span("tool", 1, operation__name="execute_tool")]),
            "resourceSpans[0].scopeSpans[0].spans[0].attributes.gen_ai.tool.name",
        ),
    ],
)
def test_a_mistake_is_named_and_placed(value: Any, where: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(value)
    assert [(d.code, d.where) for d in caught.value.diagnostics] == [("E320", where)]


@pytest.mark.parametrize(
    ("name", "labels", "metrics"),
    [
        ("Anthropic", {"model": "m", "max_tokens": 100}, {}),
        ("Claude Code", {"sessionId": "s1"}, {}),
        ("OpenAI Responses", {"id": "r1", "model": "m", "status": "completed"}, {}),
        ("LangChain", {}, {}),
        ("Pydantic AI", {}, {}),
        ("Inspect", {"id": 1, "epoch": 1, "match": "C"}, {"total_time": 1.5}),
        (
            "τ²-bench",
            {"task_id": "7", "trial": 0, "termination_reason": "user_stop", "reward": 1.0},
            {"duration": 2.5},
        ),
        ("smolagents", {}, {}),
        ("OpenTelemetry", {"trace_id": "t1", "conversation_id": "k1"}, {}),
    ],
)
def test_labels_and_metrics(name: str, labels: Any, metrics: Any) -> None:
    trace = read(FOREIGN[name]).trace
    assert (trace.labels, trace.metrics) == (labels, metrics)


def test_the_agent_of_a_call_is_the_nearest_around_it() -> None:
    agent = span("agent", 1, operation__name="invoke_agent", agent__name="desk")
    (call,) = read(
        document([agent, span("step", 2, "agent-1"), ran(LOOK, 3, None, "step-2")])
    ).trace
    assert call.agent == "desk"


def test_spans_may_stand_in_a_circle() -> None:
    (call,) = read(document([ran(LOOK, 1, parent="tool-1")])).trace
    assert call.tool == "look"


# ── files ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "calls"),
    [
        *((run, [4]) for run in FOREIGN.values()),
        ({"info": {}, "tasks": [], "simulations": [TAU2, TAU2]}, [4, 4]),
        ({"version": 2, "results": {"scores": []}, "samples": [INSPECT, 5]}, [4, "E301"]),
        ({"samples": []}, ["E311"]),
        (document([ran(LOOK, 1), ran(PAY, 2), ran(PAY, 3) | {"traceId": "t2"}]), [2, 1]),
        (document([ran(LOOK, 1), {"traceId": "t2", "spanId": "s", "name": "GET"}]), [1]),
        (document([ran(LOOK, 1), 5, ran(PAY, 3) | {"traceId": "t2"}]), ["E320"]),
        ([FOREIGN["LangChain"], FOREIGN["Anthropic"], FOREIGN["smolagents"]], [4, 4, 4]),
    ],
)
def test_file(value: Any, calls: list[int | str], tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(value))
    found = [
        entry.error.diagnostics[0].code if entry.error else len(entry.required())
        for entry in read_traces(tmp_path / "run.json")
    ]
    assert found == calls


def test_a_session_file_is_one_trace_whatever_line_is_damaged(tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in FOREIGN["Claude Code"]]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join([*lines, '{"type": "assi']))
    damaged, session = read_traces(path)
    assert damaged.name == f"{path}:{len(lines) + 1}"
    assert damaged.error is not None
    assert session.name == str(path)
    assert session.required() == read(FOREIGN["Claude Code"]).trace


# ── damage ────────────────────────────────────────────────────────────────────────────────

_ANYTHING: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "{", [], [[]], {}, {"type": "text"}]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value."""
    listed = value if isinstance(value, list) else ()
    inside = value.items() if isinstance(value, dict) else enumerate(listed)
    found = []
    for key, below in inside:
        found += [(*path, key), *_places(below, (*path, key))]
    return found


def _damaged(value: Any, data: st.DataObject) -> Any:
    """The value with a few places changed or gone."""
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(_places(value) or [("nothing left",)]))
        if last == "nothing left":
            break
        inside = value
        for key in path:
            inside = inside[key]
        if data.draw(st.booleans()):
            inside[last] = copy.deepcopy(data.draw(_ANYTHING))
        else:
            del inside[last]
    return value


@pytest.mark.parametrize("name", FOREIGN)
@given(data=st.data())
def test_a_damaged_document_is_a_trace_or_a_trace_error(name: str, data: st.DataObject) -> None:
    value = _damaged(FOREIGN[name], data)
    records_in(value)
    check_read_or_refused(value)


@given(data=st.data())
def test_damaged_messages_in_a_span_are_a_trace_or_a_trace_error(data: st.DataObject) -> None:
    told = _damaged(TOLD, data)
    check_read_or_refused(document([chat(1, told, told), chat(2, told, told)]))


def test_the_same_document_is_not_changed_by_reading() -> None:
    before = copy.deepcopy(OTEL)
    read(OTEL)
    assert before == OTEL
