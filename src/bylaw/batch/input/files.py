"""The files of a corpus: found by path, folder, pattern or address, and opened.

An address such as `s3://bucket/runs/` is opened with Arrow's file systems, which know S3, Google
Cloud Storage, Azure and HDFS, and find credentials as the tools of these services do. Anything
else is a path on this machine. Small files are grouped, so that a folder of a million of them is
not a million chunks.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, cast

from bylaw.batch.optional import import_extra
from bylaw.errors import Diagnostic
from bylaw.opening import open_regular
from bylaw.trace.files import MEGABYTE

STANDARD_INPUT: Final = "-"
COMPRESSED: Final = (".gz", ".zst")
TRACE_SUFFIXES: Final = (
    *(f"{text}{packed}" for text in (".json", ".jsonl", ".ndjson") for packed in ("", *COMPRESSED)),
    *(".parquet", ".arrow", ".arrows", ".feather"),
)
"""The files of a folder that are read end in one of these."""
PROCEDURE_SUFFIXES: Final = (".yaml", ".yml")
PARTS_SUFFIX: Final = ".parts"
"""The folder of an unfinished run ends in this; its files are not traces."""
CHUNK_SIZE: Final = 4 * MEGABYTE
MAX_GROUP: Final = 256
"""The largest number of files in a group."""
_WILDCARDS: Final = "*?["
_BUFFER: Final = MEGABYTE


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus, or the reason why it cannot be used."""

    path: str
    """A path, an address, or `-`."""
    size: int | None = None
    """In bytes; None for standard input and pipes, which can be read only once."""
    modified: int = 0
    """In nanoseconds."""
    problem: Diagnostic | None = None

    @property
    def once(self) -> bool:
        """Can it be read only once, and by one process?"""
        return self.size is None

    @property
    def name(self) -> str:
        """The name that traces and errors give it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path


FileGroups: TypeAlias = list[tuple[CorpusFile, ...]]


# ── finding ───────────────────────────────────────────────────────────────────────────────


def find_files(paths: Iterable[str], without: str | None = None) -> list[CorpusFile]:
    """The files that the paths stand for, in order, except the file `without`."""
    return [file for path in paths for file in _find(path, without)]


def _find(path: str, without: str | None) -> Iterator[CorpusFile]:
    if path == STANDARD_INPUT:
        yield CorpusFile(path)
        return
    if not path:  # a variable that a script did not set; it would be the current folder
        yield _unusable(path, "the name of a trace is empty")
        return
    try:
        found = _stored(path) if _is_address(path) else _local(path)
    except OSError as error:
        yield _unusable(path, f"cannot be read: {error.strerror or error}")
        return
    if found is None:
        yield _unusable(path, "cannot be read: No such file or directory")
        return
    folder = path.endswith("/") if _is_address(path) else Path(path).is_dir()
    kept = [file for file in found if not folder or _belongs(file.path, path, without)]
    if not kept:
        yield _unusable(path, "the folder holds no .json, .jsonl, .ndjson, .parquet or .arrow file")
    for file in kept:
        yield _procedure(file.path) if file.path.endswith(PROCEDURE_SUFFIXES) else file


def _belongs(path: str, folder: str, without: str | None) -> bool:
    """Is a file of a folder a part of the corpus?"""
    if without is not None and Path(path).resolve() == Path(without).resolve():
        return False
    below = Path(path).parts[len(Path(folder).parts) : -1]
    return path.endswith(TRACE_SUFFIXES) and not any(each.endswith(PARTS_SUFFIX) for each in below)


def _unusable(path: str, message: str, help: str | None = None) -> CorpusFile:
    return CorpusFile(path, 0, problem=Diagnostic("E310", message, help, source=path))


def _procedure(path: str) -> CorpusFile:
    """One error, instead of one for each line that is not JSON."""
    help = "Traces are JSON, one record a file or a line. A procedure is named with --procedure."
    return _unusable(path, "a YAML file is not a trace", help)


def _is_address(path: str) -> bool:
    return "://" in path


def _local(path: str) -> list[CorpusFile] | None:
    """The file, the files below the folder, or those that match the pattern, sorted by name."""
    if Path(path).is_dir():
        return [_file(each) for each in sorted(map(str, Path(path).rglob("*"))) if _is_file(each)]
    if os.path.lexists(path) or not any(mark in path for mark in _WILDCARDS):
        return [_file(path)] if Path(path).exists() else None
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (Path takes no whole patterns)
    return [_file(each) for each in matches if _is_file(each)] or None


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def _file(path: str) -> CorpusFile:
    about = Path(path).stat()
    size = about.st_size if stat.S_ISREG(about.st_mode) else None
    return CorpusFile(path, size, about.st_mtime_ns)


def _stored(path: str) -> list[CorpusFile] | None:
    """Like `_local`, for an address. Only its last part may be a pattern."""
    fs = import_extra("pyarrow.fs", "reading from storage")
    folder, _, last = path.rpartition("/")
    pattern = any(mark in last for mark in _WILDCARDS)
    system, inner = _system(folder if pattern else path)
    about = system.get_file_info(inner)
    if about.type == fs.FileType.NotFound:
        return None
    if about.type == fs.FileType.Directory:
        below = fs.FileSelector(inner, recursive=not pattern)
        items = sorted(system.get_file_info(below), key=lambda each: str(each.path))
        root = folder if pattern else path.rstrip("/")
    else:
        items, root = [about], None
    found = [
        CorpusFile(
            path if root is None else f"{root}{each.path.removeprefix(inner.rstrip('/'))}",
            each.size,
            each.mtime_ns or 0,
        )
        for each in items
        if each.type == fs.FileType.File and (not pattern or fnmatchcase(each.base_name, last))
    ]
    return found or None


def _system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    fs = import_extra("pyarrow.fs", "reading from storage")
    try:
        system, inner = fs.FileSystem.from_uri(address)
    except (ValueError, OSError) as error:  # Arrow's errors are ValueErrors
        raise OSError(str(error)) from None
    return system, str(inner)


# ── opening ───────────────────────────────────────────────────────────────────────────────


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file, open for reading. Files and addresses are seekable; standard input may not be."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("it is closed")
        yield sys.stdin.buffer
    elif not _is_address(path):
        with open_regular(path) as file:
            yield file
    else:
        system, inner = _system(path)
        with system.open_input_file(inner) as stored:
            yield cast(BinaryIO, io.BufferedReader(stored, _BUFFER))


# ── all of them ───────────────────────────────────────────────────────────────────────────


def group_files(files: Iterable[CorpusFile], chunk_size: int = CHUNK_SIZE) -> FileGroups:
    """The files in order; consecutive small ones form a group."""
    groups: FileGroups = []
    room = 0
    for file in files:
        size = chunk_size + 1 if file.size is None else file.size
        if groups and size <= room and len(groups[-1]) < MAX_GROUP:
            groups[-1] = (*groups[-1], file)
            room -= size
        else:
            groups.append((file,))
            room = chunk_size - size
    return groups


def total_size(files: Iterable[CorpusFile]) -> int | None:
    """The number of bytes to read; None if it is not known."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(size or 0 for size in sizes)


def fingerprint(files: Iterable[CorpusFile]) -> str | None:
    """A digest of names, sizes and times; None if the corpus cannot be read a second time."""
    digest = hashlib.sha256()
    for file in files:
        if file.once:
            return None
        about = f"{file.path}\0{file.size}\0{file.modified}\n"
        digest.update(about.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
