"""Asking a person: the gate waits for the answer, and nothing else waits with it.

Whoever is asked may take their time, never answer, or fail. A question therefore runs in a thread
that nobody waits for, or in the event loop, and what is not a clear yes in time is a no.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from bylaw.enforcement.decision import Violation
from bylaw.trace.event import Call

Ask: TypeAlias = Callable[[Call, tuple[Violation, ...]], bool | Awaitable[bool]]
"""Asks a person about a call and the rules that it breaks; True approves. May be async."""


@dataclass(frozen=True, slots=True)
class Question:
    """A call that a person has to decide, and the rules that speak against it."""

    call: Call
    violations: dict[int, Violation]

    def put(self, ask: Ask, timeout: float | None) -> bool:
        """Asks, and waits for the answer as long as the timeout allows."""

        def wait() -> bool:
            said = ask(self.call, self.shown)
            return asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said

        try:
            return _in_thread(wait).result(timeout) is True
        except Exception:  # no answer in time, or the asking failed: nobody approved
            return False

    async def put_async(self, ask: Ask, timeout: float | None) -> bool:
        """Asks, and lets the event loop go on meanwhile."""

        async def wait() -> object:
            called = getattr(ask, "__call__", ask)  # noqa: B004  # it is looked at, not tested for
            if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(called):
                said: Any = ask(self.call, self.shown)
            else:  # it may block
                said = await asyncio.wrap_future(_in_thread(lambda: ask(self.call, self.shown)))
            return await said if inspect.isawaitable(said) else said

        try:
            return await asyncio.wait_for(wait(), timeout) is True
        except Exception:  # a cancelled task is none of these
            return False

    @property
    def shown(self) -> tuple[Violation, ...]:
        """The rules that the person sees."""
        return tuple(self.violations.values())


async def _awaited(said: Awaitable[bool]) -> bool:
    return await said


def _in_thread(function: Callable[[], Any]) -> Future[Any]:
    """What a function returns, from a thread that does not keep the program alive."""
    answer: Future[Any] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            try:
                answer.set_result(context.run(function))
            except InvalidStateError:
                raise
            except BaseException as error:
                answer.set_exception(error)

    threading.Thread(target=work, name="bylaw-ask", daemon=True).start()
    return answer
