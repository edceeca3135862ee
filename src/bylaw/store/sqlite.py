"""A store in one SQLite file, for the processes of one machine.

Entries are on disk when `append` returns: the journal is a write-ahead log, synced at every
commit. Threads of this process take turns at writing; other processes are waited for.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from bylaw.store import schema
from bylaw.store.store import (
    Append,
    RunRow,
    StoreError,
    check_disjoint,
    store_failed,
    stream_of,
)

BUSY: Final = 5.0
"""The time to wait for another process that is writing, in seconds."""


FileIdentity: TypeAlias = tuple[int, int] | None
"""The device and the number of a file: a path may lead to another one by now, or to none."""


class SqliteStore:
    """Streams in a file. Each thread has a connection of its own."""

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self._turn: Final = threading.Lock()
        self._own: Final = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._paths: Final = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
        """The file, its write-ahead log, and the index of that."""
        self._known: dict[Path, FileIdentity] = {}
        """These files as they were found first."""
        self._replaced = False
        self._closed = False
        with self._errors(), self._turn:
            with suppress(FileExistsError):  # it holds what agents did: it is for this user only
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = self._begun()
            for statement in (*schema.TABLES, schema.ADD_VERSION):
                connection.execute(statement)
            versions = connection.execute(schema.FIND_VERSIONS).fetchall()
            connection.execute("COMMIT")
        schema.check_versions(versions)

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if self._closed:
            raise store_failed("the store is closed")
        if found is None:
            self._checked_files()  # a new connection would make a new log
            found = sqlite3.connect(
                self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("PRAGMA synchronous = FULL")
            self._own.connection = found
            self._open.append(found)
        return found

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except (sqlite3.Error, OSError) as error:
            self._drop()
            message = f"the store {self.path} cannot be used: {error}"
            raise store_failed(message, "See that it is a file of Bylaw's, and writable.") from None

    def _drop(self) -> None:
        """Closes this thread's connection, in whatever state it is."""
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if found is not None:
            self._own.connection = None
            self._open = [each for each in self._open if each is not found]
            found.close()
            if not self._open:  # the last connection has deleted the log
                self._known = {p: file for p, file in self._known.items() if p == self.path}

    def append(self, appends: Sequence[Append]) -> list[bool]:
        """Appends what is first, in one transaction."""
        check_disjoint(appends)
        with self._errors(), self._turn:
            connection = self._begun()  # from here on, nobody else writes
            first = [self._append(connection, each) for each in appends]
            connection.execute("COMMIT")
        return first

    def _append(self, connection: sqlite3.Connection, append: Append) -> bool:
        latest = "SELECT ifnull(max(number), -1) FROM bylaw_entries WHERE stream = ?"
        for stream, number, _ in append.entries:
            if connection.execute(latest, [stream]).fetchone() != (number - 1,):
                return False
        connection.executemany("INSERT INTO bylaw_entries VALUES (?, ?, ?)", append.entries)
        if append.row is not None:
            connection.execute(schema.PUT_ROW, schema.columns_of(append.row))
        connection.executemany(schema.PUT_SNAPSHOT, append.snapshots)
        return True

    def read(self, stream: str, after: int = -1) -> list[str]:
        """The entries after a number."""
        return schema.entries_of(self._find(schema.FIND_ENTRIES, stream, after), stream, after)

    def snapshot(self, stream: str) -> tuple[int, str] | None:
        """The latest snapshot."""
        return next(iter(self._find(schema.FIND_SNAPSHOT, stream)), None)

    def row(self, run: str) -> RunRow | None:
        """The row of a run."""
        return next(map(schema.row_of, self._find(schema.FIND_ROW, run)), None)

    def rows(self, *, since: float = 0.0, limit: int = 1000) -> list[RunRow]:
        """The rows updated since a time."""
        return [*map(schema.row_of, self._find(schema.FIND_ROWS, since, limit))]

    def _find(self, statement: str, *values: Any) -> list[Any]:
        with self._errors():
            return self._connection().execute(statement, values).fetchall()

    def delete_finished(self, before: float, limit: int) -> int:
        """Deletes finished runs. The file does not shrink: its pages are used again."""
        with self._errors(), self._turn:
            connection = self._begun()
            runs = connection.execute(schema.DELETE_ROWS, [before, limit]).fetchall()
            streams = [(stream_of(run),) for (run,) in runs]
            for statement in schema.DELETE_STREAMS:
                connection.executemany(statement, streams)
            connection.execute("COMMIT")
        return len(runs)

    def _begun(self) -> sqlite3.Connection:
        """A connection with a transaction, to the files that are at their paths."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._known = self._checked_files()
        except StoreError:
            # Nothing is closed: the last connection writes what is in the old log to the file.
            connection.execute("ROLLBACK")
            raise
        return connection

    def _checked_files(self) -> dict[Path, FileIdentity]:
        """The files at their paths now, which must be those that were found first."""
        found = {path: _identity(path) for path in self._paths}
        self._replaced |= any(found[path] != known for path, known in self._known.items())
        if self._replaced:
            message = f"files of the store {self.path} were deleted or replaced"
            raise store_failed(message, "What is written now would be lost: restart the gate.")
        return found

    def check(self) -> None:
        """Can the file be written? Another process may be writing it for a while."""
        with self._errors(), self._turn:
            self._begun().execute("ROLLBACK")

    def close(self) -> None:
        """Closes every connection."""
        with self._turn:
            self._closed = True
            for connection in self._open:
                connection.close()


def _identity(path: Path) -> FileIdentity:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
