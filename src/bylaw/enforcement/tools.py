"""Plain Python functions behind a gate.

    tools = guard.wrap({"search": search, "pay": pay})
    tools["pay"](amount=5)          # runs, or raises ConstraintViolationError

Each call of a wrapped tool is a turn of its own, and there is one at a time. `run_turn` decides the
calls of one model turn together and returns the result of each; `run_turn_async` does so for
coroutine functions.

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
from bylaw.enforcement.entrance import SingleEntrance
from bylaw.enforcement.execution import Opened, async_stream, executed, give_up
from bylaw.enforcement.parameters import ToolParameters
from bylaw.enforcement.turn import calls_of
from bylaw.enforcement.validation import unusable
from bylaw.errors import shown
from bylaw.frozen import frozen, replace
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
    entrance = vars(guard).setdefault("_entrance", SingleEntrance())
    gated = _gated(tools)
    return {name: _wrapped(guard, tool, entrance) for name, tool in gated.items()}


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


def _wrapped(guard: Guard, tool: GatedTool, entrance: SingleEntrance) -> ToolFunction:
    def decide(values: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        with entrance.entered(tool.name):
            (decision,) = guard.propose([tool.call(values, keywords)])
            return executed(guard, _allowed(decision), lambda: tool.run(decision))

    async def decide_async(values: Sequence[Any], keywords: Mapping[str, Any]) -> Decision:
        (decision,) = await guard.propose_async([tool.call(values, keywords)])
        return _allowed(decision)

    async def run_async(*values: Any, **keywords: Any) -> Any:
        with entrance.entered(tool.name):
            decision = await decide_async(values, keywords)
            return await executed(guard, decision, lambda: tool.run(decision))

    def run(*values: Any, **keywords: Any) -> Any:
        return decide(values, keywords)

    def stream(*values: Any, **keywords: Any) -> Any:
        return (yield from decide(values, keywords))

    def stream_async(*values: Any, **keywords: Any) -> Any:
        async def begin() -> Opened:
            with entrance.entered(tool.name):
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


@frozen
class ToolOutcome:
    """The decision on a call of a turn; if it ran, its result or its error."""

    decision: Decision
    result: Any = None
    error: str | None = None

    @property
    def shown(self) -> Any:
        """The result for the agent; a refusal or failure is a mapping."""
        if not self.decision.allowed:
            return self.decision.error().to_dict()
        return self.result if self.error is None else {"error": self.error}


def run_turn(guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]) -> list[Any]:
    """Runs one model turn. Returns for each call its result, `{"error": …}`, or the refusal.

    A refusal is the mapping of `ConstraintViolationError.to_dict`. Once the gate has ended the
    run, `guard.stopped` is true.
    """
    return [outcome.shown for outcome in turn_outcomes(guard, tools, calls)]


async def run_turn_async(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[Any]:
    """As `run_turn`. Tools that are coroutine functions run concurrently."""
    return [outcome.shown for outcome in await turn_outcomes_async(guard, tools, calls)]


def turn_outcomes(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[ToolOutcome]:
    """Runs one model turn. Returns the outcome of each call, in the order of the calls."""
    gated = _gated_for(guard, tools)
    outcomes: dict[int, ToolOutcome] = {}
    for decisions in guard.rounds([_filled(gated, call) for call in calls_of(calls)]):
        try:
            for decision in decisions:
                outcomes[decision.index] = _outcome(guard, gated, decision)
        except BaseException:
            give_up(guard, decisions)
            raise
    return [outcomes[index] for index in sorted(outcomes)]


async def turn_outcomes_async(
    guard: Guard, tools: Mapping[str, ToolFunction], calls: Sequence[Call]
) -> list[ToolOutcome]:
    """As `turn_outcomes`. Tools that are coroutine functions run concurrently."""
    import asyncio  # slow to import; a program with coroutines has it already
    from inspect import isawaitable

    gated = _gated_for(guard, tools)
    outcomes: dict[int, ToolOutcome] = {}

    async def run(decision: Decision) -> None:
        outcome = _outcome(guard, gated, decision)
        try:
            if isawaitable(outcome.result):
                outcome = ToolOutcome(decision, await outcome.result)
        except Exception as error:
            outcome = ToolOutcome(decision, error=error_text(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the turn was cancelled, and not only the tool
            outcome = ToolOutcome(decision, error=error_text(error))
        outcomes[decision.index] = outcome

    async for decisions in guard.rounds_async([_filled(gated, each) for each in calls_of(calls)]):
        try:
            await asyncio.gather(*map(run, decisions))
        except BaseException:
            give_up(guard, decisions)
            raise
    return [outcomes[index] for index in sorted(outcomes)]


def _filled(tools: Mapping[str, GatedTool], call: Call) -> Call:
    """A call with the default arguments of its tool."""
    tool = tools.get(call.tool) if type(call.tool) is str and type(call.args) is dict else None
    return call if tool is None else replace(call, args=tool.parameters.filled(call.args))


def _outcome(guard: Guard, tools: Mapping[str, GatedTool], decision: Decision) -> ToolOutcome:
    """The outcome of a call, which runs if it is allowed."""
    call = decision.call
    if not decision.allowed:
        return ToolOutcome(decision)
    if call.tool == FINAL_ANSWER and FINAL_ANSWER not in tools:
        return ToolOutcome(decision, call.args.get("answer"))
    try:
        run = executed(guard, decision, lambda: _known(tools, call.tool).run(decision))
        return ToolOutcome(decision, run)
    except Exception as error:
        return ToolOutcome(decision, error=error_text(error))


def _known(tools: Mapping[str, GatedTool], name: str) -> GatedTool:
    if name not in tools:
        raise LookupError(f"there is no tool '{name}'")
    return tools[name]


def _gated(tools: object) -> dict[str, GatedTool]:
    return {name: GatedTool(name, tool) for name, tool in _checked(tools).items()}


def _gated_for(guard: Guard, tools: object) -> dict[str, GatedTool]:
    """The tools of a turn. Their parameters are read once, not in every turn."""
    checked = _checked(tools)
    known: dict[str, GatedTool] = vars(guard).setdefault("_gated", {})
    for name, tool in checked.items():
        if name not in known or known[name].function is not tool:
            known[name] = GatedTool(name, tool)
    return {name: known[name] for name in checked}


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
