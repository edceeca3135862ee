"""Where files are: on this machine, or in the storage that an address names.

An address such as `s3://bucket/runs/` is opened with Arrow's file systems, which know S3, Google
Cloud Storage, Azure and HDFS, and find credentials as their own tools do. Everything else is a
path.
"""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from bylaw.batch.extras import needed

_MARKS: Final = "*?["
"""What makes a path a pattern."""
_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is there."""

    path: str
    size: int | None
    """In bytes; None for what is no regular file, such as a pipe."""
    changed: int
    """When it was last written to, in nanoseconds."""


def is_address(path: str) -> bool:
    """Is it in some storage, and not on this machine?"""
    return "://" in path


def files(path: str) -> list[Found] | None:
    """The file, or those below the folder, or those that fit the pattern, by name; None if there
    is no such thing. Raises an OSError where one may not look.
    """
    if is_address(path):
        return _stored(path)
    if Path(path).is_dir():
        return [_found(each) for each in sorted(map(str, Path(path).rglob("*"))) if _is_file(each)]
    if os.path.lexists(path) or not any(mark in path for mark in _MARKS):
        return [_found(path)] if Path(path).exists() else None
    fits = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (Path takes no whole patterns)
    return [_found(each) for each in fits if _is_file(each)] or None


def is_folder(path: str) -> bool:
    """Does the path stand for what is below it?"""
    return path.endswith("/") if is_address(path) else Path(path).is_dir()


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file, open for reading; it can seek."""
    if not is_address(path):
        with Path(path).open("rb") as file:
            yield file
        return
    system, inner = _system(path)
    with system.open_input_file(inner) as stored:
        yield cast(BinaryIO, io.BufferedReader(stored, _BUFFER))


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def _found(path: str) -> Found:
    about = Path(path).stat()
    size = about.st_size if stat.S_ISREG(about.st_mode) else None
    return Found(path, size, about.st_mtime_ns)


def _stored(path: str) -> list[Found] | None:
    """As `files`, elsewhere. A pattern may stand in the last part of an address only."""
    fs = needed("pyarrow.fs", "reading from storage")
    folder, _, last = path.rpartition("/")
    pattern = any(mark in last for mark in _MARKS)
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
        Found(
            path if root is None else f"{root}{each.path.removeprefix(inner.rstrip('/'))}",
            each.size,
            each.mtime_ns or 0,
        )
        for each in items
        if each.type == fs.FileType.File and (not pattern or fnmatchcase(each.base_name, last))
    ]
    return found or None


def _system(path: str) -> tuple[Any, str]:
    """The file system that knows an address, and what it calls it."""
    fs = needed("pyarrow.fs", "reading from storage")
    try:
        system, inner = fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:  # Arrow's errors are ValueErrors
        raise OSError(str(error)) from None
    return system, str(inner)
