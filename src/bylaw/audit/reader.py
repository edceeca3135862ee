"""Reads a log from its beginning, entry by entry, as far as it is intact.

Memory holds one entry at a time. `LogReader.entries` yields the intact entries; when it ends, the
reader knows what follows them: nothing, a torn tail, or something that no writer of logs wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from bylaw.audit.entry import FIRST, FORMAT, MAX_ENTRY, OPENING, LogEntry, NotAnEntry, read_entry
from bylaw.audit.seal import SEAL_DIGITS, CheckingKey, SealMethod
from bylaw.audit.torn import is_torn
from bylaw.errors import Diagnostic, TraceError, shown
from bylaw.opening import open_regular
from bylaw.values import Json


class LogError(TraceError):
    """An audit log cannot be written, or was altered."""


def not_a_log(path: str | Path) -> LogError:
    """The error for a file that no log begins with."""
    help = "Give the file that a guard's AuditLog wrote. Nothing in this file was changed."
    return LogError(Diagnostic("E419", "the file is not an audit log", help, source=str(path)))


class LogReader:
    """One pass through a log."""

    def __init__(self, file: BinaryIO, name: str | Path, key: CheckingKey | None = None) -> None:
        self._file: Final = file
        self._name: Final = name
        self._key: Final = key
        self.number = 0
        """The number of intact entries so far."""
        self.head = FIRST
        """The hash of the latest one."""
        self.first = FIRST
        """The hash of the first one."""
        self.good = 0
        """The number of intact bytes so far."""
        self.method: SealMethod | None = None
        """The kind of seal on the entries; None before the first."""
        self.key_id: str | None = None
        """The key that they are sealed with, if any."""
        self.tail = b""
        """The bytes of a torn tail."""
        self.problem: str | None = None
        """The fault in what follows the intact entries."""

    def entries(self) -> Iterator[LogEntry]:
        """The intact entries. A LogError is raised if the file is not a log at all."""
        while line := self._file.readline(MAX_ENTRY + 1):
            if not self.number and not self._may_begin(line):
                raise not_a_log(self._name)
            if not line.endswith(b"\n") or b"\0" in line:
                self._end(line)
                return
            try:
                entry = read_entry(line, self.number, self.head)
                self._check_session(entry)
                self._check_seal(entry)
            except NotAnEntry as error:
                self.problem = str(error)
                return
            self.number, self.head, self.good = self.number + 1, entry.hash, self.good + len(line)
            self.first = entry.hash if self.number == 1 else self.first
            yield entry

    def _may_begin(self, line: bytes) -> bool:
        return line.startswith(OPENING) or OPENING.startswith(line.rstrip(b"\0"))

    def _end(self, line: bytes) -> None:
        """Tells a torn tail from other bytes."""
        tail = line + self._file.read(MAX_ENTRY)
        digits = None if self.method is None else SEAL_DIGITS[self.method]
        if len(tail) <= MAX_ENTRY and is_torn(tail, self.number, self.head, digits, self.good):
            self.tail = tail
        else:
            self.problem = f"entry {self.number} is neither complete nor the beginning of an entry"

    def _check_session(self, entry: LogEntry) -> None:
        """A log begins with `open`; each `open` states the same format and key."""
        if entry.kind != "open":
            if entry.number == 0:
                raise NotAnEntry("entry 0 does not open a log")
            return
        content = entry.content
        if content.get("format") != FORMAT:
            raise NotAnEntry(f"it has format {shown(content.get('format'))}, not {FORMAT}")
        stated = content.get("sealed_by"), content.get("key")
        if entry.number == 0:
            self.method, self.key_id = _method(stated[0]), _text(stated[1])
        if stated != (self.method, self.key_id):
            raise NotAnEntry(f"entry {entry.number} changes the key of the log")

    def _check_seal(self, entry: LogEntry) -> None:
        assert self.method is not None, "the first entry states it"
        if len(entry.seal) != SEAL_DIGITS[self.method]:
            raise NotAnEntry(f"the seal of entry {entry.number} is missing or of another kind")
        if self._key is None:
            return
        if self.method == "none":
            raise NotAnEntry("no entry is sealed, but there is a key to check seals with")
        if self._key.method != self.method:
            raise NotAnEntry(
                f"it is sealed by {self.method}, and the key is for {self._key.method}"
            )
        if not self._key.fits(entry.hash, entry.seal):
            raise NotAnEntry(f"the seal of entry {entry.number} was not made with this key")


def _method(stated: Json) -> SealMethod:
    for method in SEAL_DIGITS:
        if stated == method:
            return method
    raise NotAnEntry(f"it is sealed by an unknown method, {shown(stated)}")


def _text(stated: Json) -> str | None:
    if stated is None or isinstance(stated, str):
        return stated
    raise NotAnEntry("entry 0 names no key")


def read_log(path: str | Path) -> Iterator[LogEntry]:
    """The entries of a log, as far as they are intact."""
    with open_regular(path) as file:
        yield from LogReader(file, path).entries()
