"""Writing a log. An entry is on disk before the call that it is about may run.

Guards in several threads may share a log. Each queues its entries and then waits until they are on
disk. The first to come writes and syncs everything that is queued; meanwhile the others queue, and
the next of them syncs for all: concurrent runs share the time that the disk takes.

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
from bylaw.errors import Diagnostic
from bylaw.values import Json
from bylaw.version import __version__

_PATIENCE: Final = 0.2
"""The seconds after which a thread does not rely on another to write for it."""
_INTERRUPTED: Final = "an earlier write to it was interrupted"


class _Queued(NamedTuple):
    """The entries so far, and the lines that no thread has begun to write."""

    entries: int
    head: str
    lines: tuple[bytes, ...]


class _Done(NamedTuple):
    """The numbers of entries in the file, and of those that are on disk."""

    written: int
    synced: int
    size: int
    """The length of the file."""


class AuditLog:
    """An open log, for one writer at a time. `append` returns when the entries are on disk.

    Guards in several threads may share one, and then share the time that the disk takes. With
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
        self._turn = threading.Event()
        """Is set when the write that is under way has ended."""
        self._turn.set()
        self._queuing = self._writing = False
        """Is it under way, or was it interrupted?"""
        self._poison: str | None = None
        """The reason why nothing more is written, if there is one."""
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
        self._done = _Done(found.entries, found.entries, found.good)
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
        return self._done.written

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
        self._require()
        with self._queue_lock:
            if self._queuing:
                raise self._unwritable(_INTERRUPTED)
            number = self._queue(contents)
        self._commit(number, syncs=sync and self.durable)

    def _commit(self, number: int, *, syncs: bool) -> None:
        """Returns once so many entries are in the file, or on disk."""
        while not self._has(number, syncs=syncs):
            self._require()
            turn = self._turn
            if turn.is_set():
                with self._queue_lock:
                    if self._turn is not turn:
                        continue  # another thread writes next
                    turn = self._turn = threading.Event()
            elif turn.wait(_PATIENCE):
                continue
            # It is this thread's turn; or the thread whose turn it is takes long, or is gone.
            try:
                with self._file_lock:
                    if not self._has(number, syncs=syncs):
                        self._require()
                        self._write(syncs=syncs)
            finally:
                turn.set()

    def _has(self, number: int, *, syncs: bool) -> bool:
        return (self._done.synced if syncs else self._done.written) >= number

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

    def _write(self, *, syncs: bool) -> None:
        """Writes everything that is queued."""
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
            size = self._done.size + len(data)
            self._file.write(data, self._done.size)
            if syncs:
                self._file.sync()
            self._file.check_place(size)
            self._done = _Done(entries, entries if syncs else self._done.synced, size)
        except OSError as error:
            self._poison = _reason(error)
            if not isinstance(error, ForeignChange):
                self._roll_back()
            self._writing = False
            raise self._unwritable(self._poison) from None
        except BaseException:  # raised by a signal handler
            self._poison = _INTERRUPTED
            self._roll_back()
            raise
        self._writing = False

    def _roll_back(self) -> None:
        """Removes what was not acknowledged, if that is possible."""
        with suppress(OSError):
            self._file.cut(self._done.size)

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
        self._file.close()

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
