"""The audit log: one JSON line per decision, chained by hashes, on disk before the call may run.

Each line contains the hash of the line before it, and ends with its own. A line that was changed,
removed or inserted breaks the chain. Lines missing at the end can be detected only by someone who
noted a later hash elsewhere. An acknowledged line is on disk. A crash can leave a torn last line;
it was never acknowledged, and is cut off when the log is opened again.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.frozen import frozen
from bylaw.opening import open_regular
from bylaw.values import Json

try:
    import fcntl
except ImportError:  # not on every system; there, nothing prevents a second writer
    fcntl = None  # type: ignore[assignment]  # a module, where there is one

VERSION: Final = 1
FIRST: Final = "0" * 64
"""The hash that the first line names as that of its predecessor."""


class LogError(TraceError):
    """An audit log cannot be written, or was altered."""


@frozen
class LogCheck:
    """The result of checking a log."""

    entries: int
    last: str
    """The hash of the last entry."""
    good: int
    """The number of intact bytes."""
    torn: int = 0
    """The number of bytes of a torn last line after them."""
    problem: str | None = None
    """The first problem found, other than a torn last line."""


class AuditLog:
    """An open log, for one writer at a time. Entries appended together are synced together.

    Guards in several threads may share one. With `durable=False` lines are not synced to disk:
    they survive a crash of the process, but not one of the machine.
    """

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        self.path: Final = Path(path)
        self.durable: Final = durable
        self._lock: Final = threading.Lock()
        if self.path.exists() and not self.path.is_file():
            raise self._unwritable("it is not a regular file")
        try:
            self._file: BinaryIO = self.path.open("ab", buffering=0)
            found = self._claim()
            if found.torn:
                self._file.truncate(found.good)
            if durable:
                self._sync()
                _sync_folder(self.path.parent)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from None
        self.entries, self._last, self._size = found.entries, found.last, found.good

    def _claim(self) -> LogCheck:
        """Makes this the only writer, and checks the existing entries."""
        if fcntl is not None:
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise self._unwritable("another writer has it open") from None
        found = check(self.path)
        if found.problem is not None:
            self._file.close()
            help = "Keep it as evidence, and write to a new file."
            message = f"the log is not intact: {found.problem}"
            raise LogError(Diagnostic("E411", message, help, source=str(self.path)))
        return found

    def _unwritable(self, reason: str) -> LogError:
        message = f"the log cannot be written: {reason}"
        help = "No call is allowed without a record of it: make room, or choose another file."
        return LogError(Diagnostic("E412", message, help, source=str(self.path)))

    def append(self, contents: Sequence[dict[str, Json]]) -> None:
        """Writes entries. They are on disk when this returns; if it raises, none of them is."""
        with self._lock:
            self._append(contents)

    def _append(self, contents: Sequence[dict[str, Json]]) -> None:
        lines, entries, last = [], self.entries, self._last
        for content in contents:
            body = _encoded({"v": VERSION, "n": entries, **content, "prev": last})
            last = _hash(body)
            lines.append(body[:-1] + _ENDING + last.encode() + b'"}\n')
            entries += 1
        whole = b"".join(lines)
        try:
            written = 0
            while written < len(whole):
                written += self._file.write(whole[written:]) or 0
            if self.durable:
                self._sync()
            self.entries, self._last, self._size = entries, last, self._size + len(whole)
        except (OSError, ValueError) as error:  # ValueError: it was closed
            self._cut()
            raise self._unwritable(getattr(error, "strerror", None) or str(error)) from None
        except BaseException:  # Ctrl-C: what was not acknowledged must not stay
            self._cut()
            raise

    def _cut(self) -> None:
        """Removes a partial write. If that fails too, nothing more is written."""
        try:
            self._file.truncate(self._size)
        except (OSError, ValueError):
            self._file.close()  # an entry after half a line would look like tampering

    def _sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    """Makes the file's own directory entry durable, on systems that support it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


_ENDING: Final = b',"hash":"'
"""The text between an entry and its hash."""


_compact: Final = json.JSONEncoder(separators=(",", ":")).encode


def _encoded(body: dict[str, Json]) -> bytes:
    return _compact(body).encode()


def _hash(body: bytes) -> str:
    import hashlib  # slow to import, and most runs keep no log

    return hashlib.sha256(body).hexdigest()


def read_log(path: str | Path) -> Iterator[dict[str, Json]]:
    """The entries of a log, as far as they are intact."""
    with open_regular(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield json.loads(line)


def check(path: str | Path, *, noted: str | None = None) -> LogCheck:
    """Reads a log from its beginning, and checks that it is intact.

    `noted` is the hash of an entry that must be in it. Without it, missing entries at the end
    cannot be detected.
    """
    entries, last, good = 0, FIRST, 0
    torn = 0
    with open_regular(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                torn = len(line)
                break
            problem = _problem(line, entries, last)
            if problem is not None:
                return LogCheck(entries, last, good, problem=f"entry {entries + 1} {problem}")
            last = json.loads(line)["hash"]
            entries += 1
            good += len(line)
            noted = None if last == noted else noted
    problem = None if noted is None else "the entry that was noted is not in it"
    return LogCheck(entries, last, good, torn, problem)


def _problem(line: bytes, number: int, last: str) -> str | None:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(body, dict) or "hash" not in body:
        return "is not an entry"
    written, _, _ = line.rpartition(_ENDING)
    if body.get("prev") != last:
        return "does not follow the one before it"
    if body.get("n") != number:
        return "has another number than its place"
    whole = written + _ENDING + _hash(written + b"}").encode() + b'"}\n'
    return None if line == whole else "was changed"
