"""`list_directory` and `read_file`, confined to one repository.

A path is opened one component at a time, each relative to the folder opened before it, and links
are not followed. There is no gap between check and use: even if files are swapped during a call,
everything that is opened lies below the root. Files with a second hard link, which may lie outside,
and anything that is neither a file nor a folder are refused. Requires a system with `openat`.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bylaw.agents.protocol import ToolSpec
from bylaw.grounding.predicate import READ_FILE

LIST_DIRECTORY: Final = "list_directory"
PAGE: Final = 12_000
"""The maximum number of bytes of a file that one call returns."""
ENTRIES: Final = 1_000
"""The maximum number of entries of a folder that one call returns."""
_LONGEST: Final = 4_096
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

SPECS: Final = (
    ToolSpec(
        LIST_DIRECTORY,
        "Lists a folder of the repository. Folders end in a slash.",
        {"path": {"type": "string", "description": "relative to the repository; '' is its root"}},
    ),
    ToolSpec(
        READ_FILE,
        "Reads a page of a file. Where next_offset is not null, more follows from there.",
        {
            "path": {"type": "string", "description": "relative to the repository"},
            "offset": {"type": "integer", "description": "where to begin, in bytes; at first 0"},
        },
    ),
)


class FileAccessError(ValueError):
    """A path or an offset that the tools refuse."""


class Repository:
    """The files below a root, and nothing else."""

    def __init__(self, root: str | Path) -> None:
        self.root: Final = Path(root)

    @property
    def tools(self) -> dict[str, Callable[..., str]]:
        """The tools by name."""
        return {LIST_DIRECTORY: self.list_directory, READ_FILE: self.read_file}

    def list_directory(self, path: str = "") -> str:
        """The entries of a folder, in JSON."""
        parts = _parts(path)
        with self._folder(parts) as folder:
            entries = _entries(folder)
        listed: dict[str, object] = {"path": "/".join(parts), "entries": entries[:ENTRIES]}
        if len(entries) > ENTRIES:
            listed["note"] = f"the first {ENTRIES:,} of {len(entries):,} entries"
        return json.dumps(listed, ensure_ascii=False)

    def read_file(self, path: str, offset: int = 0) -> str:
        """A page of a text file, in JSON, and where the next one begins."""
        parts = _parts(path)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise FileAccessError("offset must be an integer, 0 or more")
        with self._file(parts) as file:
            size = os.fstat(file).st_size
            if offset > size:
                raise FileAccessError(
                    f"offset {offset:,} is past the end: the file has {size:,} bytes"
                )
            data = os.pread(file, PAGE, offset)
        if b"\0" in data:
            raise FileAccessError(f"'{_shown(parts)}' is not a text file")
        page = _whole(data) if offset + len(data) < size else data
        end = offset + len(page)
        text = page.decode("utf-8-sig" if offset == 0 else "utf-8", errors="replace")
        read = {
            "path": "/".join(parts),
            "offset": offset,
            "content": text,
            "next_offset": end if end < size else None,
            "size": size,
        }
        return json.dumps(read, ensure_ascii=False)

    def contents(self, path: str) -> bytes:
        """A whole file, under the same restrictions; used to build questions."""
        with self._file(_parts(path)) as file, os.fdopen(os.dup(file), "rb") as stream:
            return stream.read()

    def files(self) -> Iterator[str]:
        """All readable files in a stable order; hidden ones are left out."""
        pending = [""]
        while pending:
            path = pending.pop()
            with self._folder(_parts(path)) as folder, os.scandir(folder) as entries:
                found_here = {
                    entry.name: entry.stat(follow_symlinks=False)
                    for entry in entries
                    if not entry.name.startswith(".") and _is_text(entry.name)
                }
            folders = []
            for name, found in sorted(found_here.items()):
                inner = f"{path}/{name}" if path else name
                if stat.S_ISDIR(found.st_mode):
                    folders.append(inner)
                elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                    yield inner
            pending += reversed(folders)

    # ── opening ──────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _folder(self, parts: list[str]) -> Iterator[int]:
        """The folder at a path, open."""
        current = _opened(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, None, [])
        try:
            for count, part in enumerate(parts, 1):
                inner = _opened(part, _FOLDER, current, parts[:count])
                os.close(current)
                current = inner
            yield current
        finally:
            os.close(current)

    @contextmanager
    def _file(self, parts: list[str]) -> Iterator[int]:
        """The plain file at a path, open."""
        if not parts:
            raise FileAccessError("the root is a folder, not a file")
        with self._folder(parts[:-1]) as folder:
            _require_plain(_stat(folder, parts), parts)  # so that a device is not even opened
            file = _opened(parts[-1], _FILE, folder, parts)
        try:
            _require_plain(os.fstat(file), parts)  # the file that was actually opened
            yield file
        finally:
            os.close(file)


def _parts(path: str) -> list[str]:
    """The components of a relative path that stays below its start."""
    if not isinstance(path, str):
        raise FileAccessError("path must be a string")
    if "\0" in path or not _is_text(path):
        raise FileAccessError("the path contains invalid characters")
    if len(path) > _LONGEST:
        raise FileAccessError("the path is too long")
    if path.startswith(("/", "\\", "~")) or _DRIVE.match(path):
        raise FileAccessError("paths are relative to the repository; '' is its root")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(".." in part.split("\\") for part in parts):
        raise FileAccessError("'..' is not allowed: paths are relative to the repository")
    return parts


def _opened(name: str | Path, flags: int, folder: int | None, parts: list[str]) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _refused(error, parts) from None


def _stat(folder: int, parts: list[str]) -> os.stat_result:
    try:
        return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise _refused(error, parts) from None


def _refused(error: OSError, parts: list[str]) -> FileAccessError:
    return FileAccessError(f"'{_shown(parts)}' cannot be opened: {error.strerror}")


def _require_plain(found: os.stat_result, parts: list[str]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise FileAccessError(f"'{_shown(parts)}' is a folder: use {LIST_DIRECTORY}")
    if stat.S_ISLNK(found.st_mode):
        raise FileAccessError(f"'{_shown(parts)}' is a link, and links are not followed")
    if not stat.S_ISREG(found.st_mode):
        raise FileAccessError(f"'{_shown(parts)}' is not a plain file")
    if found.st_nlink > 1:
        raise FileAccessError(f"'{_shown(parts)}' has a second hard link, which may lie elsewhere")


def _shown(parts: list[str]) -> str:
    return "/".join(parts)[:200]


def _entries(folder: int) -> list[str]:
    with os.scandir(folder) as found:
        marked = [
            f"{each.name}/" if each.is_dir(follow_symlinks=False) else each.name for each in found
        ]
    return sorted(os.fsencode(name).decode(errors="replace") for name in marked)


def _is_text(name: str) -> bool:
    """True if the name can be encoded, so that an agent can pass it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(data: bytes) -> bytes:
    """The page without an incomplete last line or, failing that, last character."""
    lines, newline, _ = data.rpartition(b"\n")
    if newline:
        return lines + newline
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    whole = data[: end - 1] if data[end - 1] >= 0xC0 else data
    return whole or data
