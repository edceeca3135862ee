"""The OpenAI Agents SDK with a scripted model. Needs openai-agents."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # before the SDK is imported

from agents import Agent, Model, ModelResponse, SQLiteSession, Usage, function_tool
from desk import WITHOUT_CALLS, Seen
from driver import Driver, Setup, Turns, own_loop
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from bylaw.adapters.openai_agents import GuardedAgent, GuardedResult
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class ScriptedModel(Model):
    """Says what the script says, and keeps what it was shown."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        items = [{"content": input}] if isinstance(input, str) else input
        shown = "\n".join(str(item.get("content") or item.get("output") or "") for item in items)
        output = said(self.turns.next(shown), len(items))
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def said(calls: Sequence[Call], turn: int) -> list[Any]:
    """A model's turn. The SDK wants ids that are unique in a run."""
    if calls and calls[-1].tool == FINAL_ANSWER:
        return [message(str(calls[-1].args["answer"]))]
    made = [
        ResponseFunctionToolCall(
            type="function_call",
            name=call.tool,
            arguments=json.dumps(dict(call.args)),
            call_id=call.id or f"call-{turn}-{9 - index}",  # out of order
        )
        for index, call in enumerate(calls)
    ]
    return made or [message(WITHOUT_CALLS)]


def message(text: str) -> ResponseOutputMessage:
    """A text of the model."""
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=content
    )


def told(_: Any, error: Exception) -> str:
    """The model reads the error; by default the SDK tells it nothing."""
    return str(error)


@dataclass
class HelperTask:
    """The task for the helper."""

    task: str


class GuardedDesk:
    """A guarded agent, and what it is made of."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.setup = setup
        self.model = ScriptedModel(setup.turns)
        functions = setup.desk.functions(asynchronous=asynchronous)
        tools: list[Any] = [function_tool(each, failure_error_function=told) for each in functions]
        if setup.helper:
            inner = Agent(name="helper", model=self.model, tools=list(tools))
            tools.append(inner.as_tool("helper", "Asks a helper.", parameters=HelperTask))
        agent = Agent(name="desk", model=self.model, tools=tools)
        self.guarded = GuardedAgent(agent, setup.procedure, **setup.options)
        self.waiting: dict[str, GuardedResult] = {}

    def kept(self, task: str) -> dict[str, Any]:
        """The conversation in a database, and the guard that an earlier run has saved."""
        folder = self.setup.storage
        if folder is None:
            return {}
        saved = folder / f"{task}.json"
        after = json.loads(saved.read_text()) if saved.exists() else None
        return {"session": SQLiteSession(task, folder / "sessions"), "after": after}

    def keep(self, task: str, result: GuardedResult) -> None:
        """Saves the guard beside the conversation."""
        if self.setup.storage is not None:
            (self.setup.storage / f"{task}.json").write_text(json.dumps(result.save()))


class OpenAIAgents(Driver):
    """A `GuardedAgent`, with the SDK's runner."""

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedDesk, task: str) -> Seen:
        with own_loop():
            return self.seen(agent, task, agent.guarded.run_sync(task, **agent.kept(task)))

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        return self.seen(agent, task, await agent.guarded.run(task, **agent.kept(task)))

    def reply(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        waiting = agent.waiting.pop(task)
        state = replied(waiting, yes)
        with own_loop():
            return self.seen(agent, task, agent.guarded.run_sync(state, after=waiting))

    async def reply_async(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        waiting = agent.waiting.pop(task)
        state = replied(waiting, yes)
        return self.seen(agent, task, await agent.guarded.run(state, after=waiting))

    def seen(self, agent: GuardedDesk, task: str, result: GuardedResult) -> Seen:
        agent.keep(task, result)
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        if result.interruptions:
            agent.waiting[task] = result
            seen.question = result.questions()
            return seen
        seen.final = str(result.final_output)
        report = result.report()
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        seen.transcript = json.loads(json.dumps(result.items, default=str))
        return seen


def replied(waiting: GuardedResult, yes: bool) -> Any:
    """The state of a run in which a person has replied to every question."""
    state = waiting.result.to_state()
    for each in waiting.interruptions:
        (state.approve if yes else state.reject)(each)
    return state
