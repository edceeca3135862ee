"""Opening files to read. Only regular files: a pipe or a device could be read for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe without a writer can be opened, and then refused."""


def open_regular(path: str | Path) -> BinaryIO:
    """Opens a regular file to read. Raises an OSError with a reason for anything else."""
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name") from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is not a regular file; pipe it to '-'")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | Path) -> str:
    """The text of a regular file, which must be UTF-8."""
    with open_regular(path) as file:
        return file.read().decode()
