"""Writing what a command makes; if that cannot be, it is told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bylaw.errors import Diagnostic, UsageError


def write_file(path: Path, text: str) -> int:
    """Writes a file into a folder that is there, and returns its size in bytes."""
    data = text.encode("utf-8", errors="backslashreplace")
    with _told(path):
        path.write_bytes(data)  # bytes: lines end the same on every system
    return len(data)


def write_files(folder: Path, files: Mapping[str, str]) -> int:
    """As `write_file`, for files by their names; the folder is made if it is missing."""
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return sum(write_file(folder / name, text) for name, text in files.items())


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise UsageError(Diagnostic("E403", message)) from None
