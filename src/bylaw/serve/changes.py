"""Changes of runs, for those who watch: of this process at once, of other replicas by polling.

Each subscriber has the latest row of every run that changed since it was last written to, so that a
slow one holds nothing up and misses nothing that is still true.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from bylaw.errors import BylawError
from bylaw.reports.html.watch import watched_rules
from bylaw.serve.resident import ResidentGate
from bylaw.store.store import RunRow
from bylaw.values import read_json

POLL: Final = 1.0
"""The time between two looks at the store for changes of other replicas, in seconds."""
OVERLAP: Final = 10.0
"""The difference between the clocks of replicas that is allowed for, in seconds."""
PAUSE: Final = 0.1
"""The shortest time between two writes to a subscriber, in seconds."""
MAX_RUNS: Final = 2000
"""The most runs that a subscriber is sent at first."""


def about_row(row: RunRow) -> dict[str, Any]:
    """A run in a list, as JSON."""
    told = {"run": row.run, "principal": row.principal, "updated": row.updated}
    return {**told, "number": row.number, "closed": row.closed, **read_json(row.about)}


class _Subscriber:
    """One who watches: the rows to write next."""

    def __init__(self) -> None:
        self.changed: Final = asyncio.Event()
        self.rows: dict[str, RunRow] = {}
        self.sent: Final[dict[str, int]] = {}
        """The number of the latest entry that was sent of each run."""

    def offer(self, row: RunRow) -> None:
        """Takes a row, unless a later one is known."""
        if row.number > self.sent.get(row.run, -1):
            known = self.rows.get(row.run)
            if known is None or row.number > known.number:
                self.rows[row.run] = row
                self.changed.set()


class Changes:
    """All who watch one gate. Used in one event loop."""

    def __init__(self, gate: ResidentGate) -> None:
        self._gate: Final = gate
        self._subscribers: Final[set[_Subscriber]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._polling: asyncio.Task[None] | None = None
        self.closing = False
        """Is the server shutting down? Then nobody is kept waiting."""
        gate.listeners.append(self._heard)

    def _heard(self, row: RunRow) -> None:
        """A worker has changed a run."""
        if self._subscribers and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._offer, [row])

    def _offer(self, rows: list[RunRow]) -> None:
        for subscriber in self._subscribers:
            for row in rows:
                subscriber.offer(row)

    async def follow(self) -> AsyncIterator[bytes]:
        """All runs, and then every change, as server-sent events."""
        subscriber = _Subscriber()
        self._loop = asyncio.get_running_loop()
        self._subscribers.add(subscriber)
        try:
            if self._polling is None or self._polling.done():
                self._polling = self._loop.create_task(self._poll())
            for row in await run_in_threadpool(self._gate.store.rows, limit=MAX_RUNS):
                subscriber.offer(row)
            rules = json.dumps(watched_rules(self._gate.procedure))
            yield f"event: rules\ndata: {rules}\n\n".encode()
            while not self.closing:
                with suppress(TimeoutError):
                    await asyncio.wait_for(subscriber.changed.wait(), POLL)
                subscriber.changed.clear()
                rows, subscriber.rows = subscriber.rows, {}
                subscriber.sent.update((row.run, row.number) for row in rows.values())
                told = [about_row(row) for row in rows.values()]
                # JSON has no line breaks, and escapes everything that is not ASCII.
                yield f"data: {json.dumps(told)}\n\n".encode() if told else b": idle\n\n"
                await asyncio.sleep(PAUSE)
        finally:
            self._subscribers.discard(subscriber)

    async def _poll(self) -> None:
        """Looks for changes of other replicas as long as somebody watches."""
        latest = self._gate.clock()
        while self._subscribers and not self.closing:
            await asyncio.sleep(POLL)
            with suppress(BylawError):  # the store will be back, or the page shows old runs
                rows = await run_in_threadpool(
                    self._gate.store.rows, since=latest - OVERLAP, limit=MAX_RUNS
                )
                latest = max([latest, *(row.updated for row in rows)])
                self._offer(rows)
