"""Plain Python functions behind a gate.

    tools = guard.wrap({"search": search, "pay": pay})
    tools["pay"](amount=5)          # runs, or raises ConstraintViolationError

Each call of a wrapped tool is a turn of its own. `run_turn` decides the calls of one model turn
together and says what came of each; `run_turn_async` does so for tools that are awaited.

A gate sees the arguments that were passed, under the names of the function's parameters; those
that were left to their defaults it sees only if `defaults` is true. Arguments and results that
are not JSON reach the rules as `as_json` writes them; the tools get and return what they always do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.given import calls_of, tools_of
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.values import Json, problem

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard

ToolFunction: TypeAlias = Callable[..., Any]

_VARIADIC: Final = inspect.Parameter.VAR_KEYWORD
_TAKEN_APART: Final = 20
"""How deep values that are not JSON are looked into."""


def wrap(
    guard: Guard, tools: Mapping[str, ToolFunction], *, defaults: bool = False
) -> dict[str, ToolFunction]:
    """The tools, each of which asks the guard before it runs, and tells it what came of it.

    A tool that fails is recorded as failed, and its exception goes on to the caller.
    """
    named = tools_of(tools).items()
    return {name: _wrapped(guard, name, tool, defaults) for name, tool in named}


def _wrapped(guard: Guard, name: str, tool: ToolFunction, defaults: bool) -> ToolFunction:
    signature = inspect.signature(tool)

    def proposed(values: Sequence[Any], named: Mapping[str, Any]) -> Call:
        bound = signature.bind(*values, **named)
        if defaults:
            bound.apply_defaults()
        arguments = dict(bound.arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is _VARIADIC:  # the arguments of `**more` have names of their own
                arguments |= arguments.pop(parameter.name, {})
        return Call(name, as_json(arguments))

    if inspect.iscoroutinefunction(tool):

        @functools.wraps(tool)
        async def run_async(*values: Any, **named: Any) -> Any:
            import asyncio  # slow to import, and at hand where there are coroutines

            # In a thread: a guard that asks a person must not hold up the other tasks.
            (decision,) = await asyncio.to_thread(guard.propose, [proposed(values, named)])
            if not decision.allowed:
                raise decision.error()
            return await _awaited(guard, decision, tool(*values, **named))

        return run_async

    @functools.wraps(tool)
    def run(*values: Any, **named: Any) -> Any:
        (decision,) = guard.propose([proposed(values, named)])
        if not decision.allowed:
            raise decision.error()
        return executed(guard, decision, lambda: tool(*values, **named))

    return run


# ── turns ────────────────────────────────────────────────────────────────────────────────────


def run_turn(guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
    """One model turn: for each call what it returned, `{"error": …}`, or the refusal.

    A refusal is the mapping that `ConstraintViolationError.to_dict` gives. Once the gate has
    ended the run, `guard.stopped` is true.
    """
    tools, calls = tools_of(tools), calls_of(calls)
    decisions = guard.propose(map(_as_json_call, calls))
    return [_outcome(guard, tools, *pair) for pair in zip(calls, decisions, strict=True)]


async def run_turn_async(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[Any]:
    """As `run_turn`, for tools of which some are awaited: those run at the same time."""
    tools, calls = tools_of(tools), calls_of(calls)
    import asyncio  # as above

    decisions = await asyncio.to_thread(guard.propose, [_as_json_call(call) for call in calls])

    async def outcome(call: Call, decision: Decision) -> Any:
        result = _outcome(guard, tools, call, decision)
        try:
            return await result if inspect.isawaitable(result) else result
        except Exception as error:
            return {"error": told(error)}

    return await asyncio.gather(*map(outcome, calls, decisions))


def _as_json_call(call: Call) -> Call:
    return replace(call, args=as_json(call.args))


def _outcome(
    guard: Guard, tools: Mapping[str, ToolFunction], call: Call, decision: Decision
) -> Any:
    """What a call returns; its refusal or failure as a mapping."""
    if not decision.allowed:
        return decision.error().to_dict()
    if call.tool == FINAL_ANSWER and FINAL_ANSWER not in tools:
        return call.args.get("answer")
    try:
        return executed(guard, decision, lambda: _known(tools, call.tool)(**call.args))
    except Exception as error:
        return {"error": told(error)}


def _known(tools: Mapping[str, ToolFunction], name: str) -> ToolFunction:
    if name not in tools:
        raise LookupError(f"there is no tool '{name}'")
    return tools[name]


# ── what came of a call ──────────────────────────────────────────────────────────────────────


def executed(guard: Guard, decision: Decision, execute: Callable[[], Any]) -> Any:
    """Runs an allowed call and records what came of it, now or once it has been awaited."""
    try:
        result = execute()
    except Exception as error:
        guard.record(decision, None, error=told(error))
        raise
    if inspect.isawaitable(result):
        return _awaited(guard, decision, result)
    guard.record(decision, as_json(result))
    return result


async def _awaited(guard: Guard, decision: Decision, running: Awaitable[Any]) -> Any:
    try:
        result = await running
    except Exception as error:
        guard.record(decision, None, error=told(error))
        raise
    guard.record(decision, as_json(result))
    return result


def told(error: Exception) -> str:
    """An exception as a guard records it, and as an agent reads it."""
    return f"{type(error).__name__}: {error}"


def as_json(value: Any, _inside: tuple[int, ...] = ()) -> Json:
    """A Python value as rules see it.

    JSON values are themselves. Of other values, mappings, lists, tuples and sets are taken apart,
    and what is in them is treated in the same way; everything else is its `str`. A string that
    holds JSON counts as the value it encodes, wherever a rule looks into a result.
    """
    if problem(value) is None:
        return value
    inside = (*_inside, id(value))
    if len(inside) <= _TAKEN_APART and id(value) not in _inside:  # a value may hold itself
        if isinstance(value, Mapping):
            return {str(key): as_json(item, inside) for key, item in value.items()}
        if isinstance(value, list | tuple | Set):
            return [as_json(item, inside) for item in value]
    try:
        return str(value)
    except Exception:  # the call succeeded, whatever its result thinks of being printed
        return f"<{type(value).__name__}>"
