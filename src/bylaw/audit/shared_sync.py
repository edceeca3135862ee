"""Threads and tasks that wait for one file to be synced share the time that the disk takes.

A lone thread syncs by itself. While it does so, others come; the next of them syncs for all that
have come by then. Each waits for a sync that began after its own entries were queued. Tasks of an
event loop must not block it: a thread of the log's own waits for them, once for all that have come.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from concurrent.futures import ThreadPoolExecutor

_PATIENCE: Final = 0.2
"""The seconds after which a thread does not rely on another to sync for it."""


class _SyncTurn:
    """The time that one thread has to sync, for itself and for those who wait for it."""

    __slots__ = ("_waiting", "ended")

    def __init__(self) -> None:
        self.ended = False
        self._waiting: Final[list[threading.Lock]] = []

    def wait(self) -> bool:
        """Waits for the end; False if that takes too long."""
        woken = threading.Lock()
        woken.acquire()
        self._waiting.append(woken)
        return self.ended or woken.acquire(timeout=_PATIENCE)

    def end(self) -> None:
        """Wakes everybody who waits. Whoever begins to wait now sees that it has ended."""
        self.ended = True
        with suppress(IndexError):  # another thread may end it, too
            while True:
                self._waiting.pop().release()


class Synced(Protocol):
    """A file whose entries are queued, numbered, and synced together."""

    def is_synced(self, number: int) -> bool:
        """Are so many entries on disk? Raises an error if they never will be."""

    def sync(self) -> None:
        """Syncs all entries that were queued before the call."""


class SharedSync:
    """Those who wait for one file. The file is given to each call, so that it can be dropped."""

    def __init__(self) -> None:
        self._lock: Final = threading.RLock()
        self._sync_lock: Final = threading.RLock()
        self._turn = _SyncTurn()
        self._turn.end()
        self._tasks: list[tuple[int, Future[None]]] = []
        """The numbers that tasks wait for."""
        self._serving = False
        """Does a thread wait for tasks?"""
        self._server: ThreadPoolExecutor | None = None

    def wait(self, file: Synced, number: int) -> None:
        """Returns once so many entries are on disk."""
        while not file.is_synced(number):
            turn = self._turn
            if turn.ended:
                with self._lock:
                    if self._turn is not turn:
                        continue  # another thread syncs next
                    turn = self._turn = _SyncTurn()
            elif turn.wait():
                continue
            # It is this thread's turn; or the thread whose turn it is takes long, or is gone.
            try:
                with self._sync_lock:
                    if not file.is_synced(number):
                        file.sync()
            finally:
                turn.end()

    async def wait_async(self, file: Synced, number: int) -> None:
        """As `wait`, without blocking the event loop."""
        while not file.is_synced(number):
            import asyncio  # whoever awaits this has imported it

            synced = asyncio.get_running_loop().create_future()
            with self._lock:
                self._tasks.append((number, synced))
                if not self._serving:
                    self._serve(file)
                    self._serving = True
            await synced

    def _serve(self, file: Synced) -> None:
        if self._server is None:
            from concurrent.futures import ThreadPoolExecutor  # slow to import

            self._server = ThreadPoolExecutor(1, "audit log")
        self._server.submit(self._wait_for_tasks, file)

    def _wait_for_tasks(self, file: Synced) -> None:
        while True:
            with self._lock:
                tasks, self._tasks = self._tasks, []
                if not tasks:
                    self._serving = False
                    return
            with suppress(Exception):  # each task finds the reason by itself
                self.wait(file, max(number for number, _ in tasks))
            loops: dict[AbstractEventLoop, list[Future[None]]] = {}
            for _, synced in tasks:
                loops.setdefault(synced.get_loop(), []).append(synced)
            for loop, woken in loops.items():
                with suppress(RuntimeError):  # it was closed, and its tasks are gone
                    loop.call_soon_threadsafe(_wake, woken)

    def close(self) -> None:
        """Ends the thread that waits for tasks, once none of them waits."""
        if self._server is not None:
            self._server.shutdown(wait=False)


def _wake(tasks: list[Future[None]]) -> None:
    for synced in tasks:
        if not synced.done():  # or it was cancelled
            synced.set_result(None)
