"""Writing files: completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file. A link stays a link."""
    replace_files({path: content})


def replace_files(files: Mapping[Path, bytes]) -> None:
    """Writes files. All of them are on disk before the first one is put in place."""
    drafts: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            target = Path(os.path.realpath(path))
            draft = target.parent / f".{os.getpid()}-{os.urandom(6).hex()}.draft"
            drafts[draft] = target
            _write(draft, content, _mode(target))
        for draft, target in drafts.items():
            draft.replace(target)
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """The permissions of a file to replace; None if there is none. Only regular files are."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return stat.S_IMODE(found) & 0o777


def _write(draft: Path, content: bytes, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(draft, flags, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        draft.chmod(mode)


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A stream of text that takes the place of a file at the end. A link stays a link.

    If an exception is raised meanwhile, the file stays as it was. Characters without a UTF-8 form
    are escaped with backslashes.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    draft = target.parent / f".{os.getpid()}-{os.urandom(6).hex()}.draft"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        opened = os.open(draft, flags, 0o666)
        with os.fdopen(
            opened, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
