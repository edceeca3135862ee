"""Plain Python functions behind a gate.

    tools = guard.wrap({"search": search, "pay": pay})
    tools["pay"](amount=5)          # runs, or raises ConstraintViolationError

Each call of a wrapped tool is a turn of its own. `run_turn` decides the calls of one model turn
together and returns the result of each; `run_turn_async` does so for coroutine functions.

Rules see the arguments that were passed, under the names of the function's parameters, and default
arguments only if `defaults` is true. They see arguments and results that are not JSON as `as_json`
converts them. The tools themselves receive and return the original values.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.run import calls_of
from bylaw.enforcement.validation import unusable
from bylaw.errors import shown
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call
from bylaw.values import Json, problem

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard

ToolFunction: TypeAlias = Callable[..., Any]

_VARIADIC: Final = inspect.Parameter.VAR_KEYWORD
_MAX_NESTING: Final = 20
"""The depth down to which values that are not JSON are converted part by part."""


def wrap(
    guard: Guard, tools: Mapping[str, ToolFunction], *, defaults: bool = False
) -> dict[str, ToolFunction]:
    """The tools behind a guard: each call is proposed, runs if allowed, and is recorded.

    A tool that raises is recorded as failed, and the caller gets its exception.
    """
    named = _checked(tools).items()
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
            import asyncio  # slow to import; a program with coroutines has it already

            # In a thread: a guard that asks a person must not block the other tasks.
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
    """Runs one model turn. Returns for each call its result, `{"error": …}`, or the refusal.

    A refusal is the mapping of `ConstraintViolationError.to_dict`. Once the gate has ended the
    run, `guard.stopped` is true.
    """
    tools, calls = _checked(tools), calls_of(calls)
    outcomes: list[Any] = [None] * len(calls)
    for decisions in guard.rounds(map(_as_json_call, calls)):
        for decision in decisions:
            outcomes[decision.index] = _outcome(guard, tools, calls[decision.index], decision)
    return outcomes


async def run_turn_async(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[Any]:
    """As `run_turn`. Tools that are coroutine functions run concurrently."""
    tools, calls = _checked(tools), calls_of(calls)
    import asyncio  # as above

    outcomes: list[Any] = [None] * len(calls)

    async def run(decision: Decision) -> None:
        result = _outcome(guard, tools, calls[decision.index], decision)
        try:
            result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            result = {"error": error_text(error)}
        outcomes[decision.index] = result

    rounds = guard.rounds([_as_json_call(call) for call in calls])
    while (decisions := await asyncio.to_thread(next, rounds, None)) is not None:
        await asyncio.gather(*map(run, decisions))
    return outcomes


def _as_json_call(call: Call) -> Call:
    return replace(call, args=as_json(call.args))


def _outcome(
    guard: Guard, tools: Mapping[str, ToolFunction], call: Call, decision: Decision
) -> Any:
    """The result of a call; a refusal or failure is a mapping."""
    if not decision.allowed:
        return decision.error().to_dict()
    if call.tool == FINAL_ANSWER and FINAL_ANSWER not in tools:
        return call.args.get("answer")
    try:
        return executed(guard, decision, lambda: _known(tools, call.tool)(**call.args))
    except Exception as error:
        return {"error": error_text(error)}


def _checked(tools: object) -> Mapping[str, ToolFunction]:
    """The tools, if each is a function with a name."""
    help = 'Give them by name: {"search": search}.'
    if not isinstance(tools, Mapping):
        raise unusable(f"expected tools by name, found {shown(tools)}", help)
    for name, tool in tools.items():
        if not isinstance(name, str):
            raise unusable(f"a tool cannot be named {shown(name)}", help)
        if not callable(tool):
            raise unusable(f"the tool '{name}' cannot be {shown(tool)}", help)
    return tools


def _known(tools: Mapping[str, ToolFunction], name: str) -> ToolFunction:
    if name not in tools:
        raise LookupError(f"there is no tool '{name}'")
    return tools[name]


# ── results ──────────────────────────────────────────────────────────────────────────────────


def executed(guard: Guard, decision: Decision, execute: Callable[[], Any]) -> Any:
    """Runs an allowed call and records its result, at once or when it has been awaited."""
    try:
        result = execute()
    except Exception as error:
        guard.record(decision, None, error=error_text(error))
        raise
    if inspect.isawaitable(result):
        return _awaited(guard, decision, result)
    guard.record(decision, as_json(result))
    return result


async def _awaited(guard: Guard, decision: Decision, running: Awaitable[Any]) -> Any:
    try:
        result = await running
    except Exception as error:
        guard.record(decision, None, error=error_text(error))
        raise
    guard.record(decision, as_json(result))
    return result


def error_text(error: Exception) -> str:
    """The text of an exception for the trace and for the agent."""
    return f"{type(error).__name__}: {error}"


def as_json(value: Any, _inside: tuple[int, ...] = ()) -> Json:
    """A Python value as rules see it.

    JSON values stay as they are. Other mappings, lists, tuples and sets are converted item by
    item, and everything else becomes its `str`. Where a rule reads a result, a string that holds
    JSON counts as the value that it encodes.
    """
    if problem(value) is None:
        return value
    inside = (*_inside, id(value))
    if len(inside) <= _MAX_NESTING and id(value) not in _inside:  # a value may contain itself
        if isinstance(value, Mapping):
            return {str(key): as_json(item, inside) for key, item in value.items()}
        if isinstance(value, list | tuple | Set):
            return [as_json(item, inside) for item in value]
    try:
        return str(value)
    except Exception:  # the call succeeded, even if its result cannot be printed
        return f"<{type(value).__name__}>"
