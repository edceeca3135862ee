"""Strands with a scripted model. Needs strands-agents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, TASK, Driver, Setup
from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager

from bylaw.adapters.strands import GateHooks
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class ScriptedModel(Model):
    """Says what the scripts say, and keeps what it was shown."""

    def __init__(self, turns: Any, task: str | None = None) -> None:
        self.turns = turns
        self.task = task

    def update_config(self, **_: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for event in said(self.turns.next(shown_in(messages), self.task)):
            yield event


def said(calls: Sequence[Call]) -> list[Any]:
    """A model's turn, as the events of its stream."""
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    if not calls or calls[-1].tool == FINAL_ANSWER:
        text = str(calls[-1].args["answer"]) if calls else WITHOUT_CALLS
        events += [
            {"contentBlockStart": {"start": {}}},
            {"contentBlockDelta": {"delta": {"text": text}}},
            {"contentBlockStop": {}},
            {"messageStop": {"stopReason": "end_turn"}},
        ]
        return events
    for index, call in enumerate(calls):
        use = {"toolUseId": call.id or f"call-{9 - index}", "name": call.tool}
        events += [
            {"contentBlockStart": {"start": {"toolUse": use}}},
            {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(dict(call.args))}}}},
            {"contentBlockStop": {}},
        ]
    return [*events, {"messageStop": {"stopReason": "tool_use"}}]


def shown_in(messages: Any) -> str:
    """Everything that a model is shown."""
    found = []
    for block in (block for message in messages for block in message["content"]):
        found.append(block.get("text", ""))
        for part in block.get("toolResult", {}).get("content", ()):
            found.append(part.get("text", ""))
    return "\n".join(found)


class GuardedDesk:
    """The parts of agents that share a gate. An agent of Strands is one conversation."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.setup = setup
        self.gate = GateHooks(setup.procedure, **setup.options)
        self.tools = [tool(each) for each in setup.desk.functions(asynchronous=asynchronous)]
        self.waiting: dict[str, tuple[Any, Any]] = {}

    def agent(self, task: str) -> Any:
        """The agent of a task, with the conversation and the guard that an earlier run saved."""
        tools = list(self.tools)
        if self.setup.helper:
            inner = self._agent(list(tools), ASSIST)

            @tool
            async def helper(task: str) -> str:
                """Asks a helper."""
                return str(await inner.invoke_async(task))

            tools.append(helper)
        folder = self.setup.storage
        if folder is None:
            return self._agent(tools, TASK if self.setup.helper else None)
        sessions = FileSessionManager(session_id=task, storage_dir=str(folder))
        agent = self._agent(tools, None, session_manager=sessions)
        if self._saved(task).exists():
            self.gate.restore(agent, json.loads(self._saved(task).read_text()))
        return agent

    def _agent(self, tools: list[Any], task: str | None, **more: Any) -> Any:
        model = ScriptedModel(self.setup.turns, task)
        about: Any = {"model": model, "tools": tools, "hooks": [self.gate], **more}
        return Agent(**about, callback_handler=None, load_tools_from_directory=False)

    def keep(self, agent: Any, task: str) -> None:
        """Saves the guard beside the conversation."""
        if self.setup.storage is not None:
            self._saved(task).write_text(json.dumps(self.gate.save(agent)))

    def _saved(self, task: str) -> Path:
        assert self.setup.storage is not None
        return self.setup.storage / f"{task}.json"


class Strands(Driver):
    """The hooks `GateHooks`."""

    def agent(self, setup: Setup) -> GuardedDesk:
        return GuardedDesk(setup, asynchronous=self.asynchronous)

    def run(self, agent: GuardedDesk, task: str) -> Seen:
        made = agent.agent(task)
        return self._seen(agent, made, task, made(task))

    async def run_async(self, agent: GuardedDesk, task: str) -> Seen:
        made = agent.agent(task)
        return self._seen(agent, made, task, await made.invoke_async(task))

    def reply(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        made, result = agent.waiting.pop(task)
        return self._seen(agent, made, task, made(agent.gate.replies(result, yes)))

    async def reply_async(self, agent: GuardedDesk, task: str, yes: bool) -> Seen:
        made, result = agent.waiting.pop(task)
        result = await made.invoke_async(agent.gate.replies(result, yes))
        return self._seen(agent, made, task, result)

    def _seen(self, agent: GuardedDesk, made: Any, task: str, result: Any) -> Seen:
        seen = Seen(agent.setup.desk.ran, agent.setup.turns.shown[task])
        if result.stop_reason == "interrupt":
            agent.waiting[task] = made, result
            seen.question = [interrupt.reason for interrupt in result.interrupts]
            return seen
        agent.keep(made, task)
        seen.final = "\n".join(block.get("text", "") for block in result.message["content"])
        report = agent.gate.report(made)
        seen.answer = None if report.trace is None else report.trace.answer
        seen.stopped, seen.score = report.stopped, report.score
        seen.note(report.to_dict()["events"])
        return seen
