"""Files that commands write. A file that cannot be written is a UsageError.

What an option names was checked before the command did any work. It is checked again at the moment
of writing, because somebody may have put a file or a link there in the meantime.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bylaw.cli.options import MARK, check_outputs
from bylaw.errors import Diagnostic, UsageError
from bylaw.saved import table as object_of
from bylaw.tables import Table
from bylaw.values import Json, read_json
from bylaw.writing import replace_file, replace_files


def write_output(options: argparse.Namespace, name: str, text: str) -> int:
    """Writes the file that an option names, and returns its size in bytes."""
    check_outputs(options, only=name)
    return write_file(Path(getattr(options, name)), text)


def write_file(path: Path, text: str) -> int:
    """Writes a file into an existing folder, and returns its size in bytes."""
    data = _encoded(text)
    with errors_explained(path):
        replace_file(path, data)  # bytes: lines end the same on every system
    return len(data)


def make_folder(folder: Path) -> None:
    """Makes a folder, if there is none."""
    with errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_folder(options: argparse.Namespace, name: str, files: Mapping[str, str]) -> None:
    """Writes files by name into the folder that an option names, all of them or none.

    The mark of the folder holds their digests: a file that was changed since is not replaced.
    """
    check_outputs(options, only=name)
    folder = Path(getattr(options, name))
    contents = {folder / name: _encoded(text) for name, text in files.items()}
    digests = {path.name: [_digest(content)] for path, content in contents.items()}
    make_folder(folder)
    with errors_explained(folder):
        written = _written(folder / MARK)
        for path in contents:
            known = written.get(path.name, [])
            if not options.force and path.exists() and _digest(path.read_bytes()) not in known:
                message = f"{path} exists already, and this command did not write it as it is"
                raise UsageError(
                    Diagnostic("E403", message, "Name another folder, or add --force.")
                )
        # Whatever happens between these writes, each file has one of the digests.
        both = {key: [*digests.get(key, []), *written.get(key, [])] for key in written | digests}
        replace_file(folder / MARK, json.dumps(both).encode())
        replace_files(contents)
        replace_file(folder / MARK, json.dumps(written | digests).encode())


def write_tables(options: argparse.Namespace, name: str, tables: Iterable[Table]) -> None:
    """Writes each table as a CSV file into the folder that an option names."""
    write_folder(options, name, {f"{table.name}.csv": table.csv() for table in tables})


@contextmanager
def errors_explained(path: Path) -> Iterator[None]:
    """An error in writing the path is a UsageError."""
    try:
        yield
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        message = f"cannot write {path}: {reason}"
        raise UsageError(Diagnostic("E403", message)) from None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="backslashreplace")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _written(mark: Path) -> dict[str, Json]:
    """The digests of the files that commands wrote into a folder."""
    try:
        return object_of(read_json(mark.read_text()))
    except (OSError, ValueError):  # none, or not as it was written
        return {}
