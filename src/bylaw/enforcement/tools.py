"""Plain Python functions behind a gate.

    tools = guard.wrap({"search": search, "pay": pay})
    tools["pay"](amount=5)          # runs, or raises ConstraintViolationError

Each call of a wrapped tool is a turn of its own. `run_turn` decides the calls of one model turn
together and returns the result of each; `run_turn_async` does so for coroutine functions.

Rules see the arguments under the names of the function's parameters, default arguments included.
Arguments must be JSON. They are rebuilt before anything is decided, and the tool receives an equal
copy: what is judged is what runs. Results may be anything; rules see them as `as_json` converts
them, and the caller gets the original value.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.execution import Opened, async_stream, executed, give_up
from bylaw.enforcement.parameters import ToolParameters
from bylaw.enforcement.turn import calls_of
from bylaw.enforcement.validation import unusable
from bylaw.errors import shown
from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.plain import error_text
from bylaw.trace.event import Call
from bylaw.values import copied

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard

ToolFunction: TypeAlias = Callable[..., Any]


def wrap(guard: Guard, tools: Mapping[str, ToolFunction]) -> dict[str, ToolFunction]:
    """The tools behind a guard: each call is proposed, runs if allowed, and is recorded.

    A tool that raises anything is recorded as failed, and the caller gets its exception. A
    generator is proposed when its first item is wanted.
    """
    return {name: _wrapped(guard, GatedTool(name, each)) for name, each in _checked(tools).items()}


class GatedTool:
    """A tool, and how its calls are written for a gate."""

    def __init__(self, name: str, function: ToolFunction) -> None:
        self.name = name
        self.function = function
        self.parameters = ToolParameters.of(name, function)

    def call(self, values: Sequence[Any], keywords: Mapping[str, Any]) -> Call:
        """A Python call of the tool, to be proposed."""
        return Call(self.name, self.parameters.named(values, keywords))

    def run(self, decision: Decision) -> Any:
        """Calls the tool with the arguments that were judged."""
        values, keywords = self.parameters.bound(copied(decision.call.args))
        return self.function(*values, **keywords)


def _wrapped(guard: Guard, tool: GatedTool) -> ToolFunction:
    def decide(values: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        (decision,) = guard.propose([tool.call(values, keywords)])
        return executed(guard, _allowed(decision), lambda: tool.run(decision))

    async def decide_async(values: Sequence[Any], keywords: Mapping[str, Any]) -> Decision:
        (decision,) = await guard.propose_async([tool.call(values, keywords)])
        return _allowed(decision)

    async def run_async(*values: Any, **keywords: Any) -> Any:
        decision = await decide_async(values, keywords)
        return await executed(guard, decision, lambda: tool.run(decision))

    def run(*values: Any, **keywords: Any) -> Any:
        return decide(values, keywords)

    def stream(*values: Any, **keywords: Any) -> Any:
        return (yield from decide(values, keywords))

    def stream_async(*values: Any, **keywords: Any) -> Any:
        async def begin() -> Opened:
            decision = await decide_async(values, keywords)
            return decision, tool.run(decision)

        return async_stream(guard, begin)

    import inspect  # slow, and a guard may have no tools

    if inspect.iscoroutinefunction(tool.function):
        return _looking_like(tool, run_async)
    if inspect.isasyncgenfunction(tool.function):
        return _looking_like(tool, stream_async)
    return _looking_like(tool, stream if inspect.isgeneratorfunction(tool.function) else run)


def _allowed(decision: Decision) -> Decision:
    if not decision.allowed:
        raise decision.error()
    return decision


def _looking_like(tool: GatedTool, made: Any) -> ToolFunction:
    """A function with the name, the signature and the docstring of a tool.

    Not by `functools.wraps`, which would put the tool itself into `__wrapped__`, for all to call.
    """
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        value = getattr(tool.function, attribute, None)
        if value is not None:
            setattr(made, attribute, value)
    made.__signature__ = tool.parameters.signature
    try:
        made.__annotations__ = typing.get_type_hints(tool.function)
    except Exception:  # names that cannot be resolved stay as they were written
        made.__annotations__ = dict(getattr(tool.function, "__annotations__", {}))
    return made  # type: ignore[no-any-return]  # a function


# ── turns ────────────────────────────────────────────────────────────────────────────────────


def run_turn(guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
    """Runs one model turn. Returns for each call its result, `{"error": …}`, or the refusal.

    A refusal is the mapping of `ConstraintViolationError.to_dict`. Once the gate has ended the
    run, `guard.stopped` is true.
    """
    gated, listed = _gated(tools), calls_of(calls)
    outcomes: list[Any] = [None] * len(listed)
    for decisions in guard.rounds([_filled(gated, call) for call in listed]):
        try:
            for decision in decisions:
                outcomes[decision.index] = _outcome(guard, gated, decision)
        except BaseException:
            give_up(guard, decisions)
            raise
    return outcomes


async def run_turn_async(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[Any]:
    """As `run_turn`. Tools that are coroutine functions run concurrently."""
    import asyncio  # slow to import; a program with coroutines has it already

    gated, listed = _gated(tools), calls_of(calls)
    outcomes: list[Any] = [None] * len(listed)

    from inspect import isawaitable

    async def run(decision: Decision) -> None:
        result = _outcome(guard, gated, decision)
        try:
            result = await result if isawaitable(result) else result
        except Exception as error:
            result = {"error": error_text(error)}
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the turn was cancelled, and not only the tool
            result = {"error": error_text(error)}
        outcomes[decision.index] = result

    async for decisions in guard.rounds_async([_filled(gated, call) for call in listed]):
        try:
            await asyncio.gather(*map(run, decisions))
        except BaseException:
            give_up(guard, decisions)
            raise
    return outcomes


def _filled(tools: Mapping[str, GatedTool], call: Call) -> Call:
    """A call with the default arguments of its tool."""
    tool = tools.get(call.tool) if type(call.tool) is str and type(call.args) is dict else None
    return call if tool is None else replace(call, args=tool.parameters.filled(call.args))


def _outcome(guard: Guard, tools: Mapping[str, GatedTool], decision: Decision) -> Any:
    """The result of a call; a refusal or failure is a mapping."""
    call = decision.call
    if not decision.allowed:
        return decision.error().to_dict()
    if call.tool == FINAL_ANSWER and FINAL_ANSWER not in tools:
        return call.args.get("answer")
    try:
        return executed(guard, decision, lambda: _known(tools, call.tool).run(decision))
    except Exception as error:
        return {"error": error_text(error)}


def _known(tools: Mapping[str, GatedTool], name: str) -> GatedTool:
    if name not in tools:
        raise LookupError(f"there is no tool '{name}'")
    return tools[name]


def _gated(tools: object) -> dict[str, GatedTool]:
    return {name: GatedTool(name, tool) for name, tool in _checked(tools).items()}


def _checked(tools: object) -> dict[str, ToolFunction]:
    """The tools, if each is a function with a name."""
    help = 'Give them by name: {"search": search}.'
    if not isinstance(tools, Mapping):
        raise unusable(f"expected tools by name, found {shown(tools)}", help)
    checked = dict(tools)
    for name, tool in checked.items():
        if type(name) is not str:
            raise unusable(f"a tool cannot be named {shown(name)}", help)
        if not callable(tool):
            raise unusable(f"the tool '{name}' cannot be {shown(tool)}", help)
    return checked
