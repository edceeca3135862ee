"""The results file of a run that can be killed at any moment and resumed.

Next to `scores.parquet` there is a folder `scores.parquet.parts` while the run is unfinished: the
rows in numbered parts, and a journal with the digests of the parts, the summary so far and the
cursor at which to resume. A part is written before the journal lists it; a part that the journal
does not list is written again. At the end the parts are joined, the file is put in place, and the
folder is removed. A run is not resumed if its journal or a part has changed since, and a folder
with anything else in it is left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from bylaw.batch.input.chunks import Cursor, Limits
from bylaw.batch.input.files import PARTS_SUFFIX, CorpusFile, fingerprint
from bylaw.batch.output.formats import format_for
from bylaw.batch.output.summary import Summary
from bylaw.batch.scoring.scorer import Scores
from bylaw.errors import Diagnostic, UsageError
from bylaw.procedure.procedure import Procedure
from bylaw.saved import fields
from bylaw.values import Json, read_json

try:
    import fcntl
except ImportError:  # not on every system; there, concurrent runs are not detected
    fcntl = None  # type: ignore[assignment]  # a module, where there is one

VERSION: Final = 1
SECONDS: Final = 5.0
"""The time between two parts."""
_OURS: Final = re.compile(r"lock|journal\.(json|draft)|whole|\d{6,}\.(part|draft)")
"""The names of the files in the folder of an unfinished run."""
MAX_ROWS: Final = 500_000
"""The largest number of rows that are held in memory."""


@dataclass(frozen=True, slots=True)
class RunState:
    """The progress of a run, as the journal has it."""

    cursor: Cursor = field(default_factory=Cursor)
    """The next chunk."""
    parts: tuple[str, ...] = ()
    """The digests of the parts that hold the rows up to there."""
    size: int = 0
    """The number of bytes of the corpus that are done."""
    summary: Mapping[str, Any] = field(default_factory=dict)


class ResultsFile:
    """A file for the scores of a corpus. An unfinished run is resumed."""

    def __init__(
        self,
        path: str,
        procedure: Procedure,
        corpus: Sequence[CorpusFile],
        limits: Limits,
        *,
        restart: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        """`restart` discards an unfinished run. Only one run can write a file at a time."""
        self._format: Final = format_for(path)
        self._path: Final = Path(path)
        self._procedure: Final = procedure
        self._seconds: Final = seconds
        self._key: Final = _key(procedure, corpus, limits)
        self._waiting: Final[list[Scores]] = []
        self.folder: Final = self._path.with_name(self._path.name + PARTS_SUFFIX)
        self._journal: Final = self.folder / "journal.json"
        try:
            self._before: Final = _identity(self._path)
            self._check_folder()
            self.folder.mkdir(exist_ok=True)
            self._lock: Final[BinaryIO] = (self.folder / "lock").open("wb")
            self._claim()
            self.state = RunState() if restart or self._key is None else self._saved_state()
            self._remove_uncounted()
        except OSError as error:
            raise self._unwritable(error) from None
        self._written = time.monotonic()

    # ── rows ──────────────────────────────────────────────────────────────────────────────

    def add(self, scores: Scores, cursor: Cursor, size: int, summary: Summary) -> None:
        """Adds the rows of a chunk; every few seconds the rows are written to a part."""
        self._waiting.append(scores)
        rows = sum(len(each) + len(each.unusable) for each in self._waiting)
        if rows >= MAX_ROWS or time.monotonic() - self._written >= self._seconds:
            self._write(cursor, size, summary)

    def finish(self, cursor: Cursor, size: int, summary: Summary) -> None:
        """Puts the file in place and removes the folder."""
        if self._waiting:
            self._write(cursor, size, summary)
        whole = self.folder / "whole"
        try:
            parts = [self._part(number) for number in range(len(self.state.parts))]
            self._format.join(parts, whole)
            with whole.open("rb") as file:
                os.fsync(file.fileno())
            if _identity(self._path) != self._before:
                message = f"{self._path} was written by somebody else during the run"
                help = "Move it away, and repeat the command: what was scored is kept."
                raise UsageError(Diagnostic("E403", message, help))
            whole.replace(self._path)
            self._journal.unlink(missing_ok=True)  # first: without it, the parts do not count
            self.close()
            shutil.rmtree(self.folder)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Releases the lock on the file."""
        self._lock.close()

    def _write(self, cursor: Cursor, size: int, summary: Summary) -> None:
        """Writes the rows to a part, then the journal. When this returns, both are on disk."""
        before, rows = self.state.parts, self._format.part(self._waiting, self._procedure)
        try:
            _write_file(self._part(len(before)), rows)
            self.state = RunState(cursor, (*before, _digest(rows)), size, summary.state())
            if self._key is not None:
                run = {
                    "key": self._key,
                    "cursor": list(cursor),
                    "parts": list(self.state.parts),
                    "size": size,
                    "summary": self.state.summary,
                }
                text = json.dumps(run)
                sealed = json.dumps({"digest": _digest(text.encode()), "run": text})
                _write_file(self._journal, sealed.encode())
        except OSError as error:
            raise self._unwritable(error) from None
        self._waiting.clear()
        self._written = time.monotonic()

    def _part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.part"

    # ── the unfinished run ────────────────────────────────────────────────────────────────

    def _claim(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self.close()
                message = f"another run is writing {self._path}"
                raise UsageError(Diagnostic("E403", message)) from None

    def _saved_state(self) -> RunState:
        try:
            digest, text = fields(read_json(self._journal.read_text()), "digest", "run")
            saved = json.loads(text)
            intact = digest == _digest(text.encode())
            if intact and saved["key"] != self._key:
                help = "Run its command again to finish it, or add --restart to discard it."
                raise self._not_resumed("has other rules, inputs or options", help)
            for number, part in enumerate(saved["parts"]):
                intact = intact and part == _digest(self._part(number).read_bytes())
        except FileNotFoundError:
            if not self._journal.exists():
                return RunState()
            intact = False
        except (ValueError, TypeError, KeyError, RecursionError):
            intact = False
        if not intact:
            raise self._not_resumed("is damaged", "Add --restart to discard it.")
        parts, cursor = tuple(saved["parts"]), Cursor(*saved["cursor"])
        return RunState(cursor, parts, saved["size"], saved["summary"])

    def _not_resumed(self, reason: str, help: str) -> UsageError:
        self.close()
        message = f"the unfinished run in {self.folder} {reason}"
        return UsageError(Diagnostic("E431", message, help))

    def _remove_uncounted(self) -> None:
        """Removes files that the journal does not list."""
        if not self.state.parts:
            self._journal.unlink(missing_ok=True)
        kept = {self._part(number) for number in range(len(self.state.parts))}
        kept |= {self._journal, self.folder / "lock"}
        for path in self.folder.iterdir():
            if path not in kept:
                path.unlink()

    def _check_folder(self) -> None:
        """Raises a UsageError if the folder is not one that a run left behind."""
        if not os.path.lexists(self.folder):
            return
        entries = list(self.folder.iterdir()) if not self.folder.is_symlink() else [self.folder]
        for entry in entries:
            if not stat.S_ISREG(entry.lstat().st_mode) or not _OURS.fullmatch(entry.name):
                message = f"{self.folder} holds files, and this command did not write them"
                help = "Move them away, or write to another file."
                raise UsageError(Diagnostic("E403", message, help))

    def _unwritable(self, error: OSError) -> UsageError:
        message = f"cannot write {self._path}: {error.strerror or error}"
        return UsageError(Diagnostic("E403", message))


def _key(
    procedure: Procedure, corpus: Sequence[CorpusFile], limits: Limits
) -> dict[str, Json] | None:
    """The inputs that a resumed run must share; None if the corpus cannot be read again."""
    files = fingerprint(corpus)
    if files is None:
        return None
    rules = json.dumps(procedure.to_dict(), sort_keys=True)
    return {
        "version": VERSION,
        "procedure": hashlib.sha256(rules.encode()).hexdigest(),
        "corpus": files,
        "chunk": limits.chunk,
        "max_line": limits.max_line,
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _identity(path: Path) -> tuple[int, ...] | None:
    """The identity of a file: another one if it was replaced or changed; None without a file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _write_file(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all. When this returns, it is on disk."""
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
