"""The tables of a store, and what is asked of them: the same in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bylaw.store.store import RunRow, StoreError, store_failed

VERSION: Final = 1
"""The version of the tables, and of the entries in them."""

_ENTRIES: Final = "stream TEXT NOT NULL, number BIGINT NOT NULL, body TEXT NOT NULL"
_RUNS: Final = (
    "run TEXT PRIMARY KEY, principal TEXT NOT NULL, updated DOUBLE PRECISION NOT NULL, "
    "closed INTEGER NOT NULL, number BIGINT NOT NULL, owner TEXT NOT NULL, about TEXT NOT NULL"
)
TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS bylaw_store (version INTEGER PRIMARY KEY)",
    f"CREATE TABLE IF NOT EXISTS bylaw_entries ({_ENTRIES}, PRIMARY KEY (stream, number))",
    f"CREATE TABLE IF NOT EXISTS bylaw_snapshots ({_ENTRIES}, PRIMARY KEY (stream))",
    f"CREATE TABLE IF NOT EXISTS bylaw_runs ({_RUNS})",
    "CREATE INDEX IF NOT EXISTS bylaw_runs_updated ON bylaw_runs (updated)",
    "CREATE INDEX IF NOT EXISTS bylaw_runs_listed ON bylaw_runs (closed, updated DESC)",
)

# Parameters are written `?`, as SQLite has it.
ADD_VERSION: Final = f"INSERT INTO bylaw_store VALUES ({VERSION}) ON CONFLICT DO NOTHING"
FIND_VERSIONS: Final = "SELECT version FROM bylaw_store"
FIND_ENTRIES: Final = (
    "SELECT number, body FROM bylaw_entries WHERE stream = ? AND number > ? ORDER BY number"
)
FIND_SNAPSHOT: Final = "SELECT number, body FROM bylaw_snapshots WHERE stream = ?"
_COLUMNS: Final = "run, principal, updated, closed, number, owner, about"
FIND_ROW: Final = f"SELECT {_COLUMNS} FROM bylaw_runs WHERE run = ?"
FIND_ROWS: Final = (
    f"SELECT {_COLUMNS} FROM bylaw_runs WHERE updated >= ? ORDER BY closed, updated DESC LIMIT ?"
)
PUT_SNAPSHOT: Final = (
    "INSERT INTO bylaw_snapshots VALUES (?, ?, ?) ON CONFLICT (stream) "
    "DO UPDATE SET number = excluded.number, body = excluded.body"
)
PUT_ROW: Final = (
    "INSERT INTO bylaw_runs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET "
    "updated = excluded.updated, closed = excluded.closed, number = excluded.number, "
    "owner = excluded.owner, about = excluded.about"
)

_FINISHED: Final = (
    "SELECT run FROM bylaw_runs WHERE closed = 1 AND updated < ? ORDER BY updated LIMIT ?"
)
DELETE_ROWS: Final = f"DELETE FROM bylaw_runs WHERE run IN ({_FINISHED}) RETURNING run"
DELETE_STREAMS: Final = tuple(
    f"DELETE FROM {table} WHERE stream = ?" for table in ("bylaw_entries", "bylaw_snapshots")
)


def check_versions(found: Sequence[Any]) -> None:
    """A store that another version of Bylaw wrote is left alone."""
    others = sorted(version for (version,) in found if version != VERSION)
    if others:
        message = f"the store has version {others[-1]}, and this is version {VERSION}"
        raise store_failed(message, "Use the version of Bylaw that wrote it, or a new store.")


def entries_of(rows: Sequence[Any], stream: str, after: int) -> list[str]:
    """The bodies of consecutive entries. A gap is an error: what was in it is not known."""
    numbers = [number for number, _ in rows]
    if numbers != list(range(after + 1, after + 1 + len(numbers))):
        raise incomplete(stream)
    return [body for _, body in rows]


def incomplete(stream: str) -> StoreError:
    """The error for a stream with a gap."""
    return store_failed(f"entries of '{stream}' are missing from the store", "Restore a backup.")


def row_of(columns: Sequence[Any]) -> RunRow:
    """A run's row, from its columns."""
    run, principal, updated, closed, number, owner, about = columns
    return RunRow(run, principal, updated, bool(closed), number, owner, about)


def columns_of(row: RunRow) -> tuple[Any, ...]:
    """The columns of a run's row."""
    start = row.run, row.principal, row.updated, int(row.closed), row.number
    return (*start, row.owner, row.about)
