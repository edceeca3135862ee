"""A store in PostgreSQL, for several machines: `pip install 'bylaw[postgresql]'`.

Replicas write at the same time. The primary key of the entries decides who is first: a second
writer of the same number waits for the first, and then learns that it is taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

from bylaw.errors import Diagnostic, UsageError
from bylaw.store import schema
from bylaw.store.public_address import public_address
from bylaw.store.store import (
    Append,
    RunRow,
    StoreError,
    check_disjoint,
    store_failed,
    stream_of,
)

CONNECTING: Final = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2}
"""The patience with a server that cannot be reached, in seconds."""
UNANSWERED_MS: Final = 5000
"""The time after which a connection counts as broken if data is not acknowledged."""
STATEMENT_MS: Final = 5000
"""The longest that a statement may take."""
CLOCKS_APART: Final = 10.0
"""The largest difference between the clocks of this machine and of the database, in seconds."""

_INSERT: Final = (
    "INSERT INTO bylaw_entries "
    "SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[]) AS new (stream, number, body) "
    "WHERE number = 0 OR EXISTS (SELECT 1 FROM bylaw_entries AS old "
    "WHERE old.stream = new.stream AND old.number = new.number - 1) "
    "ON CONFLICT DO NOTHING RETURNING stream"
)
_DELETE: Final = (
    "DELETE FROM bylaw_entries USING unnest(%s::text[], %s::bigint[]) AS lost (stream, number) "
    "WHERE bylaw_entries.stream = lost.stream AND bylaw_entries.number = lost.number"
)
_CREATING: Final = 4_929_812
"""The advisory lock under which tables are created: two replicas may start at the same time."""


class PostgresqlStore:
    """Streams in a database. Each thread has a connection of its own."""

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            message = "psycopg is not installed"
            help = "pip install 'bylaw[postgresql]'"
            raise UsageError(Diagnostic("E420", message, help)) from None
        self._psycopg: Final = psycopg
        try:
            psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.Error:  # its message quotes the password if that has a slash in it
            message = f"'{public_address(address)}' cannot be read as an address"
            help = "Write postgresql://USER@HOST/DATABASE; %2F is a slash in a password."
            raise UsageError(Diagnostic("E451", message, help)) from None
        self._address: Final = address
        self._own: Final = threading.local()
        self._lock: Final = threading.Lock()
        self._open: list[Any] = []
        self._closed = False
        with self._errors():
            connection = self._connection()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [_CREATING])
                for statement in (*schema.TABLES, schema.ADD_VERSION):
                    connection.execute(statement)
                versions = connection.execute(schema.FIND_VERSIONS).fetchall()
        try:
            schema.check_versions(versions)
            self._check_clock()
        except StoreError:
            self.close()
            raise

    def _connection(self) -> Any:
        if self._closed:
            raise store_failed("the store is closed")
        found = getattr(self._own, "connection", None)
        if found is None:
            options = f"-c statement_timeout={STATEMENT_MS} -c client_min_messages=warning"
            found = self._psycopg.connect(
                self._address,
                autocommit=True,
                options=options,
                tcp_user_timeout=UNANSWERED_MS,
                **cast("dict[str, Any]", CONNECTING),
            )
            self._own.connection = found
            with self._lock:
                self._open.append(found)
        return found

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except (self._psycopg.Error, OSError) as error:
            self._drop()
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            help = "See that the server runs, and that the address and the password are right."
            raise store_failed(f"the store cannot be used: {reason}", help) from None

    def _drop(self) -> None:
        """Closes this thread's connection, in whatever state it is."""
        found = getattr(self._own, "connection", None)
        if found is not None:
            self._own.connection = None
            with self._lock:
                self._open = [each for each in self._open if each is not found]
            with suppress(self._psycopg.Error):
                found.close()

    def append(self, appends: Sequence[Append]) -> list[bool]:
        """Appends what is first, in one transaction.

        Entries are inserted in the order of their streams: writers that wait for each other in
        different orders would be a deadlock.
        """
        check_disjoint(appends)
        entries = sorted(entry for each in appends for entry in each.entries)
        with self._errors():
            connection = self._connection()
            with connection.transaction():
                columns = [list(column) for column in zip(*entries, strict=True)]
                found = connection.execute(_INSERT, columns).fetchall() if entries else []
                free = {stream for (stream,) in found}
                first = [all(s in free for s, _, _ in each.entries) for each in appends]
                if len(free) < len(entries):
                    self._take_back(connection, appends, first, free)
                self._put(connection, [a for a, won in zip(appends, first, strict=True) if won])
        return first

    def _take_back(
        self, connection: Any, appends: Sequence[Append], first: Sequence[bool], free: set[str]
    ) -> None:
        """Deletes what was inserted of appends that were not first everywhere."""
        lost = [each for each, won in zip(appends, first, strict=True) if not won]
        keys = [(s, n) for each in lost for s, n, _ in each.entries if s in free]
        if keys:
            connection.execute(_DELETE, [list(column) for column in zip(*keys, strict=True)])

    def _put(self, connection: Any, appends: Sequence[Append]) -> None:
        """Writes the rows and the snapshots of appends that were first."""
        rows = [each.row for each in appends if each.row is not None]
        if rows:
            with connection.cursor() as cursor:
                cursor.executemany(_ours(schema.PUT_ROW), list(map(schema.columns_of, rows)))
        for snapshot in (each for append in appends for each in append.snapshots):
            connection.execute(_ours(schema.PUT_SNAPSHOT), snapshot)

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
            found = self._connection().execute(_ours(statement), values)
            return cast("list[Any]", found.fetchall())

    def delete_finished(self, before: float, limit: int) -> int:
        """Deletes finished runs. Of several replicas, each deletes others."""
        statement = schema.DELETE_ROWS.replace("LIMIT ?", "LIMIT ? FOR UPDATE SKIP LOCKED")
        with self._errors():
            connection = self._connection()
            with connection.transaction():
                runs = connection.execute(_ours(statement), [before, limit]).fetchall()
                streams = [stream_of(run) for (run,) in runs]
                for each in schema.DELETE_STREAMS:
                    connection.execute(_ours(each).replace("= %s", "= ANY(%s)"), [streams])
        return len(runs)

    def check(self) -> None:
        """Does the server answer, and may it be written to?"""
        with self._errors():
            (read_only,) = self._connection().execute("SHOW transaction_read_only").fetchone()
        if read_only != "off":
            raise store_failed("the database can only be read", "Connect to the primary server.")
        self._check_clock()

    def _check_clock(self) -> None:
        """Rules about time would hold differently at replicas whose clocks differ."""
        with self._errors():
            before = time.time()
            found = self._connection().execute("SELECT extract(epoch FROM clock_timestamp())")
            apart = abs(float(found.fetchone()[0]) - (before + time.time()) / 2)
        if apart > CLOCKS_APART:
            message = f"this machine's clock and that of the database are {apart:.0f} s apart"
            raise store_failed(message, "Synchronize them, for instance with NTP.")

    def close(self) -> None:
        """Closes every connection."""
        self._closed = True
        with self._lock:
            for connection in self._open:
                with suppress(self._psycopg.Error):
                    connection.close()


def _ours(statement: str) -> str:
    """A statement with psycopg's sign for parameters."""
    return statement.replace("?", "%s")
