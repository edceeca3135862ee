"""Asking a person to approve a call, without blocking anything but the call.

The person may be slow, never answer, or fail to be reached. A question therefore runs in a daemon
thread or in the event loop. Anything but a clear yes in time refuses the call, and the refusal
has the reason. asyncio, futures and inspect are slow to import: the first question imports them.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from bylaw.enforcement.decision import Violation
from bylaw.errors import shown
from bylaw.frozen import frozen
from bylaw.trace.event import Call

if TYPE_CHECKING:
    from concurrent.futures import Future

_T = TypeVar("_T")

Ask: TypeAlias = Callable[[Call, tuple[Violation, ...]], bool | Awaitable[bool]]
"""Asks a person about a call and the rules that it breaks; True approves. May be async."""

DENIED: Final = "a person was asked, and did not approve it"


@frozen
class Question:
    """A call that a person has to decide, and the rules that it breaks."""

    call: Call
    violations: dict[int, Violation]

    def ask(self, ask: Ask, timeout: float | None) -> str | None:
        """Asks, and waits at most `timeout` seconds. None approves; a text refuses."""

        def wait() -> str | None:
            import asyncio
            from inspect import isawaitable

            try:
                answer = ask(self.call.read_only, self.shown)
                if isawaitable(answer):
                    answer = asyncio.run(_awaited(answer))
                return _reason(answer)
            except Exception as error:
                return _failed(error)

        try:
            return _in_thread(wait).result(timeout)
        except TimeoutError:
            return _timed_out(timeout)
        except Exception as error:  # no thread could be started
            return _failed(error)

    async def ask_async(self, ask: Ask, timeout: float | None) -> str | None:
        """As `ask`, without blocking the event loop."""
        import asyncio

        def call() -> tuple[Any, str | None]:
            try:
                return ask(self.call.read_only, self.shown), None
            except Exception as error:  # asyncio's futures cannot hold a StopIteration
                return None, _failed(error)

        async def wait() -> str | None:
            import inspect

            called = getattr(ask, "__call__", ask)  # noqa: B004  # it is inspected, not tested for
            try:
                if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(called):
                    answer: Any = ask(self.call.read_only, self.shown)
                else:  # it may block
                    answer, failure = await asyncio.wrap_future(_in_thread(call))
                    if failure is not None:
                        return failure
                return _reason(await answer if inspect.isawaitable(answer) else answer)
            except Exception as error:  # CancelledError is not an Exception, and passes through
                return _failed(error)

        try:
            return await asyncio.wait_for(wait(), timeout)
        except TimeoutError:
            return _timed_out(timeout)

    @property
    def shown(self) -> tuple[Violation, ...]:
        """The rules that the person sees."""
        return tuple(self.violations.values())


def _reason(answer: object) -> str | None:
    """The reason that an answer gives against the call; None if it approves."""
    if answer is True:
        return None
    if answer is False:
        return DENIED
    return f"the answer was {shown(answer)}, which is neither True nor False"


def _failed(error: Exception) -> str:
    try:
        why = f"{type(error).__name__}: {error}"
    except Exception:  # its own `__str__` fails
        why = type(error).__name__
    return f"nobody could be asked: {why}"


def _timed_out(timeout: float | None) -> str:
    return f"a person was asked, and did not answer within {timeout:g} s"


async def _awaited(answer: Awaitable[bool]) -> bool:
    return await answer


def _in_thread(function: Callable[[], _T]) -> Future[_T]:
    """The result of a function, from a daemon thread: it does not keep the program alive."""
    from concurrent.futures import Future, InvalidStateError

    result: Future[_T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        with suppress(InvalidStateError):  # the waiting side has given up
            try:
                result.set_result(context.run(function))
            except InvalidStateError:
                raise
            except BaseException as error:
                result.set_exception(error)

    threading.Thread(target=work, name="bylaw-ask", daemon=True).start()
    return result
