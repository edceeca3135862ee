"""Opened files: their kind, by the first bytes; decompressed; and cut at line ends."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Literal, NamedTuple, TypeAlias, cast

from bylaw.batch.input.files import CorpusFile, opened
from bylaw.batch.optional import import_extra
from bylaw.trace.files import MEGABYTE, is_jsonl

FileKind: TypeAlias = Literal["lines", "document", "parquet", "arrow file", "arrow stream"]

_TABLES: Final[dict[bytes, FileKind]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow file",
    b"\xff\xff\xff\xff": "arrow stream",
}
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_HEAD: Final = 4 * MEGABYTE
"""The most that is read of a file to recognise its kind."""
_READ: Final = MEGABYTE // 4
"""The most that is read at once, and so the most that is lost before damage in a file."""
_ZSTD_INPUT: Final = 4096
"""The most that is decompressed at once: a few bytes can expand to many."""


class LineBlock(NamedTuple):
    """Whole lines of a file."""

    text: bytes
    length: int
    """In bytes of the file; more than `text` has if that is the start of an overlong line."""
    lines: int
    long: bool = False
    """Is it a single line, longer than an ordinary block?"""


@dataclass(slots=True)
class OpenedFile:
    """A file and its content, decompressed."""

    content: BinaryIO
    kind: FileKind
    raw: BinaryIO
    """The file as it is stored."""
    compressed: bool

    @property
    def can_seek(self) -> bool:
        """Can another process read it from any offset?"""
        return not self.compressed and self.raw is self.content

    @property
    def position(self) -> int:
        """The number of stored bytes that have been read; 0 if it is not known."""
        return self.raw.tell() if self.raw.seekable() else 0

    def skip(self, offset: int) -> None:
        """Moves from the start of the content to an offset."""
        if self.can_seek:
            self.content.seek(offset)
            return
        while offset > 0 and (data := self.content.read(min(offset, MEGABYTE))):
            offset -= len(data)

    def line_blocks(self, size: int, max_line: int) -> Iterator[LineBlock]:
        """The rest of the content in blocks of at most `size` bytes; a longer line is a block.

        Of a line that exceeds `max_line`, one byte more than that is kept. If reading fails, the
        lines before the failure come first, then the exception.
        """
        rest = b""
        while True:
            more, problem = self._read(size - len(rest))
            ended = len(rest) + len(more) < size
            text = rest + more
            end = len(text) if ended and problem is None else text.rfind(b"\n") + 1
            if end:
                lines = text.count(b"\n", 0, end) + (text[end - 1] != ord("\n"))
                yield LineBlock(text[:end], end, lines)
                rest = text[end:]
            if problem is not None:
                raise problem
            if ended:
                return
            if not end:
                yield self._long_line(text, max_line)
                rest = b""

    def _read(self, size: int) -> tuple[bytes, Exception | None]:
        """The next bytes, fewer only at the end or before the failure that is given with them."""
        found: list[bytes] = []
        try:
            while size > 0 and (data := _read1(self.content, min(size, _READ))):
                found.append(data)
                size -= len(data)
        except Exception as error:  # each decompressor has its own exceptions
            return b"".join(found), error
        return b"".join(found), None

    def _long_line(self, start: bytes, max_line: int) -> LineBlock:
        found, kept, length = [start], len(start), len(start)
        while data := self.content.readline(MEGABYTE):
            length += len(data)
            if kept <= max_line:
                found.append(data[: max_line + 1 - kept])
                kept += len(found[-1])
            if data.endswith(b"\n"):
                break
        return LineBlock(b"".join(found), length, 1, long=True)


@contextmanager
def open_file(file: CorpusFile) -> Iterator[OpenedFile]:
    """The file from its start. Tables are only recognised: their content is the file as stored."""
    with opened(file.path) as raw:
        seeks = not file.once
        start = raw.read(8) if seeks else raw.peek(8)[:8]  # type: ignore[attr-defined]  # buffered
        if seeks:
            raw.seek(0)
        table = next((kind for mark, kind in _TABLES.items() if start.startswith(mark)), None)
        if table is not None:
            yield OpenedFile(raw, table, raw, compressed=False)
            return
        content = _decompressed(raw, start)
        head = _head(content)
        name = file.name.removesuffix(".gz").removesuffix(".zst")
        kind: FileKind = "lines" if is_jsonl(io.BytesIO(head), name) else "document"
        if content is raw and seeks:
            raw.seek(0)
        else:
            content = cast(BinaryIO, io.BufferedReader(_Rejoined(head, content), MEGABYTE))
        yield OpenedFile(content, kind, raw, compressed=start.startswith((_GZIP, _ZSTD)))


def _decompressed(raw: BinaryIO, start: bytes) -> BinaryIO:
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if start.startswith(_ZSTD):
        return cast(BinaryIO, io.BufferedReader(_ZstdReader(raw), MEGABYTE))
    return raw


def _head(content: BinaryIO) -> bytes:
    """The first two lines, if they are not too long."""
    found: list[bytes] = []
    size = lines = 0
    try:
        while size < _HEAD and lines < 2 and (data := _read1(content, MEGABYTE)):
            found.append(data)
            size += len(data)
            lines += data.count(b"\n")
    except Exception:  # the next read fails again
        if not found:
            raise
    return b"".join(found)


def _read1(file: BinaryIO, size: int) -> bytes:
    """At most `size` bytes, in one read of the underlying file."""
    data: bytes = file.read1(size)  # type: ignore[attr-defined]  # buffered
    return data


class _ZstdReader(io.RawIOBase):
    """Decompresses zstd frames. The library's own reader accepts a truncated last frame."""

    def __init__(self, compressed: BinaryIO) -> None:
        self._compressed = compressed
        self._zstandard = import_extra("zstandard", "reading .zst files")
        self._frame = self._next_frame()
        self._left = b""
        """Data that was read and belongs to the next frame."""
        self._ready = memoryview(b"")

    def _next_frame(self) -> Any:
        self._in_frame = False
        return self._zstandard.ZstdDecompressor().decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer)).cast("B")
        while not self._ready:
            data = self._left or self._compressed.read(_ZSTD_INPUT)
            if not data:
                if self._in_frame:
                    raise EOFError("the compressed data ends early")
                return 0
            self._in_frame, self._left = True, b""
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = self._next_frame()
        count = min(len(into), len(self._ready))
        into[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


class _Rejoined(io.RawIOBase):
    """The head of a file, which was read already, and the rest of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._head.read(len(into)) or _read1(self._rest, len(into))
        into[: len(data)] = data
        return len(data)
