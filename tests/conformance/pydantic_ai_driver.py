"""Pydantic AI with a scripted model. Needs pydantic-ai-slim."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import Driver, Setup, own_loop
from pydantic_ai import Agent, DeferredToolRequests, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from bylaw.adapters.pydantic_ai import GateCapability
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


def said(calls: Sequence[Call]) -> ModelResponse:
    """A model's turn."""
    if calls and calls[-1].tool == FINAL_ANSWER:
        return ModelResponse(parts=[TextPart(str(calls[-1].args["answer"]))])
    parts = [
        ToolCallPart(call.tool, dict(call.args), call.id or f"call-{9 - index}")
        for index, call in enumerate(calls)
    ]
    return ModelResponse(parts=parts or [TextPart(WITHOUT_CALLS)])


class GuardedDesk:
    """An agent, its gate, and what it is made of."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        setup.desk.failure = ToolFailed
        self.setup = setup
        self.gate = GateCapability(setup.procedure, **setup.options)
        self.waiting: dict[str, Any] = {}
        tools: list[Any] = setup.desk.functions(asynchronous=asynchronous)
        if setup.helper:
            tools = [*tools, self._helper(tools)]
        self.agent = self._agent(tools)

    def _agent(self, tools: list[Any]) -> Any:
        return Agent(
            FunctionModel(self._next),
            tools=tools,
            capabilities=[self.gate],
            retries={"output": 5, "tools": 5},
            output_type=[str, DeferredToolRequests],
        )

    async def _next(self, messages: Any, _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        shown = "\n".join(str(getattr(part, "content", "")) for part in parts)
        return said(self.setup.turns.next(shown))

    def _helper(self, tools: list[Any]) -> Any:
        inner = self._agent(list(tools))

        async def helper(task: str) -> str:
            """Asks a helper."""
            return str((await inner.run(task)).output)

        return helper

    def kept(self, task: str) -> dict[str, Any]:
        """The conversation that an earlier run has left."""
        folder = self.setup.storage
        if folder is None or not (folder / f"{task}.json").exists():
            return {}
        saved = json.loads((folder / f"{task}.json").read_text())
        self.gate.restore(saved["conversation"], saved["guard"])
        history = ModelMessagesTypeAdapter.validate_python(saved["messages"])
        return {"message_history": history}

    def keep(self, task: str, result: Any) -> None:
        """Saves the conversation and its guard."""
        if self.setup.storage is not None:
            saved = {
                "conversation": result.conversation_id,
                "guard": self.gate.save(result),
                "messages": json.loads(result.all_messages_json()),
            }
            (self.setup.storage / f"{task}.json").write_text(json.dumps(saved))


class PydanticAI(Driver):
    """The capability `GateCapability`."""

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedDesk, task: str) -> Seen:
        with own_loop():
            return self.seen(agent, task, agent.agent.run_sync(task, **agent.kept(task)))

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        return self.seen(agent, task, await agent.agent.run(task, **agent.kept(task)))

    def reply(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        waiting = agent.waiting.pop(task)
        replies = agent.gate.replies(waiting, yes)
        history = waiting.all_messages()
        with own_loop():
            result = agent.agent.run_sync(message_history=history, deferred_tool_results=replies)
        return self.seen(agent, task, result)

    async def reply_async(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        waiting = agent.waiting.pop(task)
        replies = agent.gate.replies(waiting, yes)
        history = waiting.all_messages()
        result = await agent.agent.run(message_history=history, deferred_tool_results=replies)
        return self.seen(agent, task, result)

    def seen(self, agent: GuardedDesk, task: str, result: Any) -> Seen:
        agent.keep(task, result)
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        if isinstance(result.output, DeferredToolRequests):
            agent.waiting[task] = result
            seen.question = result.output.metadata
            return seen
        seen.final = str(result.output)
        report = agent.gate.report(result)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        seen.transcript = json.loads(result.all_messages_json())
        return seen
