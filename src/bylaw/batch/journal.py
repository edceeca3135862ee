"""What a run has on disk while it goes on, so that it can be killed at any moment.

Beside `scores.parquet` there is a folder `scores.parquet.parts`: the rows in numbered parts, and a
journal that says how many of them count, what was counted so far, and where to go on. A part is
put in place before the journal names it; a part that the journal does not name is written again.
When all is done, the parts are joined, the file is put in its place, and the folder goes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from bylaw.batch.pieces import Place
from bylaw.batch.sources import PARTS
from bylaw.errors import Diagnostic, UsageError
from bylaw.values import Json

try:
    import fcntl
except ImportError:  # not on every system; then one run at a time is a promise, not a lock
    fcntl = None  # type: ignore[assignment]  # a module, where there is one

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    place: Place = field(default_factory=Place)
    """Where to go on."""
    parts: int = 0
    """How many parts hold the rows up to there."""
    size: int = 0
    """How many bytes of the corpus are done."""
    summary: Mapping[str, Any] = field(default_factory=dict)


class Journal:
    """The folder of a run, for one run at a time."""

    def __init__(self, out: Path, key: Mapping[str, Json] | None, *, restart: bool = False) -> None:
        """`key` tells this run from one with other rules or another corpus; without one, nothing
        can be gone on with.
        """
        self.out: Final = out
        self.folder: Final = out.with_name(out.name + PARTS)
        self._file: Final = self.folder / "journal.json"
        self._key: Final = None if key is None else {"version": VERSION, **key}
        try:
            self.folder.mkdir(exist_ok=True)
            self._lock: BinaryIO = (self.folder / "lock").open("wb")
            self._claim()
            self.progress = Progress() if restart or self._key is None else self._found()
            self._clean()
        except OSError as error:
            raise unwritable(out, error) from None

    def _claim(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                message = f"another run is writing {self.out}"
                raise UsageError(Diagnostic("E403", message)) from None

    def _found(self) -> Progress:
        """How far the run was that wrote the journal."""
        try:
            written = json.loads(self._file.read_bytes())
            key, place = written["key"], Place(*written["place"])
            found = Progress(place, written["parts"], written["size"], written["summary"])
        except FileNotFoundError:
            return Progress()
        except (ValueError, TypeError, KeyError):
            raise self._unusable("is damaged", "Add --restart to begin anew.") from None
        if key != self._key:
            help = "Run its command again to finish it, or add --restart to give it up."
            raise self._unusable("has other rules, inputs or options", help)
        return found

    def _unusable(self, reason: str, help: str) -> UsageError:
        self.close()
        message = f"the unfinished run in {self.folder} {reason}"
        return UsageError(Diagnostic("E431", message, help))

    def _clean(self) -> None:
        """Takes away what no journal names."""
        if not self.progress.parts:
            self._file.unlink(missing_ok=True)
        kept = {self._part(number) for number in range(self.progress.parts)}
        kept |= {self._file, self.folder / "lock"}
        for path in self.folder.iterdir():
            if path not in kept:
                path.unlink()

    def _part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.part"

    def add(self, rows: bytes, place: Place, size: int, summary: Mapping[str, Json]) -> None:
        """Puts rows on disk, and what goes with them. When this returns they count."""
        parts = self.progress.parts
        try:
            _put(self._part(parts), rows)
            self.progress = Progress(place, parts + 1, size, summary)
            if self._key is not None:
                written = {
                    "key": self._key,
                    "place": list(place),
                    "parts": parts + 1,
                    "size": size,
                    "summary": summary,
                }
                _put(self._file, json.dumps(written).encode())
        except OSError as error:
            raise unwritable(self.out, error) from None

    def finish(self, join: Callable[[list[Path], Path], None]) -> None:
        """Puts the whole file in place, and takes the folder away."""
        whole = self.folder / "whole"
        try:
            join([self._part(number) for number in range(self.progress.parts)], whole)
            with whole.open("rb") as file:
                os.fsync(file.fileno())
            whole.replace(self.out)
            self._file.unlink(missing_ok=True)  # first: without it the rest is only litter
            self.close()
            shutil.rmtree(self.folder)
        except OSError as error:
            raise unwritable(self.out, error) from None

    def close(self) -> None:
        """Lets others write."""
        self._lock.close()


def unwritable(path: Path, error: OSError) -> UsageError:
    """Says that a file cannot be written."""
    message = f"cannot write {path}: {error.strerror or error}"
    return UsageError(Diagnostic("E403", message))


def _put(path: Path, content: bytes) -> None:
    """A file with this content, or none: on disk when this returns."""
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
