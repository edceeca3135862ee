"""A store in memory: for tests, and for gates whose runs need not outlive the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from bylaw.store.store import Append, RunRow, check_disjoint, stream_of


class MemoryStore:
    """Streams in dictionaries. Guards of one process share it; nothing survives the process."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._streams: Final[dict[str, list[str]]] = {}
        self._snapshots: Final[dict[str, tuple[int, str]]] = {}
        self._rows: Final[dict[str, RunRow]] = {}

    def append(self, appends: Sequence[Append]) -> list[bool]:
        """Appends what is first."""
        check_disjoint(appends)
        with self._lock:
            return [self._appended(each) for each in appends]

    def _appended(self, append: Append) -> bool:
        if any(len(self._streams.get(s, ())) != number for s, number, _ in append.entries):
            return False
        for stream, _, entry in append.entries:
            self._streams.setdefault(stream, []).append(entry)
        if append.row is not None:
            self._rows[append.row.run] = append.row
        for stream, number, state in append.snapshots:
            self._snapshots[stream] = number, state
        return True

    def read(self, stream: str, after: int = -1) -> list[str]:
        """The entries after a number."""
        with self._lock:
            return self._streams.get(stream, [])[after + 1 :]

    def snapshot(self, stream: str) -> tuple[int, str] | None:
        """The latest snapshot."""
        with self._lock:
            return self._snapshots.get(stream)

    def row(self, run: str) -> RunRow | None:
        """The row of a run."""
        with self._lock:
            return self._rows.get(run)

    def rows(self, *, since: float = 0.0, limit: int = 1000) -> list[RunRow]:
        """The rows updated since a time."""
        with self._lock:
            found = [row for row in self._rows.values() if row.updated >= since]
        return sorted(found, key=lambda row: (row.closed, -row.updated))[:limit]

    def delete_finished(self, before: float, limit: int) -> int:
        """Deletes finished runs."""
        with self._lock:
            old = [each for each in self._rows.values() if each.closed and each.updated < before]
            for row in sorted(old, key=lambda row: row.updated)[:limit]:
                del self._rows[row.run]
                self._streams.pop(stream_of(row.run), None)
                self._snapshots.pop(stream_of(row.run), None)
        return min(limit, len(old))

    def check(self) -> None:
        """Memory can always be used."""

    def close(self) -> None:
        """Nothing is open."""
