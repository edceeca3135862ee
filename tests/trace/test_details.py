"""Times, agents and usage: every reader keeps what its format records."""

from __future__ import annotations

from typing import Any

import pytest

from bylaw import Call, Message, Trace
from bylaw.trace.formats import read
from bylaw.trace.formats.details import time_of

NOON = 1_774_785_600  # 29 March 2026, 12:00 UTC


def _span(name: str, start: float, end: float, parent: str = "", **attributes: object) -> Any:
    def value(given: object) -> dict[str, object]:
        return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}

    keys = {key.replace("__", "."): found for key, found in attributes.items()}
    return {
        "traceId": "t",
        "spanId": name,
        "parentSpanId": parent,
        "startTimeUnixNano": str(int(start * 1e9)),
        "endTimeUnixNano": str(int(end * 1e9)),
        "attributes": [{"key": key, "value": value(found)} for key, found in keys.items()],
    }


OPENTELEMETRY = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        _span(
                            "agent",
                            NOON,
                            NOON + 9,
                            gen_ai__operation__name="invoke_agent",
                            gen_ai__agent__name="clerk",
                        ),
                        _span(
                            "chat",
                            NOON,
                            NOON + 1,
                            "agent",
                            gen_ai__operation__name="chat",
                            gen_ai__usage__input_tokens=11,
                            gen_ai__usage__output_tokens=7,
                        ),
                        _span(
                            "pay",
                            NOON + 2,
                            NOON + 3.5,
                            "agent",
                            gen_ai__operation__name="execute_tool",
                            gen_ai__tool__name="pay",
                        ),
                    ]
                }
            ]
        }
    ]
}
TOKENS = {"input_tokens": 11, "output_tokens": 7}
CLAUDE_CODE = [
    {
        "type": "assistant",
        "sessionId": "s",
        "uuid": "1",
        "timestamp": "2026-03-29T12:00:02Z",
        "message": {
            "id": "m",
            "role": "assistant",
            "usage": TOKENS,
            "content": [{"type": "tool_use", "id": "c", "name": "pay", "input": {}}],
        },
    },
    {
        "type": "user",
        "sessionId": "s",
        "uuid": "2",
        "timestamp": "2026-03-29T14:00:03.500+02:00",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}],
        },
    },
]
INSPECT = {
    "epoch": 1,
    "input": "Pay.",
    "messages": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": "pay", "arguments": {}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ],
    "events": [
        {
            "event": "tool",
            "id": "c",
            "timestamp": "2026-03-29T12:00:02+00:00",
            "completed": "2026-03-29T12:00:03.5+00:00",
        }
    ],
}
SMOLAGENTS = [
    {
        "step_number": 1,
        "timing": {"start_time": NOON + 2, "end_time": NOON + 3.5, "duration": 1.5},
        "token_usage": {**TOKENS, "total_tokens": 18},
        "model_output": None,
        "model_output_message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "pay", "arguments": {}}}],
        },
        "observations": "done",
    }
]
LANGCHAIN = [
    {
        "type": "ai",
        "name": "clerk",
        "content": "",
        "tool_calls": [{"name": "pay", "args": {}, "id": "c"}],
        "usage_metadata": {**TOKENS, "total_tokens": 18},
    }
]
OPENAI: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "created": NOON + 2,
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        "tool_calls": [{"id": "c", "function": {"name": "pay", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "done", "timestamp": (NOON + 3.5) * 1000},
]
ANTHROPIC = [
    {
        "role": "assistant",
        "usage": TOKENS,
        "content": [{"type": "tool_use", "id": "c", "name": "pay", "input": {}}],
    }
]
NATIVE = {
    "tool_calls": [
        {
            "tool_name": "pay",
            "start": NOON + 2,
            "end": NOON + 3.5,
            "agent": "clerk",
            "usage": TOKENS,
        }
    ]
}

RUNS: dict[str, tuple[Any, bool, str | None, bool]] = {
    # the run, and whether it records times, the agent, and usage
    "native": (NATIVE, True, "clerk", True),
    "OpenTelemetry": (OPENTELEMETRY, True, "clerk", True),
    "Claude Code": (CLAUDE_CODE, True, None, True),
    "Inspect": (INSPECT, True, None, False),
    "smolagents": (SMOLAGENTS, True, None, True),
    "LangChain": (LANGCHAIN, False, "clerk", True),
    "OpenAI chat": (OPENAI, True, None, True),
    "Anthropic": (ANTHROPIC, False, None, True),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_call_keeps_its_times_agent_and_usage(name: str) -> None:
    run, timed, agent, usage = RUNS[name]
    (call,) = read(run).trace.calls
    assert (call.start, call.end) == ((NOON + 2, NOON + 3.5) if timed else (None, None))
    assert call.agent == agent
    used = {key: (call.usage or {}).get(key) for key in TOKENS}
    assert used == (TOKENS if usage else dict.fromkeys(TOKENS))


def test_a_text_has_the_usage_of_its_turn() -> None:
    spoken = {**OPENAI[0], "content": "I pay."}
    message, call = read([spoken, *OPENAI[1:]]).trace.events
    assert isinstance(message, Message)
    assert isinstance(call, Call)
    assert (message.start, call.start) == (NOON + 2, NOON + 2)
    assert message.usage is not None
    assert message.usage["output_tokens"] == 7
    assert call.usage is None


TIMES = {
    # seconds, milliseconds, microseconds and nanoseconds; texts with and without a zone
    NOON: NOON,
    NOON * 1000 + 500: NOON + 0.5,
    NOON * 10**6: NOON,
    NOON * 10**9: NOON,
    "2026-03-29T12:00:00Z": NOON,
    "2026-03-29T14:00:00+02:00": NOON,
    "2026-03-29T12:00:00": NOON,
    "2026-03-29": NOON - 12 * 3600,
    "yesterday": None,
    True: None,
    float("nan"): None,
}


@pytest.mark.parametrize("written", TIMES, ids=str)
def test_a_time_may_be_written_in_many_ways(written: object) -> None:
    assert time_of(written) == TIMES[written]


def test_a_record_keeps_the_details_of_messages_and_calls() -> None:
    trace = Trace(
        [
            Message("user", "Pay.", start=NOON),
            Message("assistant", "I do.", start=NOON + 1, agent="clerk", usage=TOKENS),
            Call("pay", start=NOON + 1, end=NOON + 2, agent="clerk", usage={"cost": 0.5}),
        ]
    )
    assert Trace.from_record(trace.to_record()).events == trace.events
