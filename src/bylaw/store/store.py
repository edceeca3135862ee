"""A store: append-only streams, in which one writer at a time can be first.

An entry is appended with the number that it must get. If another writer was first, nothing is
appended, and the loser reads what the other wrote and decides again. So two writers never both
succeed with decisions that do not know of each other, whatever their clocks say, and however long
one of them was cut off.

    append([Append("a", 5, …)])          another replica has written number 5: [False]
    read("a", after=4)                   its entry

Beside its stream a run has a snapshot, from which it can be resumed without reading all entries,
and a row for lists of runs. Both are written with an entry, or not at all.

A run that has finished can be deleted, as a whole. No stream is ever deleted in part: the numbers
of its entries have no gaps, and each entry is sealed with the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bylaw.errors import BylawError, Diagnostic
from bylaw.frozen import frozen


class StoreError(BylawError):
    """A store cannot be used: nothing that was to be appended counts as appended."""


def store_failed(message: str, help: str | None = None) -> StoreError:
    """The error for a store that cannot be opened, read or written."""
    return StoreError(Diagnostic("E450", message, help))


@frozen
class RunRow:
    """One run in a list of runs."""

    run: str
    principal: str
    """The name of whoever opened the run."""
    updated: float
    """The time of the latest entry, in seconds since 1970."""
    closed: bool
    """Has the run finished?"""
    number: int
    """The number of the entry that the row was written with."""
    owner: str
    """The replica that wrote it, and that probably has the run in memory."""
    about: str
    """A summary of the run, as JSON."""


@frozen
class Append:
    """Entries that are appended together or not at all, each with its stream and its number."""

    entries: tuple[tuple[str, int, str], ...]
    row: RunRow | None = None
    snapshots: tuple[tuple[str, int, str], ...] = ()
    """Each a stream, the number of the latest entry in the snapshot, and the snapshot."""


class GateStore(Protocol):
    """Streams, snapshots and rows. Any thread may use it; every method may raise a StoreError."""

    def append(self, appends: Sequence[Append]) -> list[bool]:
        """Commits each of these whose numbers are the next, all in one transaction.

        False for one whose numbers are taken, or whose stream was deleted. Each stream occurs in
        at most one of them. If a StoreError is raised, the transaction may or may not have been
        committed.
        """
        ...

    def read(self, stream: str, after: int = -1) -> list[str]:
        """The entries of a stream after this number, in order. The first has the number 0."""
        ...

    def snapshot(self, stream: str) -> tuple[int, str] | None:
        """The latest snapshot of a stream, and the number of the latest entry in it."""
        ...

    def row(self, run: str) -> RunRow | None:
        """The row of a run."""
        ...

    def rows(self, *, since: float = 0.0, limit: int = 1000) -> list[RunRow]:
        """The rows that were updated since this time: runs that are not closed first, then new."""
        ...

    def delete_finished(self, before: float, limit: int) -> int:
        """Deletes runs that finished before this time: entries, snapshots and rows.

        At most `limit` of them, in one transaction; returns their number.
        """
        ...

    def check(self) -> None:
        """Raises a StoreError if the store cannot be used now."""
        ...

    def close(self) -> None:
        """Closes the store."""
        ...


def stream_of(run: str) -> str:
    """The name of a run's stream."""
    return f"run/{run}"


def check_disjoint(appends: Sequence[Append]) -> None:
    """Each stream may occur once in a transaction.

    A second entry would be decided on top of the first, and could succeed although the first did
    not.
    """
    streams = [stream for each in appends for stream, _, _ in each.entries]
    if len(streams) != len(set(streams)):
        raise ValueError("a stream occurs twice in one transaction")
