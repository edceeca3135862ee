"""One run as other programs write it down: the same in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bylaw import MISSING, AuditLog, Call, Guard, Procedure

Asked = tuple[str, dict[str, Any], str]
"""A tool, arguments and an id."""

LOOK: Asked = ("look", {"n": 7}, "c1")
LIST: Asked = ("list", {}, "c2")
PAY: Asked = ("pay", {"to": "[1]"}, "c1")
PAY_AGAIN: Asked = ("pay", {"to": "ada"}, "c3")


# ── Anthropic, Claude Code ────────────────────────────────────────────────────────────────


def use(asked: Asked) -> dict[str, Any]:
    tool, args, id = asked
    return {"type": "tool_use", "id": id, "name": tool, "input": args}


def result(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content} | more


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "system": "Be kind.",
    "messages": [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": [text("Let me look."), use(LOOK), use(LIST)]},
        {"role": "user", "content": [result("c2", [text('["a"]')]), result("c1", "x")]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, use(PAY)]},
        {"role": "user", "content": [result("c1", "no", is_error=True)]},
        {"role": "assistant", "content": [use(PAY_AGAIN)]},
        {"role": "assistant", "content": [text("Done.")]},
    ],
}


def line(kind: str, number: int, content: Any, id: str | None = None, **more: Any) -> Any:
    """A line of a session; `id` is that of the model's message."""
    message = {"role": kind, "content": content} | ({"id": id} if id else {})
    about = {"uuid": f"u{number}", "sessionId": "s1", "isSidechain": False}
    return {"type": kind, "message": message, **about, **more}


CLAUDE_CODE: list[Any] = [
    {"type": "summary", "summary": "Paying", "leafUuid": "u9"},
    line("user", 0, "Be kind.", isMeta=True),
    line("user", 1, "Pay."),
    line("assistant", 2, [text("Let me look.")], "m1"),
    line("assistant", 3, [use(LOOK)], "m1"),
    line("user", 4, [result("c1", "x")], toolUseResult={"stdout": "x"}),
    line("assistant", 5, [use(LIST)], "m1"),
    line("user", 6, [result("c2", '["a"]')]),
    line("user", 6, [result("c2", '["a"]')]),
    line("assistant", 7, [use(PAY)], "m2"),
    line("assistant", 8, [use(LOOK)], "m8", isSidechain=True),
    line("user", 9, [result("c1", "no", is_error=True)]),
    line("assistant", 10, [use(PAY_AGAIN)], "m3"),
    {"type": "file-history-snapshot", "messageId": "u9", "snapshot": {}},
    line("assistant", 11, [text("Done.")], "m4"),
]


# ── OpenAI Responses ──────────────────────────────────────────────────────────────────────


def item(asked: Asked) -> dict[str, Any]:
    tool, args, id = asked
    arguments = json.dumps(args)
    return {"type": "function_call", "call_id": id, "name": tool, "arguments": arguments}


def output(id: str, output: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output} | more


def spoken(text: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": parts}


RESPONSES: dict[str, Any] = {
    "object": "response",
    "id": "r1",
    "model": "m",
    "status": "completed",
    "instructions": "Be kind.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Pay."}]},
        {"type": "reasoning", "summary": []},
        spoken("Let me look."),
        item(LOOK),
        item(LIST),
        output("c1", "x"),
        output("c2", [{"type": "input_text", "text": '["a"]'}]),
        item(PAY),
        output("c1", "no", status="failed"),
        item(PAY_AGAIN),
    ],
    "output": [spoken("Done.")],
}


# ── LangChain, Inspect, τ²-bench ──────────────────────────────────────────────────────────


def lc(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **fields}}


def lc_call(asked: Asked) -> dict[str, Any]:
    tool, args, id = asked
    return {"name": tool, "args": args, "id": id, "type": "tool_call"}


LANGCHAIN: list[Any] = [
    lc("system", "Be kind."),
    lc("human", "Pay."),
    lc("ai", [text("Let me look.")], tool_calls=[lc_call(LOOK), lc_call(LIST)]),
    lc("tool", '["a"]', tool_call_id="c2", status="success"),
    lc("tool", "x", tool_call_id="c1", status="success"),
    lc("ai", "", tool_calls=[lc_call(PAY)]),
    lc("tool", "no", tool_call_id="c1", status="error"),
    lc("ai", "", tool_calls=[lc_call(PAY_AGAIN)]),
    lc("ai", "Done.", tool_calls=[]),
]


def inspect_turn(content: Any, *asked: Asked) -> dict[str, Any]:
    calls = [{"id": id, "function": tool, "arguments": args} for tool, args, id in asked]
    return {"role": "assistant", "content": content, "source": "generate", "tool_calls": calls}


def inspect_result(id: str, content: Any, error: Any = None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, "error": error}


INSPECT: dict[str, Any] = {
    "id": 1,
    "epoch": 1,
    "input": "Pay.",
    "target": "Done.",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Pay.", "source": "input"},
        inspect_turn([text("Let me look.")], LOOK, LIST),
        inspect_result("c1", "attachment://a1"),
        inspect_result("c2", '["a"]'),
        inspect_turn("", PAY),
        inspect_result("c1", "", {"type": "permission", "message": "no"}),
        inspect_turn("", PAY_AGAIN),
        inspect_turn("Done."),
    ],
    "scores": {"match": {"value": "C", "answer": "Done."}},
    "attachments": {"a1": "x"},
    "total_time": 1.5,
}


def tau2_turn(content: Any, *asked: Asked, role: str = "assistant") -> dict[str, Any]:
    calls = [
        {"id": id, "name": tool, "arguments": args, "requestor": role} for tool, args, id in asked
    ]
    return {"role": role, "content": content, "tool_calls": calls or None}


def tau2_result(id: str, content: Any, by: str = "assistant", error: bool = False) -> Any:
    return {"role": "tool", "id": id, "content": content, "requestor": by, "error": error}


TAU2: dict[str, Any] = {
    "id": "s1",
    "task_id": "7",
    "trial": 0,
    "termination_reason": "user_stop",
    "duration": 2.5,
    "reward_info": {"reward": 1.0},
    "messages": [
        {"role": "system", "content": "Be kind."},
        tau2_turn(None, ("reboot", {}, "c1"), role="user"),
        tau2_result("c1", "rebooted", by="user"),
        tau2_turn("Pay.", role="user"),
        tau2_turn("Let me look.", LOOK, LIST),
        {"role": "tool", "tool_messages": [tau2_result("c1", "x"), tau2_result("c2", '["a"]')]},
        tau2_turn(None, PAY),
        tau2_result("c1", "no", error=True),
        tau2_turn(None, PAY_AGAIN),
        tau2_turn("Done."),
    ],
}


# ── smolagents ────────────────────────────────────────────────────────────────────────────


def action(number: int, *asked: Asked, text: Any = None, **fields: Any) -> dict[str, Any]:
    calls = [
        {"id": id, "type": "function", "function": {"name": tool, "arguments": args}}
        for tool, args, id in asked
    ]
    kept = [] if fields.get("error") else sorted(calls, key=lambda call: str(call["id"]))
    return {
        "step_number": number,
        "tool_calls": kept,
        "error": None,
        "model_output": text,
        "model_output_message": {"role": "assistant", "content": text, "tool_calls": calls},
        "observations": None,
        "action_output": None,
        "is_final_answer": False,
        **fields,
    }


FINISH: Asked = ("final_answer", {"answer": "Done."}, "c4")
SMOLAGENTS: list[Any] = [
    {"system_prompt": "Be kind."},
    {"task": "Pay.", "task_images": None},
    action(1, LOOK, LIST, text="Let me look.", observations='x\n["a"]'),
    action(2, PAY, error={"type": "AgentToolExecutionError", "message": "no"}),
    action(3, PAY_AGAIN),
    action(4, FINISH, observations="Done.", is_final_answer=True),
]


# ── OpenTelemetry ─────────────────────────────────────────────────────────────────────────


def span(name: str, start: int, parent: str = "", **attributes: Any) -> dict[str, Any]:
    """A span with attributes of GenAI, `tool_name` for `gen_ai.tool.name`."""
    listed = [
        {"key": "gen_ai." + key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in attributes.items()
    ]
    ids = {"traceId": "t1", "spanId": f"{name}-{start}", "parentSpanId": parent}
    return {**ids, "name": name, "startTimeUnixNano": str(start), "attributes": listed}


def chat(start: int, heard: list[Any], said: list[Any], parent: str = "agent-1") -> dict[str, Any]:
    named = {"input__messages": json.dumps(heard), "output__messages": json.dumps(said)}
    system = json.dumps([{"type": "text", "content": "Be kind."}])
    return span("chat", start, parent, operation__name="chat", system_instructions=system, **named)


def ran(asked: Asked, start: int, returned: str | None = None, parent: str = "agent-1") -> Any:
    tool, args, id = asked
    more = {} if returned is None else {"tool__call__result": returned}
    called = {"tool__call__arguments": json.dumps(args), "tool__call__id": id, **more}
    return span("tool", start, parent, operation__name="execute_tool", tool__name=tool, **called)


def of(role: str, *parts: Any) -> dict[str, Any]:
    told = [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]
    return {"role": role, "parts": told}


def wanted(asked: Asked) -> dict[str, Any]:
    tool, args, id = asked
    return {"type": "tool_call", "id": id, "name": tool, "arguments": args}


def document(spans: Sequence[Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [*spans]}]}]}


TOLD = [
    of("user", "Pay."),
    of("assistant", "Let me look.", wanted(LOOK), wanted(LIST)),
    of("tool", {"type": "tool_call_response", "id": "c1", "response": "x"}),
    of("tool", {"type": "tool_call_response", "id": "c2", "response": '["a"]'}),
]
OTEL: dict[str, Any] = document(
    [
        ran(LOOK, 4, "x"),  # exported before the spans around it, as spans that end early are
        ran(PAY, 7) | {"status": {"code": 2, "message": "no"}},
        chat(2, TOLD[:1], TOLD[1:2]),
        chat(6, TOLD, [of("assistant", wanted(PAY))]),
        chat(8, TOLD, [of("assistant", wanted(PAY_AGAIN))]),
        chat(9, TOLD, [of("assistant", "Done.")]),
        span("agent", 1, operation__name="invoke_agent", conversation__id="k1"),
    ]
)

# ── a gate's log ──────────────────────────────────────────────────────────────────────────


def _gate_log() -> list[Any]:
    rule = {"name": "free", "rule": "G !forbidden"}
    procedure = Procedure.from_dict({"constraints": [rule], "unlisted": "allow"})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "gate.jsonl"
        with AuditLog(path, durable=False) as log:
            guard = Guard(procedure, log=log, run_id="r")
            guard.say("system", "Be kind.")
            guard.say("user", "Pay.")
            guard.say("assistant", "Let me look.")
            calls = [Call(tool, args, id=id) for tool, args, id in (LOOK, LIST, PAY, PAY_AGAIN)]
            looked, listed = guard.propose(calls[:2])
            guard.record(listed, '["a"]')
            guard.record(looked, "x")
            (paid,) = guard.propose(calls[2:3])
            guard.record(paid, MISSING, error="no")
            guard.propose(calls[3:])
            guard.say("assistant", "Done.")
            guard.finish("Done.")
        return [json.loads(line) for line in path.read_text().splitlines()]


# ── Pydantic AI ───────────────────────────────────────────────────────────────────────────


def part(kind: str, content: str, **more: Any) -> dict[str, Any]:
    return {"part_kind": kind, "content": content} | more


def tool_call(asked: Asked) -> dict[str, Any]:
    tool, args, id = asked
    return {"part_kind": "tool-call", "tool_name": tool, "args": args, "tool_call_id": id}


def returned(tool: str, id: str, content: str, **more: Any) -> dict[str, Any]:
    return part("tool-return", content, tool_name=tool, tool_call_id=id) | more


PYDANTIC_AI: list[Any] = [
    {
        "kind": "request",
        "parts": [part("system-prompt", "Be kind."), part("user-prompt", "Pay.")],
        "instructions": None,
    },
    {
        "kind": "response",
        "parts": [part("text", "Let me look."), tool_call(LOOK), tool_call(LIST)],
    },
    {"kind": "request", "parts": [returned("list", "c2", '["a"]'), returned("look", "c1", "x")]},
    {"kind": "response", "parts": [part("thinking", "Hm."), tool_call(PAY)]},
    {"kind": "request", "parts": [returned("pay", "c1", "no", outcome="failed")]},
    {"kind": "response", "parts": [tool_call(PAY_AGAIN)]},
    {"kind": "response", "parts": [part("text", "Done.")]},
]


FOREIGN: dict[str, Any] = {
    "gate log": _gate_log(),
    "Anthropic": ANTHROPIC,
    "Claude Code": CLAUDE_CODE,
    "OpenAI Responses": RESPONSES,
    "LangChain": LANGCHAIN,
    "Pydantic AI": PYDANTIC_AI,
    "Inspect": INSPECT,
    "τ²-bench": TAU2,
    "smolagents": SMOLAGENTS,
    "OpenTelemetry": OTEL,
}
