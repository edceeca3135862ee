"""Corpora in storage: addresses such as `s3://bucket/runs/`.

They are opened with Arrow's file systems, which know S3, Google Cloud Storage, Azure and HDFS, and
find credentials as the tools of these services do.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, Final, cast

from bylaw.batch.input.files import WILDCARDS, CorpusFile
from bylaw.batch.optional import import_extra
from bylaw.trace.files import MEGABYTE

_BUFFER: Final = MEGABYTE


def find_stored(path: str) -> list[CorpusFile] | None:
    """The file, the files below the folder, or those that match the pattern, sorted by name.

    Only the last part of the address may be a pattern.
    """
    fs = import_extra("pyarrow.fs", "reading from storage")
    folder, _, last = path.rpartition("/")
    pattern = any(mark in last for mark in WILDCARDS)
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


@contextmanager
def open_stored(address: str) -> Iterator[BinaryIO]:
    """The file at an address, open for reading."""
    system, inner = _system(address)
    with system.open_input_file(inner) as stored:
        yield cast(BinaryIO, io.BufferedReader(stored, _BUFFER))
