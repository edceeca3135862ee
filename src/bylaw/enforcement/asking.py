"""Asking a person: the gate waits for the answer, and nothing else waits with it.

Whoever is asked may take their time, never answer, or fail. A question therefore runs in a thread
that nobody waits for, or in the event loop, and what is not a clear yes in time is a no: the
refusal says which kind.
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
from typing import Any, Final, TypeAlias, TypeVar

from bylaw.enforcement.decision import Violation
from bylaw.enforcement.tools import told
from bylaw.errors import shown
from bylaw.trace.event import Call

_T = TypeVar("_T")

Ask: TypeAlias = Callable[[Call, tuple[Violation, ...]], bool | Awaitable[bool]]
"""Asks a person about a call and the rules that it breaks; True approves. May be async."""

DENIED: Final = "a person was asked, and did not approve it"


@dataclass(frozen=True, slots=True)
class Question:
    """A call that a person has to decide, and the rules that speak against it."""

    call: Call
    violations: dict[int, Violation]

    def put(self, ask: Ask, timeout: float | None) -> str | None:
        """Asks, and waits as long as the timeout allows; why the call may not run, if so."""

        def wait() -> str | None:
            try:
                said = ask(self.call, self.shown)
                return _heard(asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said)
            except Exception as error:
                return _unput(error)

        try:
            return _in_thread(wait).result(timeout)
        except TimeoutError:
            return _unanswered(timeout)
        except Exception as error:  # no thread could be started
            return _unput(error)

    async def put_async(self, ask: Ask, timeout: float | None) -> str | None:
        """As `put`; the event loop goes on meanwhile."""

        def call() -> tuple[Any, str | None]:
            try:
                return ask(self.call, self.shown), None
            except Exception as error:  # told here: a future of asyncio cannot hold each of them
                return None, _unput(error)

        async def wait() -> str | None:
            called = getattr(ask, "__call__", ask)  # noqa: B004  # it is looked at, not tested for
            try:
                if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(called):
                    said: Any = ask(self.call, self.shown)
                else:  # it may block
                    said, failed = await asyncio.wrap_future(_in_thread(call))
                    if failed is not None:
                        return failed
                return _heard(await said if inspect.isawaitable(said) else said)
            except Exception as error:  # a cancelled task is none of these
                return _unput(error)

        try:
            return await asyncio.wait_for(wait(), timeout)
        except TimeoutError:
            return _unanswered(timeout)

    @property
    def shown(self) -> tuple[Violation, ...]:
        """The rules that the person sees."""
        return tuple(self.violations.values())


def _heard(said: object) -> str | None:
    """What an answer means: nothing against the call, or why it may not run."""
    if said is True:
        return None
    if said is False:
        return DENIED
    return f"the answer was {shown(said)}, which is neither True nor False"


def _unput(error: Exception) -> str:
    try:
        why = told(error)
    except Exception:  # it cannot even say what it is
        why = type(error).__name__
    return f"the question could not be put: {why}"


def _unanswered(timeout: float | None) -> str:
    return f"a person was asked, and did not answer within {timeout:g} s"


async def _awaited(said: Awaitable[bool]) -> bool:
    return await said


def _in_thread(function: Callable[[], _T]) -> Future[_T]:
    """What a function returns, from a thread that does not keep the program alive."""
    answer: Future[_T] = Future()
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
