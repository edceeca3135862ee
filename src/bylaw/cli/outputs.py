"""Files that commands write. A file that cannot be written is a UsageError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bylaw.cli.output_options import MARK, replace_file
from bylaw.errors import Diagnostic, UsageError
from bylaw.tables import Table


def write_file(path: Path, text: str) -> int:
    """Writes a file into an existing folder, and returns its size in bytes."""
    data = text.encode("utf-8", errors="backslashreplace")
    with _errors_explained(path):
        replace_file(path, data)  # bytes: lines end the same on every system
    return len(data)


def make_folder(folder: Path) -> None:
    """Makes a folder, if there is none."""
    with _errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_files(folder: Path, files: Mapping[str, str]) -> int:
    """Writes files by name, and returns their size in bytes; makes and marks the folder."""
    make_folder(folder)
    with _errors_explained(folder):
        (folder / MARK).touch()
    return sum(write_file(folder / name, text) for name, text in files.items())


def write_tables(folder: str, tables: Iterable[Table]) -> None:
    """Writes each table as a CSV file; makes the folder if needed."""
    write_files(Path(folder), {f"{table.name}.csv": table.csv() for table in tables})


@contextmanager
def _errors_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        message = f"cannot write {path}: {reason}"
        raise UsageError(Diagnostic("E403", message)) from None
