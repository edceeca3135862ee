"""Scripted loops around plain functions."""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from desk import WITHOUT_CALLS, Seen
from driver import ASSIST, Driver, Setup

from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class Loop:
    """An agent of one's own: tools, and a loop that shows the model what came of its calls."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.setup = setup
        functions = setup.desk.functions(asynchronous=asynchronous)
        self.tools: dict[str, Callable[..., Any]] = {each.__name__: each for each in functions}

    def guard(self) -> Guard:
        """The guard of a new run, or of the one that is stored."""
        guard = Guard(self.setup.procedure, **self.setup.options)
        stored = self.stored()
        if stored is not None and stored.exists():
            guard.restore(json.loads(stored.read_text()))
            guard.withdraw()  # the user writes again
        return guard

    def stored(self) -> Any:
        return None if self.setup.storage is None else self.setup.storage / "guard.json"


class LoopDriver(Driver):
    """Runs a loop: turns, until the model has answered or the gate ends the run."""

    def agent(self, setup: Setup) -> Loop:
        return Loop(setup, asynchronous=self.asynchronous)

    def run(self, agent: Loop, task: str) -> Seen:
        return asyncio.run(self._run(agent, task))

    async def run_async(self, agent: Loop, task: str) -> Seen:
        return await self._run(agent, task)

    async def _run(self, agent: Loop, task: str) -> Seen:
        guard, setup = agent.guard(), agent.setup
        tools = dict(agent.tools)
        if setup.helper:
            tools["helper"] = self._helper(agent, guard)
        chat = await self._talk(agent, guard, tools, task)
        if (stored := agent.stored()) is not None:
            stored.write_text(json.dumps(guard.save()))
        report = guard.finish()
        seen = Seen(setup.desk.ran, setup.turns.shown[task])
        seen.answer = None if report.trace is None else report.trace.answer
        seen.final = _text(chat[-1]) if seen.answer is None else str(seen.answer)
        seen.stopped, seen.score, seen.transcript = report.stopped, report.score, chat
        seen.note(report.to_dict()["events"])
        return seen

    async def _talk(self, agent: Loop, guard: Guard, tools: Any, task: str) -> list[Any]:
        chat: list[Any] = [{"role": "user", "content": task}]
        while not (guard.finished or guard.stopped):
            shown = "\n".join(_text(message) for message in chat)
            calls = agent.setup.turns.next(shown)
            chat.append(self.message(calls, len(chat)))
            if task == ASSIST and calls[-1].tool == FINAL_ANSWER:
                return chat  # the answer of a helper is not the answer
            chat += await self.turn(guard, tools, calls, chat[-1])
        return chat

    def _helper(self, agent: Loop, guard: Guard) -> Callable[..., Any]:
        async def helper_async(task: str) -> str:
            chat = await self._talk(agent, guard, agent.tools, task)
            return _text(chat[-1])

        def helper(task: str) -> str:
            return str(_in_another_loop(helper_async, task))

        return helper_async if self.asynchronous else helper

    @abstractmethod
    def message(self, calls: Sequence[Call], number: int) -> dict[str, Any]:
        """The model's message."""

    @abstractmethod
    async def turn(
        self, guard: Guard, tools: Any, calls: list[Call], message: dict[str, Any]
    ) -> list[Any]:
        """The messages that follow it."""


def _in_another_loop(function: Callable[..., Any], *values: Any) -> Any:
    """The result of a coroutine function that awaits nothing but synchronous tools."""
    running = function(*values)
    try:
        running.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(str(part.get("text", part.get("content", ""))) for part in content)
    return str(content or "")


class OpenAILoop(LoopDriver):
    """`openai_turn`, with messages as dictionaries."""

    def message(self, calls: Sequence[Call], number: int) -> dict[str, Any]:
        if not calls or calls[-1].tool == FINAL_ANSWER:
            said = str(calls[-1].args["answer"]) if calls else WITHOUT_CALLS
            return {"role": "assistant", "content": said}
        asked = [
            {
                "id": call.id or f"call-{number}-{9 - index}",
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(dict(call.args))},
            }
            for index, call in enumerate(calls)
        ]
        return {"role": "assistant", "content": None, "tool_calls": asked}

    async def turn(
        self, guard: Guard, tools: Any, calls: list[Call], message: dict[str, Any]
    ) -> list[Any]:
        if self.asynchronous:
            return await guard.openai_turn_async(message, tools)
        return guard.openai_turn(message, tools)


class AnthropicLoop(LoopDriver):
    """`anthropic_turn`, with messages as dictionaries."""

    def message(self, calls: Sequence[Call], number: int) -> dict[str, Any]:
        if not calls or calls[-1].tool == FINAL_ANSWER:
            said = str(calls[-1].args["answer"]) if calls else WITHOUT_CALLS
            return {"role": "assistant", "content": [{"type": "text", "text": said}]}
        uses = [
            {
                "type": "tool_use",
                "id": call.id or f"call-{number}-{9 - index}",
                "name": call.tool,
                "input": dict(call.args),
            }
            for index, call in enumerate(calls)
        ]
        return {"role": "assistant", "content": uses}

    async def turn(
        self, guard: Guard, tools: Any, calls: list[Call], message: dict[str, Any]
    ) -> list[Any]:
        if self.asynchronous:
            return await guard.anthropic_turn_async(message, tools)
        return guard.anthropic_turn(message, tools)


class PlainTurns(LoopDriver):
    """`run_turn`. The answer is a call."""

    text_is_the_answer = False

    def message(self, calls: Sequence[Call], number: int) -> dict[str, Any]:
        asked = [
            {
                "id": f"c{number}-{index}",
                "function": {"name": call.tool, "arguments": json.dumps(dict(call.args))},
            }
            for index, call in enumerate(calls)
        ]
        content = None if calls else WITHOUT_CALLS
        return {"role": "assistant", "content": content, "tool_calls": asked}

    async def turn(
        self, guard: Guard, tools: Any, calls: list[Call], message: dict[str, Any]
    ) -> list[Any]:
        results = await self.results(guard, tools, calls)
        shown = [
            {"role": "tool", "tool_call_id": asked["id"], "content": _told(result)}
            for asked, result in zip(message["tool_calls"], results, strict=False)
        ]
        return _without_the_answer(shown, calls, guard)

    async def results(self, guard: Guard, tools: Any, calls: list[Call]) -> list[Any]:
        if self.asynchronous:
            return await guard.run_turn_async(tools, calls)
        return guard.run_turn(tools, calls)


def _told(result: Any) -> str:
    if isinstance(result, dict) and "message" in result:
        return str(result["message"])
    return result if isinstance(result, str) else json.dumps(result)


def _without_the_answer(shown: list[Any], calls: list[Call], guard: Guard) -> list[Any]:
    """An accepted answer has no result; a refused one has, as any call."""
    if guard.finished and calls and calls[-1].tool == FINAL_ANSWER and not guard.stopped:
        return shown[:-1]
    if guard.stopped:
        ended = [each for each in shown if "The run ends here." in each["content"]]
        return [*shown, {**ended[0], "role": "assistant"}]
    return shown


class WrappedTools(PlainTurns):
    """`wrap`: each call is a turn of its own."""

    turns_are_decided_together = False

    async def results(self, guard: Guard, tools: Any, calls: list[Call]) -> list[Any]:
        if not calls:
            guard.propose([])
        wrapped = guard.wrap(tools | {FINAL_ANSWER: lambda answer: answer})
        found = []
        for call in calls:
            if not guard.stopped:
                found.append(await self._call(wrapped[call.tool], call))
        return found

    async def _call(self, tool: Callable[..., Any], call: Call) -> Any:
        try:
            result = tool(**call.args)
            return await result if inspect.isawaitable(result) else result
        except (ConstraintViolationError, ValueError) as error:
            return str(error)
