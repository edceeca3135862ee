"""The file of a log: one writer, and only ever the file that was opened.

The file is locked against other processes. Before each write the path must still lead to it, and
its length must be the one that the writer left. A process that inherits an open log by `fork` does
not have it: its copy is closed, so that it cannot hold the lock either.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

try:
    import fcntl
except ImportError:  # not on every system; there, nothing prevents a second writer
    fcntl = None  # type: ignore[assignment]  # a module, where there is one

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def _opened(path: str, _: int) -> int:
    return os.open(path, _FLAGS | _BINARY, 0o666)


class LogFile:
    """An open file that can be appended to. Every failure is an OSError with a reason."""

    _raw: FileIO | None = None

    def __init__(self, path: Path) -> None:
        self._name: Final = os.fspath(path)
        self._process: Final = os.getpid()
        try:
            self._raw = FileIO(path, "ab+", opener=_opened)
            _OPEN.add(self)
            found = os.fstat(self._descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            self._identity: Final = (found.st_dev, found.st_ino)
            self._lock()
        except ValueError:
            raise OSError(errno.EINVAL, "no file can have this name") from None
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OSError(errno.EWOULDBLOCK, "another writer has it open") from None

    @property
    def _descriptor(self) -> int:
        if self._raw is None or self._raw.closed:
            raise OSError(errno.EBADF, "it is closed")
        return self._raw.fileno()

    @property
    def is_own(self) -> bool:
        """Is this the process that opened the file?"""
        return os.getpid() == self._process

    def reading(self) -> BinaryIO:
        """The same file, to read from its beginning."""
        file = open(self._descriptor, "rb", closefd=False)  # noqa: SIM115  # the caller closes it
        file.seek(0)
        return file

    def write(self, data: bytes, size: int) -> None:
        """Appends to the file. Its path must still lead to it, and it must have this size."""
        try:
            found = os.stat(self._name)  # noqa: PTH116  # at each decision; half of Path's time
        except OSError as error:
            raise ForeignChange(f"the file was renamed or removed ({error.strerror})") from None
        if (found.st_dev, found.st_ino) != self._identity:
            raise ForeignChange("the file was replaced by another")
        if found.st_size != size:
            raise ForeignChange(f"the file has {found.st_size:,} bytes and should have {size:,}")
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def sync(self) -> None:
        """Returns once everything written is on disk."""
        sync_descriptor(self._descriptor)

    def cut(self, size: int) -> None:
        """Removes what follows the first `size` bytes."""
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Closes the file."""
        if self._raw is not None:
            self._raw.close()

    def __del__(self) -> None:
        self.close()


class ForeignChange(OSError):
    """Somebody else changed the file; it is not touched any more."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ESTALE, reason)


def sync_descriptor(descriptor: int) -> None:
    """Returns once a file's content is on disk, and its length."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync stops at the drive
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):  # leaves out only times and the like
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Makes a file's own directory entry durable, on systems that support it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def set_aside(tail: bytes, log: Path, entries: int) -> Path:
    """Writes a torn tail to a new file beside the log, durably; returns its path."""
    for attempt in range(1000):
        suffix = f".torn-{entries}" + (f"-{attempt}" if attempt else "")
        path = log.with_name(log.name + suffix)
        try:
            with path.open("xb") as file:
                file.write(tail)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            continue
        sync_folder(path.parent)
        return path
    raise OSError(errno.EEXIST, "a thousand torn tails lie beside it already")


_OPEN: Final[weakref.WeakSet[LogFile]] = weakref.WeakSet()


def _close_inherited() -> None:
    for file in list(_OPEN):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
