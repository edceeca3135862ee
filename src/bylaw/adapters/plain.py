"""Plain Python functions behind a gate.

    tools = wrap(guard, {"search": search, "pay": pay})
    tools["pay"](amount=5)          # runs, or raises ConstraintViolationError

Each call is a turn of its own; `run_turn` decides several calls of one model turn together.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.trace.event import Call

Tool = Callable[..., Any]


def wrap(guard: Guard, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools, each of which asks the guard before it runs, and tells it what came of it."""
    return {name: _wrapped(guard, name, tool) for name, tool in tools.items()}


def _wrapped(guard: Guard, name: str, tool: Tool) -> Tool:
    signature = inspect.signature(tool)

    def decided(*values: Any, **named: Any) -> Decision:
        arguments = signature.bind(*values, **named).arguments
        (decision,) = guard.propose([Call(name, dict(arguments))])
        if not decision.allowed:
            raise decision.error()
        return decision

    if inspect.iscoroutinefunction(tool):

        @functools.wraps(tool)
        async def run_later(*values: Any, **named: Any) -> Any:
            decision = decided(*values, **named)
            try:
                result = await tool(*values, **named)
            except Exception as error:
                guard.record(decision, None, error=_told(error))
                raise
            guard.record(decision, result)
            return result

        return run_later

    @functools.wraps(tool)
    def run(*values: Any, **named: Any) -> Any:
        decision = decided(*values, **named)
        return _executed(guard, decision, lambda: tool(*values, **named))

    return run


def run_turn(guard: Guard, tools: Mapping[str, Tool], calls: Sequence[Call]) -> list[Any]:
    """One model turn: what each call returned, or the refusal as a mapping."""
    results: list[Any] = []
    for decision in guard.propose(calls):
        if decision.allowed:
            call = decision.call
            execute = functools.partial(tools[call.tool], **call.args)
            try:
                results.append(_executed(guard, decision, execute))
            except Exception as error:
                results.append({"error": _told(error)})
        else:
            results.append(decision.error().to_dict())
    return results


def _executed(guard: Guard, decision: Decision, execute: Callable[[], Any]) -> Any:
    try:
        result = execute()
    except Exception as error:
        guard.record(decision, None, error=_told(error))
        raise
    guard.record(decision, result)
    return result


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
