"""An allowed call runs, and its result is recorded: at once, when awaited, or at a stream's end.

A call that raises anything (cancellation, a time-out, Ctrl-C) has failed, and the exception is
raised again. The result of a generator is the list of what it yielded, recorded when it is
exhausted. If it is closed early, nobody knows what it would have done: the call stays outstanding,
so that no rule takes it for a success or for a failure. `Guard.awaiting` lists it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from bylaw.enforcement.decision import Decision
from bylaw.plain import as_json, error_text
from bylaw.values import Json

if TYPE_CHECKING:
    from bylaw.enforcement.guard import Guard

Opened: TypeAlias = tuple[Decision, AsyncGenerator[Any, Any]]
"""The decision on a call, and the stream that the tool returned."""


def executed(guard: Guard, decision: Decision, execute: Callable[[], Any]) -> Any:
    """Runs an allowed call and records its result."""
    from inspect import isawaitable  # slow to import

    try:
        result = execute()
        if isawaitable(result):
            return _awaited(guard, decision, result)
        return _delivered(guard, decision, result)
    except BaseException as error:
        _fail(guard, decision, error)
        raise


async def _awaited(guard: Guard, decision: Decision, running: Awaitable[Any]) -> Any:
    try:
        return _delivered(guard, decision, await running)
    except BaseException as error:
        _fail(guard, decision, error)
        raise


def _delivered(guard: Guard, decision: Decision, result: Any) -> Any:
    """The value for the caller. A result is recorded now, and a stream when it ends."""
    if isinstance(result, Generator):
        return _stream(guard, decision, result)
    if isinstance(result, AsyncGenerator):

        async def begin() -> Opened:
            return decision, result

        return async_stream(guard, begin)
    _record(guard, decision, as_json(result))
    return result


def give_up(guard: Guard, decisions: Iterable[Decision]) -> None:
    """Gives up the calls of a turn that was broken off: those that have no result have failed."""
    for decision in decisions:
        if guard.awaits(decision):
            guard.abandon(decision)


def _record(guard: Guard, decision: Decision, result: Json, error: str | None = None) -> None:
    """Records a result, unless the call was given up in the meantime."""
    if guard.awaits(decision):
        guard.record(decision, result, error=error)


def _fail(guard: Guard, decision: Decision, error: BaseException) -> None:
    _record(guard, decision, None, error_text(error))


# ── streams ──────────────────────────────────────────────────────────────────────────────────


def _stream(
    guard: Guard, decision: Decision, inner: Generator[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Passes on what a generator yields, and records it at the end."""
    yielded: list[Json] = []
    resume: Callable[[], Any] = partial(next, inner)
    while True:
        try:
            item = resume()
            yielded.append(as_json(item))
        except StopIteration as end:
            _record(guard, decision, yielded)
            return end.value
        except BaseException as error:
            _fail(guard, decision, error)
            raise
        try:
            resume = partial(inner.send, (yield item))
        except GeneratorExit:
            _close(guard, decision, inner)
            raise
        except BaseException as thrown:
            resume = partial(inner.throw, thrown)


def _close(guard: Guard, decision: Decision, inner: Generator[Any, Any, Any]) -> None:
    try:
        inner.close()
    except BaseException as error:
        _fail(guard, decision, error)
        raise


async def async_stream(
    guard: Guard, begin: Callable[[], Awaitable[Opened]]
) -> AsyncGenerator[Any, Any]:
    """As `_stream`, for an asynchronous generator, which `begin` opens."""
    decision, inner = await begin()
    yielded: list[Json] = []
    resume: Callable[[], Awaitable[Any]] = inner.__anext__
    while True:
        try:
            item = await resume()
            yielded.append(as_json(item))
        except StopAsyncIteration:
            _record(guard, decision, yielded)
            return
        except BaseException as error:
            _fail(guard, decision, error)
            raise
        try:
            resume = partial(inner.asend, (yield item))
        except GeneratorExit:
            try:
                await inner.aclose()
            except BaseException as error:
                _fail(guard, decision, error)
                raise
            raise
        except BaseException as thrown:
            resume = partial(inner.athrow, thrown)
