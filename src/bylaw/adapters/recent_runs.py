"""The runs that an adapter keeps in memory, by the key of a session or conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

MAX_LIVE: Final = 4096
"""The runs that are kept. Beyond it, the one that was used longest ago is forgotten."""

LiveRun = TypeVar("LiveRun")


class RecentRuns(Generic[LiveRun]):
    """The runs of the latest sessions. Thread-safe."""

    def __init__(self) -> None:
        self._runs: Final[OrderedDict[Hashable, LiveRun]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def get(self, key: Hashable) -> LiveRun | None:
        """The run of a session, if it is in memory."""
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
            return self._runs.get(key)

    def keep(self, key: Hashable, run: LiveRun) -> LiveRun:
        """Keeps the run of a session."""
        with self._lock:
            self._runs[key] = run
            self._runs.move_to_end(key)
            while len(self._runs) > MAX_LIVE:
                self._runs.popitem(last=False)
        return run

    def forget(self, key: Hashable) -> None:
        """Forgets the run of a session."""
        with self._lock:
            self._runs.pop(key, None)
