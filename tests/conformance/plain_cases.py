"""The gate's table by `run_turn`, `wrap` and the loop of the benchmark's agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from case_script import Script, ScriptEnded, ToolFailure, steps_of
from gate_notation import Scenario

from bylaw import UsageError
from bylaw.agents.loop import Episode, new_chat
from bylaw.agents.protocol import Reply
from bylaw.enforcement.decision import ConstraintViolationError
from bylaw.names import FINAL_ANSWER
from bylaw.values import Json

ONE_BY_ONE = "each call is a turn of its own"


def has_parallel_calls(scenario: Scenario) -> bool:
    return any(len(step.calls) > 1 for step in steps_of(scenario))


def _tools(script: Script) -> dict[str, Callable[..., Any]]:
    def made(name: str) -> Callable[..., Any]:
        def run(**args: Json) -> Json:
            return script.run(name, args)

        return run

    return {name: made(name) for name in script.names}


class TurnCases:
    """`run_turn`."""

    def why_not(self, scenario: Scenario) -> str | None:
        return None

    def __call__(self, script: Script) -> None:
        guard = script.guard
        while not guard.stopped and not guard.finished:
            try:
                calls = script.next_turn()
            except ScriptEnded:
                return
            self.turn(script, calls)

    def turn(self, script: Script, calls: Any) -> None:
        script.guard.run_turn(_tools(script), calls)


class AsyncTurnCases(TurnCases):
    """`run_turn_async`."""

    def turn(self, script: Script, calls: Any) -> None:
        async def later(tool: Callable[..., Any], **args: Json) -> Json:
            await asyncio.sleep(0)
            return tool(**args)

        tools: Mapping[str, Any] = {k: partial(later, v) for k, v in _tools(script).items()}
        asyncio.run(script.guard.run_turn_async(tools, calls))


class WrapCases(TurnCases):
    """`wrap`: each call is a turn of its own."""

    def why_not(self, scenario: Scenario) -> str | None:
        return ONE_BY_ONE if has_parallel_calls(scenario) else None

    def turn(self, script: Script, calls: Any) -> None:
        wrapped = script.guard.wrap({**_tools(script), FINAL_ANSWER: lambda answer: answer})
        if not calls:
            script.guard.propose([])
        for call in calls:
            with suppress(ConstraintViolationError, ToolFailure, UsageError):  # the log has it
                wrapped[call.tool](**call.args)


class LoopCases(TurnCases):
    """The loop of the benchmark's agents. It ends after some turns without calls."""

    def __call__(self, script: Script) -> None:
        def made(name: str) -> Callable[..., str]:
            return lambda **args: script.run_as_text(name, args)

        tools = {name: made(name) for name in script.names}
        chat = new_chat("case", "0", "", "go", [])
        episode = Episode(chat, tools, script.guard, budget=1000)
        while not episode.done:
            try:
                calls = script.next_turn()
            except ScriptEnded:
                return
            episode.take(Reply(calls=tuple(calls)))
