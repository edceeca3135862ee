"""Runs of agents of each framework behind a gate, whose cost is measured. See `adapters.py`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from time import thread_time
from typing import Any

from adapter_costs import CALLS, CLOCK, PROCEDURE, TOOLS, TURNS, Costs, Run, compared, coroutine

from bylaw import Call


def langchain() -> Run:
    """An agent of `create_agent`."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from bylaw.adapters.langchain import GateMiddleware

    class Scripted(GenericFakeChatModel):  # type: ignore[misc]  # the framework is not followed
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    made = [tool(each) for each in TOOLS.values()]

    def run(costs: Costs) -> None:
        turns: list[Any] = []
        for number, call in enumerate(CALLS):
            asked: Any = {"name": call.tool, "args": dict(call.args), "id": f"c{number}"}
            turns.append(AIMessage("", tool_calls=[asked]))
        middleware = GateMiddleware(PROCEDURE)
        hooks: Any = middleware
        for hook in ("before_model", "after_model", "wrap_model_call", "wrap_tool_call"):
            setattr(hooks, hook, costs.timed(getattr(middleware, hook)))
        for hook in ("before_agent", "after_agent"):
            setattr(hooks, hook, costs.timed(getattr(middleware, hook), per_run=True))
        model = Scripted(messages=iter([*turns, AIMessage("done")]))
        agent = create_agent(model, made, middleware=[middleware])
        result = agent.invoke({"messages": [("user", "go")]})
        assert len(result["messages"]) == 2 * TURNS + 2

    return run


def openai_agents() -> Run:
    """An agent of the OpenAI Agents SDK, with a gate and without; the difference is the cost."""
    os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    from bylaw.adapters.openai_agents import GuardedAgent

    part = ResponseOutputText(type="output_text", text="done", annotations=[])
    about: Any = {"type": "message", "role": "assistant", "status": "completed"}
    last = ResponseOutputMessage(id="m", content=[part], **about)
    turns: list[Any] = [
        ResponseFunctionToolCall(
            type="function_call", name=call.tool, call_id=f"c{number}",
            arguments=json.dumps(dict(call.args)),
        )
        for number, call in enumerate(CALLS)
    ]  # fmt: skip

    class Scripted(Model):  # type: ignore[misc]  # the framework is not followed
        def __init__(self) -> None:
            self.left = iter([*turns, last])

        async def get_response(self, *_: Any, **__: Any) -> Any:
            return ModelResponse(output=[next(self.left)], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    def agent() -> Any:
        tools = [function_tool(coroutine(each)) for each in TOOLS.values()]
        return Agent(name="desk", model=Scripted(), tools=tools)

    def gated() -> Any:
        return GuardedAgent(agent(), PROCEDURE).run("go", max_turns=2 * TURNS)

    return compared(lambda: Runner.run(agent(), "go", max_turns=2 * TURNS), gated)


def pydantic_ai() -> Run:
    """An agent of Pydantic AI, with a gate and with idle hooks; the difference is the cost."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from bylaw.adapters.pydantic_ai import GateCapability

    def agent(**more: Any) -> Any:
        parts = [ToolCallPart(call.tool, dict(call.args), f"c{n}") for n, call in enumerate(CALLS)]
        left = iter([*parts, TextPart("done")])

        async def model(*_: Any) -> Any:
            return ModelResponse(parts=[next(left)])

        tools = [coroutine(each) for each in TOOLS.values()]
        return Agent(FunctionModel(model), tools=tools, **more)

    def run(capabilities: list[Any]) -> Any:
        from pydantic_ai.usage import UsageLimits

        limits = UsageLimits(request_limit=None)
        return agent(capabilities=capabilities).run("go", usage_limits=limits)

    class Idle(AbstractCapability[Any]):  # type: ignore[misc]  # the framework is not followed
        """The gate's hooks, without the gate."""

        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
            return await handler(request_context)

        async def after_model_request(self, ctx: Any, *, response: Any, **_: Any) -> Any:
            return response

        async def wrap_tool_execute(self, ctx: Any, *, args: Any, handler: Any, **_: Any) -> Any:
            return await handler(args)

        async def before_tool_execute(self, ctx: Any, *, args: Any, **_: Any) -> Any:
            return args

    return compared(lambda: run([Idle()]), lambda: run([GateCapability(PROCEDURE)]))


def smolagents() -> Run:
    """A `ToolCallingAgent` of smolagents, with a gate and without; the difference is the cost."""
    from smolagents import LogLevel, Model, ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )
    from smolagents.tools import Tool

    from bylaw.adapters.smolagents import GuardSource, guarded

    class Scripted(Model):  # type: ignore[misc]  # the framework is not followed
        def __init__(self) -> None:
            super().__init__(model_id="scripted")
            self.left = iter([*CALLS, Call("final_answer", {"answer": "done"})])

        def generate(self, *_: Any, **__: Any) -> Any:
            call = next(self.left)
            function = ChatMessageToolCallFunction(dict(call.args), call.tool)
            made = [ChatMessageToolCall(function, "c", "function")]
            return ChatMessage(MessageRole.ASSISTANT, content=None, tool_calls=made)

    def made(function: Callable[..., str]) -> Any:
        number = {"type": "integer", "description": "a number"}
        about: Any = {"name": function.__name__, "description": str(function.__doc__)}
        about |= {"inputs": {"id": number, "size": number}, "output_type": "string"}

        def forward(_: Any, id: int, size: int) -> str:
            return function(id, size)

        return type("Made", (Tool,), {**about, "forward": forward})()

    tools = [made(each) for each in TOOLS.values()]
    source = GuardSource(PROCEDURE, {})

    def agent() -> Any:
        limits = {"max_steps": 2 * TURNS, "verbosity_level": LogLevel.OFF}
        return ToolCallingAgent(tools=tools, model=Scripted(), **limits)

    async def run(made: Any) -> None:
        assert made.run("go") == "done"

    return compared(lambda: run(agent()), lambda: run(guarded(agent(), source)))


def inspect() -> Run:
    """The agent `react` of Inspect."""
    import tempfile

    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.agent import react
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.tool import ToolCall, ToolDef

    from bylaw.adapters.inspect import guarded
    from bylaw.adapters.inspect_gate import GatedAgent

    about = {"id": "a number", "size": "a number"}
    tools = [ToolDef(coroutine(each), each.__name__, parameters=about) for each in TOOLS.values()]
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    def run(costs: Costs) -> None:
        left = iter([*CALLS, Call("submit", {"answer": "done"})])

        def said(*_: Any) -> Any:
            call = next(left)
            made = [ToolCall("c", call.tool, dict(call.args))]
            message = ChatMessageAssistant(content="", tool_calls=made)
            choices = [ChatCompletionChoice(message=message)]
            return ModelOutput(model="mockllm", choices=choices, usage=usage)

        model = get_model("mockllm/model", custom_outputs=said, memoize=False)
        gate: Any = GatedAgent
        own = gate.approve, gate.record
        gate.approve, gate.record = costs.timed_async(own[0]), costs.timed(own[1])
        try:
            with tempfile.TemporaryDirectory() as folder:
                task = Task([Sample(input="go")], solver=guarded(react(tools=tools), PROCEDURE))
                options: Any = {"display": "none", "log_dir": folder, "log_format": "json"}
                (log,) = inspect_ai.eval(task, model, **options)
                assert log.samples is not None
                assert log.samples[0].output.completion == "done"
        finally:
            gate.approve, gate.record = own

    return run


def fastmcp() -> Run:
    """A server of FastMCP and a client in the same process; the gate's middleware is timed."""
    import asyncio

    from fastmcp import Client, FastMCP

    from bylaw.adapters.fastmcp import ServerGate

    def run(costs: Costs) -> None:
        server: Any = FastMCP("desk")
        for each in TOOLS.values():
            server.tool(coroutine(each))
        gate: Any = ServerGate(PROCEDURE, run=lambda: "run")
        inside, nested = 0.0, False
        given, find = gate.on_call_tool, server.get_tool

        async def get_tool(name: str, *more: Any, **named: Any) -> Any:
            """FastMCP's own function, which the gate calls to learn the tool's schema."""
            nonlocal inside
            begun = thread_time()
            try:
                return await find(name, *more, **named)
            finally:
                inside += 0 if nested else thread_time() - begun + CLOCK

        server.get_tool = get_tool

        async def on_call_tool(context: Any, call_next: Any) -> Any:
            nonlocal inside

            async def timed(inner: Any) -> Any:
                nonlocal inside, nested
                begun, nested = thread_time(), True
                try:
                    return await call_next(inner)
                finally:
                    inside += thread_time() - begun + CLOCK
                    nested = False

            begun = thread_time()
            try:
                return await given(context, timed)
            finally:
                costs.per_turn += thread_time() - begun - CLOCK

        gate.on_call_tool = on_call_tool
        server.add_middleware(gate)

        async def calls() -> None:
            async with Client(server) as client:
                for call in CALLS:
                    result = await client.call_tool(call.tool, dict(call.args))
                    assert result.data == "done"

        asyncio.run(calls())
        costs.per_turn -= inside

    return run


def google_adk() -> Run:
    """An agent of Google's ADK; the plugin's callbacks are timed."""
    import asyncio
    import logging
    from collections.abc import AsyncIterator

    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from bylaw.adapters.google_adk import GatePlugin

    logging.getLogger("google_adk").setLevel(logging.ERROR)

    class Scripted(BaseLlm):  # type: ignore[misc]  # the framework is not followed
        left: Any

        async def generate_content_async(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            part = next(self.left, types.Part(text="done"))
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def run(costs: Costs) -> None:
        parts = iter(
            [
                types.Part(function_call=types.FunctionCall(name=c.tool, args=dict(c.args)))
                for c in CALLS
            ]
        )
        gate: Any = GatePlugin(PROCEDURE)
        for when in ("before_model", "after_model", "before_tool", "after_tool"):
            setattr(gate, f"{when}_callback", costs.timed_async(getattr(gate, f"{when}_callback")))
        tools = [coroutine(each) for each in TOOLS.values()]
        agent = LlmAgent(name="desk", model=Scripted(model="scripted", left=parts), tools=tools)
        runner = InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=[gate]))

        async def work() -> str:
            about: Any = {"app_name": "desk", "user_id": "u"}
            session = await runner.session_service.create_session(**about)
            message = types.Content(role="user", parts=[types.Part(text="go")])
            given: Any = {"user_id": "u", "session_id": session.id, "new_message": message}
            last = [event async for event in runner.run_async(**given)][-1]
            return str(last.content.parts[0].text)

        assert asyncio.run(work()) == "done"

    return run


def strands() -> Run:
    """An agent of Strands, with a gate and with idle hooks; the difference is the cost."""
    from collections.abc import AsyncIterator

    from strands import Agent, hooks, tool
    from strands.hooks import HookProvider
    from strands.models import Model

    from bylaw.adapters.strands import GateHooks

    class Scripted(Model):  # type: ignore[misc]  # the framework is not followed
        def __init__(self) -> None:
            self.left = iter([*CALLS, None])

        def update_config(self, **_: Any) -> None:
            return None

        def get_config(self) -> dict[str, Any]:
            return {}

        def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            call = next(self.left)
            start: Any = {}
            delta: Any = {"text": "done"}
            if call is not None:
                start = {"toolUse": {"toolUseId": "c", "name": call.tool}}
                delta = {"toolUse": {"input": json.dumps(dict(call.args))}}
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}

    tools = [tool(coroutine(each)) for each in TOOLS.values()]
    names = ("BeforeInvocation", "BeforeModelCall", "BeforeTools", "BeforeToolCall")
    events = [getattr(hooks, f"{name}Event") for name in (*names, "AfterInvocation")]

    def run(provider: Any) -> Any:
        about: Any = {"tools": tools, "hooks": [provider], "callback_handler": None}
        return Agent(model=Scripted(), **about).invoke_async("go")

    class Idle(HookProvider):  # type: ignore[misc]  # the framework is not followed
        """The gate's hooks, without the gate."""

        def register_hooks(self, registry: Any, **_: Any) -> None:
            for event in events:
                registry.add_callback(event, self.pass_on)

        async def pass_on(self, event: Any) -> None:
            return None

    return compared(lambda: run(Idle()), lambda: run(GateHooks(PROCEDURE)))


def agent_framework() -> Run:
    """An agent of the Microsoft Agent Framework, with a gate and with idle middleware."""
    from agent_framework import (
        Agent,
        AgentMiddleware,
        BaseChatClient,
        ChatMiddleware,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        FunctionMiddleware,
        Message,
        tool,
    )

    from bylaw.adapters.agent_framework import AgentGateMiddleware

    class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(function_invocation_configuration={"max_iterations": 2 * TURNS})
            self.left = iter(CALLS)

        async def _inner_get_response(self, **_: Any) -> Any:
            content = Content.from_text("done")
            if (call := next(self.left, None)) is not None:
                content = Content.from_function_call("c", call.tool, arguments=dict(call.args))
            return ChatResponse(messages=[Message("assistant", [content])])

    tools = [tool(coroutine(each)) for each in TOOLS.values()]

    def run(middleware: list[Any]) -> Any:
        return Agent(client=Scripted(), tools=tools, middleware=middleware).run("go")

    async def process(_: Any, context: Any, call_next: Any) -> None:
        await call_next()

    kinds = (AgentMiddleware, ChatMiddleware, FunctionMiddleware)
    idle = [type("Idle", (kind,), {"process": process})() for kind in kinds]
    return compared(lambda: run(idle), lambda: run([AgentGateMiddleware(PROCEDURE)]))
