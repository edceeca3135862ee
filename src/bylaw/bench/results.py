"""The results file: one JSON line per finished run.

A run is on record once its line is complete. A process that is killed leaves at most one torn line
at the end; it is removed when the file is reopened, and its run is made again.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from bylaw.errors import Diagnostic, TraceError
from bylaw.opening import open_regular
from bylaw.saved import table, text
from bylaw.values import Json, read_json

try:
    import fcntl
except ImportError:  # not on every system; there, the user must avoid a second writer
    fcntl = None  # type: ignore[assignment]  # a module where it exists

VERSION: Final = 1
"""The version of the format."""
RunRecord: TypeAlias = Mapping[str, Any]
"""One line of a results file."""
_STARTS: Final = (b'{"bylaw": 1, "key": "', b'{"bylaw": 1, "study": "')
"""The beginning of a line. A last line without a line break that begins otherwise is kept."""


class Results:
    """A results file opened for appending, by one writer at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self._lock: Final = threading.Lock()
        if self.path.exists() and not self.path.is_file():
            raise self._unusable("is not a regular file")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: Final = self.path.open("ab", buffering=0)
        except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise self._unusable(f"cannot be written: {reason}") from None
        self.done: Final[dict[str, Json]] = {}
        """The runs on record, and the conditions of each."""
        try:
            self._claim()
            for result in read_results(self.path):
                self.done[result["key"]] = result["conditions"]
            self._cut()
        except BaseException:
            self._file.close()
            raise

    def _unusable(self, message: str, help: str | None = None) -> TraceError:
        return TraceError(Diagnostic("E421", message, help, source=str(self.path)))

    def _cut(self) -> None:
        """Removes a torn last line. A file with any other last line is left as it is."""
        whole = _whole_lines(self.path)
        with self.path.open("rb") as file:
            file.seek(whole)
            torn = file.read(max(map(len, _STARTS)))
        if not any(start.startswith(torn) or torn.startswith(start) for start in _STARTS):
            help = "Results are written by `bylaw bench run`: choose another file."
            raise self._unusable("the last line is not the result of a run", help)
        self._file.truncate(whole)

    def _claim(self) -> None:
        """Locks the file."""
        if fcntl is not None:
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                help = "Wait for the other process, or write to another file."
                raise self._unusable("another process is writing to these results", help) from None

    def has(self, key: str, conditions: Json) -> bool:
        """True if the run is on record. If its conditions differ, that is an error."""
        if key not in self.done:
            return False
        if self.done[key] != conditions:
            message = f"the run '{key}' is on record under other conditions"
            help = "Write to another file, or use the options that this file was started with."
            raise self._unusable(message, help)
        return True

    def append(self, results: Sequence[RunRecord]) -> None:
        """Records runs; they are on disk when this returns."""
        if not results:
            return
        lines = "".join(json.dumps(result, ensure_ascii=False) + "\n" for result in results)
        with self._lock:
            written, whole = 0, lines.encode()
            try:
                while written < len(whole):
                    written += self._file.write(whole[written:]) or 0
                os.fsync(self._file.fileno())
            except OSError as error:
                help = "Runs on record are kept: free some space, and repeat the command."
                message = f"cannot be written: {error.strerror or error}"
                raise self._unusable(message, help) from None
            self.done.update({result["key"]: result["conditions"] for result in results})

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _whole_lines(path: Path) -> int:
    """The number of bytes in complete lines."""
    size = path.stat().st_size
    with open_regular(path) as file:
        while size > 0:  # backwards in blocks, because files grow large
            start = max(0, size - 65_536)
            file.seek(start)
            end = file.read(size - start).rfind(b"\n")
            if end >= 0:
                return start + end + 1
            size = start
    return 0


def read_results(*paths: str | Path) -> Iterator[dict[str, Any]]:
    """The runs in some files. A torn last line is skipped; any other damage is an error."""
    for path in paths:
        try:
            with open_regular(path) as file:
                yield from _read(path, file)
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            raise TraceError(Diagnostic("E421", message, source=str(path))) from None


def _read(path: str | Path, lines: Any) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        try:
            result = table(read_json(line.decode()))
            found, conditions = result["bylaw"], table(result["conditions"])
            text(result["key"]), text(result["model"]), table(conditions.get("about", {}))
        except (ValueError, KeyError):
            help = "Results are written by `bylaw bench run`."
            message = f"line {number} is not the result of a run"
            raise TraceError(Diagnostic("E421", message, help, source=str(path))) from None
        if found != VERSION:
            message = f"line {number} has format {found}; this version reads format {VERSION}"
            raise TraceError(Diagnostic("E421", message, source=str(path)))
        yield result
