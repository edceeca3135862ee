"""Requests on their way through a worker, and the outcomes that their senders wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.serve.operations import RunOperation
from bylaw.values import Json

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, TimerHandle

Answered: TypeAlias = dict[str, Json] | Exception
"""The answer to a request, or the reason why there is none."""


@frozen
class Principal:
    """Whoever the transport has identified: the holder of a token, or a trusted caller."""

    name: str
    person: bool = False
    """May this one approve and deny, and see the runs of others?"""


class Ticket:
    """One request. `operation` is None for a run to be opened."""

    def __init__(
        self,
        principal: Principal,
        run: str,
        operation: RunOperation | None,
        given: Mapping[str, Json],
        key: str | None,
        deadline: float,
        loop: AbstractEventLoop | None = None,
    ) -> None:
        self.principal: Final = principal
        self.run: Final = run
        self.operation: Final = operation
        self.given: Final = given
        self.key: Final = key
        self.deadline: Final = deadline
        """The time, by the monotonic clock, at which nobody waits for the answer any more."""
        self.tries = 0
        self.confirmed = False
        """Was an error that it met found again in a run that had just been recovered?"""
        self._loop: Final = loop
        self._future: Final[Future[dict[str, Json]] | None] = loop.create_future() if loop else None
        self._done: Final = None if loop else threading.Event()
        self._outcome: Answered | None = None

    def wait(self, seconds: float) -> Answered | None:
        """The outcome, for a sender in another thread; None if it does not come in time."""
        assert self._done is not None, "a task awaits the future"
        self._done.wait(seconds)
        return self._outcome

    @property
    def future(self) -> Future[dict[str, Json]]:
        """The outcome, for a sender in an event loop."""
        assert self._future is not None, "it was made for a loop"
        return self._future

    def expire_after(self, seconds: float, error: Callable[[], Exception]) -> TimerHandle:
        """Fails the future if it has no outcome after so many seconds."""

        def expire() -> None:
            if not self.future.done():
                self.future.set_exception(error())

        assert self._loop is not None, "it was made for a loop"
        return self._loop.call_later(seconds, expire)

    @staticmethod
    def deliver(outcomes: Sequence[tuple[Ticket, Answered]]) -> None:
        """Hands outcomes over, those for one event loop together."""
        loops: dict[AbstractEventLoop, list[tuple[Ticket, Answered]]] = {}
        for ticket, outcome in outcomes:
            if ticket._loop is not None:
                loops.setdefault(ticket._loop, []).append((ticket, outcome))
            elif ticket._done is not None:
                ticket._outcome = outcome
                ticket._done.set()
        for loop, some in loops.items():
            try:
                loop.call_soon_threadsafe(_settle, some)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue


def _settle(outcomes: Sequence[tuple[Ticket, Answered]]) -> None:
    for ticket, outcome in outcomes:
        future = ticket.future
        if future.done():  # the sender has given up
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
