"""Files and tables that commands write. A file that cannot be written is a UsageError."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bylaw.errors import Diagnostic, UsageError
from bylaw.tables import Table


def write_file(path: Path, text: str) -> int:
    """Writes a file into an existing folder, and returns its size in bytes."""
    data = text.encode("utf-8", errors="backslashreplace")
    with _errors_explained(path):
        path.write_bytes(data)  # bytes: lines end the same on every system
    return len(data)


def write_files(folder: Path, files: Mapping[str, str]) -> int:
    """Writes files by name, and returns their size in bytes; makes the folder if needed."""
    with _errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return sum(write_file(folder / name, text) for name, text in files.items())


def add_tables(parser: argparse.ArgumentParser, names: Iterable[str], short: Iterable[str]) -> None:
    """Adds the options that choose tables to print, and where to write them."""
    parser.add_argument(
        "--table",
        action="append",
        choices=[*names, "all"],
        metavar="NAME",
        help=f"a table to print, or all; repeatable (default: {', '.join(short)})",
    )
    add_csv(parser)


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Adds the option to write tables as CSV files."""
    parser.add_argument("--csv", metavar="DIR", help="write each table there, as a CSV file")


def write_tables(folder: str, tables: Iterable[Table]) -> None:
    """Writes each table as a CSV file; makes the folder if needed."""
    write_files(Path(folder), {f"{table.name}.csv": table.csv() for table in tables})


@contextmanager
def _errors_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise UsageError(Diagnostic("E403", message)) from None
