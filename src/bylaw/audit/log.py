"""Writing a log. An entry is on disk before the call that it is about may run.

An entry is queued, then written to the file, then synced to disk. Guards in several threads or
tasks may share a log. Each queues its entries and waits until they are on disk; see `shared_sync`.
Writing does not wait for a sync that is under way.

A log that cannot be relied on any more refuses every further entry, and with it the gate refuses
every call. So it is after a failed write, after an exception at any line of a write (a signal
handler may raise one), in a forked process, and when the file was replaced or changed by somebody
else. What was written and not acknowledged is cut off if possible. Otherwise it stays: an entry may
be of a decision that nobody acted on, and never the other way round. To continue, the log is opened
again.

Opening checks all entries. A torn tail is first written to a file of its own beside the log, then
cut off; the entry `open` names that file. If anything else is wrong, nothing is changed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from bylaw.audit.check import LogCheck, check_file
from bylaw.audit.entry import FORMAT, MAX_ENTRY, OWN_FIELDS, body_of, ending, hash_of
from bylaw.audit.log_file import ForeignChange, LogFile, set_aside, sync_folder
from bylaw.audit.reader import LogError, LogReader
from bylaw.audit.seal import SEAL_DIGITS, SealingKey, sealing_key
from bylaw.audit.shared_sync import SharedSync
from bylaw.errors import Diagnostic
from bylaw.values import Json
from bylaw.version import __version__

_INTERRUPTED: Final = "an earlier write to it was interrupted"


class _Queued(NamedTuple):
    """The entries so far, and the lines that no thread has begun to write."""

    entries: int
    head: str
    lines: tuple[bytes, ...]


class _Extent(NamedTuple):
    """So many entries from the first, and their length in bytes."""

    entries: int
    size: int


class AuditLog:
    """An open log, for one writer at a time. `append` returns when the entries are on disk.

    Guards in several threads or tasks may share one, and share the time that the disk takes. With
    `durable=False` entries are not synced to disk: they survive a crash of the process, but not
    one of the machine. `key` seals every entry: at least 16 secret bytes for HMAC-SHA256, or an
    Ed25519 private key as PEM. `set_aside` is the file with the torn tail that was found, if any.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durable: bool = True,
        key: bytes | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path: Final = Path(path)
        self.durable: Final = durable
        self._key: Final[SealingKey | None] = None if key is None else sealing_key(key)
        self._clock: Final = clock
        self._queue_lock: Final = threading.RLock()
        self._file_lock: Final = threading.RLock()
        self._queuing = self._writing = False
        """Is it under way, or was it interrupted?"""
        self._poison: str | None = None
        """The reason why nothing more is written, if there is one."""
        self._shared: Final = SharedSync()
        self.set_aside: Path | None = None
        try:
            self._file: Final = LogFile(self.path)
        except OSError as error:
            raise self._unwritable(_reason(error)) from None
        try:
            self._open()
        except OSError as error:
            self._file.close()
            raise self._unwritable(_reason(error)) from None
        except BaseException:
            self._file.close()
            raise

    def _checked(self) -> tuple[LogCheck, bytes]:
        """Checks the entries that the file has already. Returns the torn tail, too."""
        with self._file.reading() as reading:
            reader = LogReader(reading, self.path, self._key)
            found = check_file(reader)
        if found.problem is not None:
            help = "Keep it as evidence, and write to a new file."
            message = f"the log is not intact: {found.problem}"
            raise LogError(Diagnostic("E411", message, help, source=str(self.path)))
        if self._key is None and found.key is not None:
            raise self._unwritable("its entries are sealed with a key, and none was given")
        return found, reader.tail

    def _without(self, tail: bytes, found: LogCheck) -> dict[str, Json]:
        """Sets the torn tail aside, and then removes it; its description."""
        self.set_aside = set_aside(tail, self.path, found.entries)
        self._file.cut(found.good)
        return {"torn": {"file": self.set_aside.name, "bytes": len(tail), "sha256": hash_of(tail)}}

    def _open(self) -> None:
        """Begins a session of writing."""
        found, tail = self._checked()
        torn = self._without(tail, found) if tail else {}
        self._queued = _Queued(found.entries, found.head, ())
        self._written = self._recorded = self._synced = _Extent(found.entries, found.good)
        by = ("none", None) if self._key is None else (self._key.method, self._key.id)
        clock = self._clock if hasattr(self._clock, "__qualname__") else type(self._clock)
        self.append(
            [
                {
                    "run": None,
                    "kind": "open",
                    "format": FORMAT,
                    "version": __version__,
                    "clock": f"{clock.__module__}.{clock.__qualname__}",
                    "sealed_by": by[0],
                    "key": by[1],
                    "process": os.getpid(),
                    "session": os.urandom(16).hex(),  # so that no two logs begin alike
                    **torn,
                }
            ]
        )
        if self.durable:
            sync_folder(self.path.parent)

    @property
    def entries(self) -> int:
        """The number of entries in the file."""
        return self._written.entries

    @property
    def head(self) -> str:
        """The hash of the latest entry."""
        return self._queued.head

    # ── appending ────────────────────────────────────────────────────────────────────────

    def append(self, contents: Sequence[Mapping[str, Json]], *, sync: bool = True) -> None:
        """Adds entries. They are on disk when this returns; if it raises, nobody may rely on them.

        With `sync=False` they are in the file when this returns, and on disk with the next that
        are synced.
        """
        number = self.queue(contents)
        if sync:
            self.commit(number)
        else:
            self._record(number)

    def queue(self, contents: Sequence[Mapping[str, Json]]) -> int:
        """Queues entries, for `commit`; the number of entries then."""
        self._require()
        with self._queue_lock:
            if self._queuing:
                raise self._unwritable(_INTERRUPTED)
            return self._queue(contents)

    def commit(self, number: int) -> None:
        """Returns once the first `number` entries are on disk. Threads share a sync."""
        if self.durable:
            self._shared.wait(self, number)
        else:
            self._record(number)

    async def commit_async(self, number: int) -> None:
        """As `commit`, without blocking the event loop. Tasks share a sync."""
        if self.durable:
            await self._shared.wait_async(self, number)
        else:
            self._record(number)

    def _require(self) -> None:
        """Raises an error if nothing may be written. Needs no lock, which a fork may have kept."""
        if self._poison is not None:
            raise self._unwritable(self._poison)
        if not self._file.is_own:
            raise self._unwritable("another process opened it; open one log in each process")

    def _queue(self, contents: Sequence[Mapping[str, Json]]) -> int:
        """Chains entries and queues them; the number of entries then."""
        now = self._clock()
        self._queuing = True
        entries, head, lines = self._queued
        fresh: list[bytes] = []
        try:
            for content in contents:
                line, head = self._line({"time": now, **content}, entries, head)
                entries += 1
                fresh.append(line)
        except BaseException:
            self._queuing = False  # nothing was queued
            raise
        self._queued = _Queued(entries, head, (*lines, *fresh))
        self._queuing = False
        return entries

    def _line(self, content: Mapping[str, Json], number: int, prev: str) -> tuple[bytes, str]:
        if OWN_FIELDS & content.keys():
            raise self._unwritable("an entry has a field that the log writes itself")
        digits = 0 if self._key is None else SEAL_DIGITS[self._key.method]
        try:
            body = body_of(content, number, prev, digits)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unwritable(f"an entry is not JSON ({error})") from None
        if len(body) > MAX_ENTRY // 2:
            raise self._unwritable("an entry is too long")
        hash = hash_of(body)
        return body + ending(hash, "" if self._key is None else self._key.seal(hash)), hash

    def is_synced(self, number: int) -> bool:
        """Are so many entries on disk? Raises an error if they never will be."""
        if self._synced.entries >= number:
            return True
        self._require()
        return False

    def sync(self) -> None:
        """Writes everything that is queued, and syncs it."""
        try:
            extent = self._write()
            self._file.sync()
            self._synced = extent
        except BaseException as error:
            with self._file_lock:
                raise self._given_up(error, max(self._recorded, self._synced)) from None

    def _record(self, number: int) -> None:
        """Returns once so many entries are in the file."""
        with self._file_lock:
            if self._written.entries < number:
                self._write()
            self._recorded = self._written

    def _write(self) -> _Extent:
        """Writes everything that is queued; what the file holds then."""
        with self._file_lock:
            self._require()
            if self._writing:
                raise self._unwritable(_INTERRUPTED)
            self._writing = True
            try:
                with self._queue_lock:
                    if self._queuing:
                        raise InterruptedError(0, _INTERRUPTED)
                    entries, head, lines = self._queued
                    self._queued = _Queued(entries, head, ())
                data = b"".join(lines)
                self._file.write(data, self._written.size)
                self._written = _Extent(entries, self._written.size + len(data))
            except BaseException as error:
                # Not further: another thread may be about to acknowledge what is written.
                raise self._given_up(error, self._written) from None
            self._writing = False
            return self._written

    def _given_up(self, error: BaseException, kept: _Extent) -> BaseException:
        """Nothing more is written, and what follows `kept` is removed if possible.

        Returns the error to raise. An error that is not the system's comes from a signal handler.
        """
        if isinstance(error, LogError):  # already given up
            return error
        self._poison = _reason(error) if isinstance(error, OSError) else _INTERRUPTED
        if not isinstance(error, ForeignChange):
            with suppress(OSError):
                self._file.cut(kept.size)
        return self._unwritable(self._poison) if isinstance(error, OSError) else error

    def _unwritable(self, reason: str) -> LogError:
        message = f"the log cannot be written: {reason}"
        help = "No call is allowed without a record of it: make room, or choose another file."
        return LogError(Diagnostic("E412", message, help, source=str(self.path)))

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Ends the session with an entry of its own, and closes the file."""
        if self._poison is None and self._file.is_own:
            with suppress(LogError):  # then the entry is missing, which tells that it failed
                self.append([{"run": None, "kind": "close"}])
        self._poison = self._poison or "it is closed"
        self._shared.close()
        self._file.close()

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
