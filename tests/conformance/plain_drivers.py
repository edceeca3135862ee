"""Scripted loops around plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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


class _Loop:
    """Shows the model what came of its calls until it has answered or the gate ends the run."""

    turns_are_decided_together = True

    def __call__(self, procedure: Procedure, script: Script, **options: Any) -> Seen:
        guard = Guard(procedure, **options)
        desk = Desk()
        seen = Seen(desk.ran)
        tools = {"lookup": desk.lookup, "fetch": desk.fetch, "pay": desk.pay}
        shown = "go"
        for calls in script:
            seen.shown.append(shown)
            results = self.turn(guard, tools, list(calls))
            shown += "".join(f"\n{result}" for result in results) or WITHOUT_CALLS
            if guard.stopped or guard.finished:
                break
        if guard.finished:
            seen.answer = results[-1]
        report = guard.finish().to_dict()
        seen.stopped = report["stopped"]
        seen.note(report["events"])
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
