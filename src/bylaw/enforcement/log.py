"""The audit log: one JSON line per decision, chained by hashes, on disk before anybody acts on it.

Each line names the hash of the line before it, and ends with its own. A line that was changed,
removed or put in between breaks the chain. What was acknowledged is on disk: a crash can only
leave a torn last line, which was acknowledged to nobody, and which is cut off when the log is
opened again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.values import Json

VERSION: Final = 1
FIRST: Final = "0" * 64
"""What the first line names in place of a line before it."""


class LogError(TraceError):
    """A log cannot be written, or is not what it was."""


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What a log holds."""

    entries: int
    last: str
    """The hash of the last entry."""
    good: int
    """How many bytes are good."""
    torn: int = 0
    """How many bytes behind them are a torn last line."""
    problem: str | None = None
    """What is wrong with it, beyond a torn last line."""


class AuditLog:
    """An open log. Several entries are written, and reach the disk, together."""

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        self.path: Final = Path(path)
        self.durable: Final = durable
        found = check(self.path) if self.path.exists() else LogCheck(0, FIRST, 0)
        if found.problem is not None:
            help = "Keep it as evidence, and write to a new file."
            message = f"the log is not intact: {found.problem}"
            raise LogError(Diagnostic("E411", message, help, source=str(self.path)))
        self.entries, self._last = found.entries, found.last
        self._file: BinaryIO = self.path.open("ab", buffering=0)
        if found.torn:
            self._file.truncate(found.good)
        if durable:
            self._sync()
            _sync_folder(self.path.parent)

    def append(self, contents: Sequence[dict[str, Json]]) -> None:
        """Writes entries. When this returns they are on disk; if it raises, none of them is."""
        lines, entries, last = [], self.entries, self._last
        for content in contents:
            body = _encoded({"v": VERSION, "n": entries, **content, "prev": last})
            last = _hash(body)
            lines.append(body[:-1] + _ENDING + last.encode() + b'"}\n')
            entries += 1
        whole = b"".join(lines)
        size = self._file.tell()
        try:
            written = 0
            while written < len(whole):
                written += self._file.write(whole[written:]) or 0
            if self.durable:
                self._sync()
        except OSError as error:
            self._cut(size)
            message = f"the log cannot be written: {error.strerror or error}"
            help = "No call is allowed without a record of it: make room, or choose another file."
            raise LogError(Diagnostic("E412", message, help, source=str(self.path))) from None
        self.entries, self._last = entries, last

    def _cut(self, size: int) -> None:
        """Takes back what was written in part. If that fails too, reopening will do it."""
        try:
            self._file.truncate(size)
            self._file.seek(size)
        except OSError:
            pass

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
    """Makes sure that the file itself is found after a crash; not every system can."""
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
"""What stands between an entry and its own hash, which is that of the bytes before it."""


def _encoded(body: dict[str, Json]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def read_log(path: str | Path) -> Iterator[dict[str, Json]]:
    """The entries of a log, as far as they are intact."""
    with Path(path).open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield json.loads(line)


def check(path: str | Path) -> LogCheck:
    """Reads a log from its beginning, and says whether it is intact."""
    entries, last, good = 0, FIRST, 0
    with Path(path).open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return LogCheck(entries, last, good, torn=len(line))
            problem = _problem(line, entries, last)
            if problem is not None:
                return LogCheck(entries, last, good, problem=f"entry {entries + 1} {problem}")
            last = json.loads(line)["hash"]
            entries += 1
            good += len(line)
    return LogCheck(entries, last, good)


def _problem(line: bytes, number: int, last: str) -> str | None:
    try:
        body = json.loads(line)
    except ValueError:
        return "is not JSON"
    if not isinstance(body, dict) or "hash" not in body:
        return "is not an entry"
    written, _, _ = line.rpartition(_ENDING)
    if body.get("prev") != last:
        return "does not follow the one before it"
    if body.get("n") != number:
        return "has another number than its place"
    return None if _hash(written + b"}") == body["hash"] else "was changed"
