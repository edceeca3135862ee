"""Traces that other libraries write themselves, with the versions that are installed, are read.

The run is the same everywhere: `look` and `pay` in one turn, `pay` fails, then the answer.
"""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from bylaw import Call, Trace, read_trace, read_traces
from bylaw.trace.formats import format_of, read


def missing(package: str) -> str:
    return f"NOT TESTED: {package} is not installed, so its traces are not read as it writes them"


def seen(trace: Trace) -> list[tuple[Any, ...]]:
    """Each message as (step, role, text), each call as (step, tool, arguments, result, failed)."""
    return [
        (event.step, event.tool, dict(event.args), event.result if event.ok else "", event.failed)
        if isinstance(event, Call)
        else (event.step, event.role, event.text)
        for event in trace.events
    ]


def written(value: Any, expected: str) -> Trace:
    """The trace of a value as JSON, which has a certain format."""
    value = json.loads(value if isinstance(value, str) else json.dumps(value))
    known = format_of(value)
    assert known is not None
    assert known.name == expected
    reading = read(value)
    assert reading.notes == ()
    return reading.trace


RUN = [
    (0, "user", "Pay."),
    (1, "assistant", "Let me look."),
    (1, "look", {"n": 7}, "x", False),
    (1, "pay", {"to": "ada"}, "", True),
    (2, "assistant", "Done."),
]


# ── LangChain ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def conversation() -> list[Any]:
    messages = pytest.importorskip("langchain_core.messages", reason=missing("langchain-core"))
    calls = [
        {"name": "look", "args": {"n": 7}, "id": "c1"},
        {"name": "pay", "args": {"to": "ada"}, "id": "c2"},
    ]
    return [
        messages.HumanMessage("Pay."),
        messages.AIMessage("Let me look.", tool_calls=calls),
        messages.ToolMessage("not allowed", tool_call_id="c2", status="error"),
        messages.ToolMessage("x", tool_call_id="c1"),
        messages.AIMessage([{"type": "text", "text": "Done."}]),
    ]


def test_langchain_messages_to_dict(conversation: list[Any]) -> None:
    messages = pytest.importorskip("langchain_core.messages", reason=missing("langchain-core"))
    trace = written(messages.messages_to_dict(conversation), "LangChain")
    assert seen(trace) == RUN
    assert trace.answer == "Done."


def test_langchain_dumps(conversation: list[Any]) -> None:
    load = pytest.importorskip("langchain_core.load", reason=missing("langchain-core"))
    assert seen(written(load.dumps(conversation), "LangChain")) == RUN
    assert seen(written(load.dumps({"messages": conversation}), "LangChain")) == RUN


def test_langchain_model_dump(conversation: list[Any]) -> None:
    state = {"messages": [message.model_dump() for message in conversation]}
    assert seen(written(state, "LangChain")) == RUN


def test_langchain_calls_that_could_not_be_parsed() -> None:
    messages = pytest.importorskip("langchain_core.messages", reason=missing("langchain-core"))
    chunk = {"name": "look", "args": '{"n": 7', "id": "c1", "index": 0, "type": "tool_call_chunk"}
    broken = {"name": "pay", "args": "to ada", "id": "c2", "error": "not JSON"}
    said = [
        messages.AIMessageChunk("", tool_call_chunks=[chunk]),
        messages.AIMessage("", invalid_tool_calls=[broken]),
    ]
    reading = read(json.loads(json.dumps(messages.messages_to_dict(said))))
    assert [(call.tool, dict(call.args)) for call in reading.trace] == [
        ("look", {"n": 7}),
        ("pay", {"_raw": "to ada"}),
    ]
    assert [note.code for note in reading.notes] == ["W520"]


# ── OpenTelemetry ─────────────────────────────────────────────────────────────────────────


def test_opentelemetry_spans() -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason=missing("opentelemetry-sdk"))
    encoder = pytest.importorskip(
        "opentelemetry.exporter.otlp.json.common.trace_encoder",
        reason=missing("opentelemetry-exporter-otlp-json-common"),
    )
    ended: list[Any] = []

    class Keeping(sdk.SpanProcessor):  # type: ignore[misc, name-defined]  # the library has no types
        def on_end(self, span: Any) -> None:
            ended.append(span)

    provider = sdk.TracerProvider()
    provider.add_span_processor(Keeping())
    tracer = provider.get_tracer("agent")

    def span(operation: str, **more: Any) -> Any:
        named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in more.items()}
        attributes = {"gen_ai.operation.name": operation, **named}
        return tracer.start_as_current_span(operation, attributes=attributes)

    def messages(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    pay = {"tool__name": "pay", "tool__call__arguments": '{"to": "ada"}'}
    look = {"tool__name": "look", "tool__call__arguments": '{"n": 7}', "tool__call__result": "x"}
    asked = messages("user", "Pay.")
    with span("invoke_agent", agent__name="desk"):
        said = messages("assistant", "Let me look.")
        with span("chat", input__messages=asked, output__messages=said):
            pass
        with span("execute_tool", **look):
            pass
        with pytest.raises(PermissionError), span("execute_tool", **pay):
            raise PermissionError("not allowed")
        said = messages("assistant", "Done.")
        with span("chat", input__messages=asked, output__messages=said):
            pass
    provider.shutdown()

    document = encoder.encode_spans(ended).to_dict()
    trace = written(document, "OpenTelemetry")
    assert seen(trace) == RUN
    assert trace.answer == "Done."
    assert [call.agent for call in trace] == ["desk", "desk"]
    assert trace[1].error == "PermissionError: not allowed"


# ── smolagents ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def smolagents() -> Any:
    return pytest.importorskip("smolagents", reason=missing("smolagents"))


def _smolagents_tools() -> list[Any]:
    from smolagents import tool

    @tool  # type: ignore[untyped-decorator]  # the library has no types
    def look(n: int) -> str:
        """Looks.

        Args:
            n: where
        """
        return "x" * (n - 6)

    @tool  # type: ignore[untyped-decorator]  # the library has no types
    def pay(to: str) -> str:
        """Pays.

        Args:
            to: whom
        """
        raise PermissionError(f"not to {to}")

    return [look, pay]


def _smolagents_model(smolagents: Any, turns: list[Any]) -> Any:
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )

    class Scripted(smolagents.Model):  # type: ignore[misc]  # the library has no types
        def generate(self, messages: Any, **_: Any) -> Any:
            text, *calls = turns.pop(0)
            made = [
                ChatMessageToolCall(ChatMessageToolCallFunction(args, tool), id, "function")
                for tool, args, id in calls
            ]
            return ChatMessage(MessageRole.ASSISTANT, content=text, tool_calls=made or None)

    return Scripted(model_id="scripted")


@pytest.mark.frameworks
def test_smolagents_memory(smolagents: Any) -> None:
    look = ("look", {"n": 7}, "c9")
    turns = [
        ("Let me look.", look, ("look", {"n": 8}, "c1")),
        ("", look, ("pay", {"to": "ada"}, "c1")),
        ("", ("final_answer", {"answer": "Done."}, "c1")),
    ]
    agent = smolagents.ToolCallingAgent(
        tools=_smolagents_tools(),
        model=_smolagents_model(smolagents, turns),
        verbosity_level=smolagents.LogLevel.OFF,
    )
    result = agent.run("Pay.", return_full_result=True)
    expected = [
        (0, "user", "Pay."),
        (1, "assistant", "Let me look."),
        (1, "look", {"n": 7}, "x", False),
        (1, "look", {"n": 8}, "xx", False),
        (2, "look", {"n": 7}, "", False),
        (2, "pay", {"to": "ada"}, "", True),
        (3, "assistant", "Done."),
    ]
    for value in (agent.memory.get_full_steps(), agent.memory.get_succinct_steps(), result.dict()):
        trace = written(value, "smolagents")
        assert seen(trace) == expected
        assert trace.answer == "Done."
    assert "not to ada" in (trace.calls[-1].error or "")


@pytest.mark.frameworks
def test_smolagents_code(smolagents: Any) -> None:
    agent = smolagents.CodeAgent(
        tools=_smolagents_tools(),
        model=_smolagents_model(
            smolagents,
            [("<code>\npay('ada')\n</code>",), ("<code>\nfinal_answer(look(7))\n</code>",)],
        ),
        verbosity_level=smolagents.LogLevel.OFF,
    )
    agent.run("Pay.")
    trace = written(agent.memory.get_full_steps(), "smolagents")
    assert [(call.tool, call.args["code"], call.failed) for call in trace] == [
        ("python_interpreter", "pay('ada')", True),
        ("python_interpreter", "final_answer(look(7))", False),
    ]
    assert trace.answer == "x"


@pytest.mark.frameworks
def test_smolagents_out_of_steps(smolagents: Any) -> None:
    turns = [("", ("look", {"n": 7}, "c1")), ("I ran out of steps.",)]
    agent = smolagents.ToolCallingAgent(
        tools=_smolagents_tools(),
        model=_smolagents_model(smolagents, turns),
        verbosity_level=smolagents.LogLevel.OFF,
        max_steps=1,
    )
    agent.run("Pay.")
    trace = written(agent.memory.get_full_steps(), "smolagents")
    assert trace.answer == "I ran out of steps."
    assert [call.tool for call in trace] == ["look"]


# ── Inspect ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.frameworks
def test_inspect_log(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason=missing("inspect-ai"))
    from inspect_ai import model as models
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, ToolCall, ToolError, tool

    @tool  # type: ignore[untyped-decorator]  # the library has no types
    def look() -> Tool:
        async def execute(n: int) -> str:
            """Looks.

            Args:
                n: where
            """
            return "x" * (n - 6)

        return execute

    @tool  # type: ignore[untyped-decorator]  # the library has no types
    def pay() -> Tool:
        async def execute(to: str) -> str:
            """Pays.

            Args:
                to: whom
            """
            raise ToolError(f"not to {to}")

        return execute

    def turn(text: str, *calls: Any) -> Any:
        message = models.ChatMessageAssistant(content=text, tool_calls=list(calls))
        # Without usage, the model would count tokens with a table that it downloads.
        usage = models.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        choice = models.ChatCompletionChoice(message=message)
        return models.ModelOutput(model="mockllm", choices=[choice], usage=usage)

    calls = [ToolCall("c1", "look", {"n": 7}), ToolCall("c2", "pay", {"to": "ada"})]
    script = [turn("Let me look.", *calls), turn("Done.")]
    task = inspect_ai.Task(
        dataset=[Sample(input="Pay.", target="Done."), Sample(input="Pay.", target="Gone.")],
        solver=[use_tools(look(), pay()), generate()],
        scorer=match(),
        model=models.get_model("mockllm/model", custom_outputs=script * 2, memoize=False),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect's own; some come when it is cleaned up after
        inspect_ai.eval(
            task, display="none", log_dir=str(tmp_path), log_format="json", max_samples=1
        )
        gc.collect()
    (path,) = tmp_path.glob("*.json")
    first, second = (entry.required() for entry in read_traces(path))
    assert seen(first) == seen(second) == RUN
    assert first.answer == "Done."
    assert first.calls[1].error == "not to ada"
    assert [run.labels["match"] for run in (first, second)] == ["C", "I"]
    assert first.metrics.keys() == {"total_time", "working_time"}


# ── Anthropic, OpenAI ─────────────────────────────────────────────────────────────────────


def test_openai_response(tmp_path: Path) -> None:
    responses = pytest.importorskip("openai.types.responses", reason=missing("openai"))
    call = responses.ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="look", arguments='{"n": 7}'
    )
    text = responses.ResponseOutputText(type="output_text", text="Let me look.", annotations=[])
    said = responses.ResponseOutputMessage(
        id="m1", type="message", role="assistant", status="completed", content=[text]
    )
    response = responses.Response.construct(id="r1", object="response", output=[said, call])
    (tmp_path / "response.json").write_text(response.to_json())
    trace = read_trace(tmp_path / "response.json")
    assert seen(trace) == [(0, "assistant", "Let me look."), (0, "look", {"n": 7}, "", False)]


def test_anthropic_message() -> None:
    types = pytest.importorskip("anthropic.types", reason=missing("anthropic"))
    blocks = [
        types.TextBlock(type="text", text="Let me look.", citations=None),
        types.ToolUseBlock(type="tool_use", id="t1", name="look", input={"n": 7}),
    ]
    message = types.Message.construct(id="m", type="message", role="assistant", content=blocks)
    result = types.ToolResultBlockParam(type="tool_result", tool_use_id="t1", content="x")
    kept = [json.loads(message.to_json()), {"role": "user", "content": [result]}]
    assert seen(written(kept, "Anthropic")) == RUN_OF_ONE


RUN_OF_ONE = [(0, "assistant", "Let me look."), (0, "look", {"n": 7}, "x", False)]
