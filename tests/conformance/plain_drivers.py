"""Scripted loops around plain functions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from desk import WITHOUT_CALLS, Desk, Script, Seen

from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call


def _awaited(tool: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*values: Any, **named: Any) -> Any:
        await asyncio.sleep(0)
        return tool(*values, **named)

    return run


def _messages(
    number: int, calls: Sequence[Call], results: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """A turn as messages of a chat: the calls, and what the model is shown of each."""
    named = [(f"c{number}-{index}", call) for index, call in enumerate(calls)]
    asked = [
        {"id": id, "function": {"name": call.tool, "arguments": json.dumps(dict(call.args))}}
        for id, call in named
    ]
    yield {"role": "assistant", "content": None if calls else WITHOUT_CALLS, "tool_calls": asked}
    for (id, call), result in zip(named, results, strict=False):
        if call.tool != FINAL_ANSWER or "Not executed" in str(result):
            text = result if isinstance(result, str) else json.dumps(result)
            yield {"role": "tool", "tool_call_id": id, "content": text}


class _Loop:
    """Shows the model what came of its calls until it has answered or the gate ends the run."""

    turns_are_decided_together = True

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        guard = Guard(procedure, **options)
        desk = Desk()
        seen = Seen(desk.ran)
        tools = {"lookup": desk.lookup, "fetch": desk.fetch, "pay": desk.pay}
        shown = "go"
        chat: list[dict[str, Any]] = [{"role": "user", "content": shown}]
        for number, calls in enumerate(script):
            seen.shown.append(shown)
            results = self.turn(guard, tools, list(calls))
            chat += _messages(number, calls, results)
            shown += "".join(f"\n{result}" for result in results) or WITHOUT_CALLS
            if guard.stopped or guard.finished:
                break
        if guard.finished:
            seen.answer = results[-1]
        report = guard.finish()
        seen.stopped, seen.score, seen.transcript = report.stopped, report.score, chat
        seen.note(report.to_dict()["events"])
        return seen

    def turn(self, guard: Guard, tools: dict[str, Any], calls: list[Call]) -> list[Any]:
        return guard.run_turn(tools, calls)


class PlainTurns(_Loop):
    """`run_turn`."""


class AsyncTurns(_Loop):
    """`run_turn_async`, with tools of both kinds."""

    def turn(self, guard: Guard, tools: dict[str, Any], calls: list[Call]) -> list[Any]:
        tools = tools | {"lookup": _awaited(tools["lookup"]), "fetch": _awaited(tools["fetch"])}
        return asyncio.run(guard.run_turn_async(tools, calls))


class WrappedTools(_Loop):
    """`wrap`: each call is a turn of its own."""

    turns_are_decided_together = False

    def turn(self, guard: Guard, tools: dict[str, Any], calls: list[Call]) -> list[Any]:
        if not calls:
            guard.propose([])
        wrapped = guard.wrap(tools | {FINAL_ANSWER: lambda answer: answer})
        return [self.call(wrapped[call.tool], call) for call in calls if not guard.stopped]

    def call(self, tool: Callable[..., Any], call: Call) -> Any:
        try:
            return tool(*call.args.values())
        except (ConstraintViolationError, ValueError) as error:
            return str(error)


class WrappedAsyncTools(WrappedTools):
    """`wrap`, of tools that are awaited."""

    def turn(self, guard: Guard, tools: dict[str, Any], calls: list[Call]) -> list[Any]:
        return super().turn(guard, {k: _awaited(tool) for k, tool in tools.items()}, calls)

    def call(self, tool: Callable[..., Any], call: Call) -> Any:
        async def run() -> Any:
            result = tool(**call.args)
            return await result if asyncio.iscoroutine(result) else result

        try:
            return asyncio.run(run())
        except (ConstraintViolationError, ValueError) as error:
            return str(error)
