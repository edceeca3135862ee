"""Files as they are found: what they hold, by their first bytes, and compressed ones unpacked."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Literal, TypeAlias, cast

from bylaw.batch.extras import needed
from bylaw.batch.sources import STANDARD_INPUT, Source
from bylaw.batch.storage import opened
from bylaw.trace.files import MEGABYTE, is_jsonl

Kind: TypeAlias = Literal["lines", "document", "parquet", "arrow file", "arrow stream"]

_TABLES: Final[dict[bytes, Kind]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow file",
    b"\xff\xff\xff\xff": "arrow stream",
}
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_HEAD: Final = 4 * MEGABYTE
"""How much of a file is looked at to see what it is, at most."""
_FEED: Final = 4096
"""How much is unpacked at once: a few bytes can stand for many."""


@dataclass(slots=True)
class Text:
    """A file of text, unpacked."""

    file: BinaryIO
    kind: Kind
    raw: BinaryIO
    """The file as it is stored."""
    compressed: bool

    @property
    def can_seek(self) -> bool:
        """Can another process read it from some place on?"""
        return not self.compressed and self.raw is self.file

    @property
    def done(self) -> int:
        """How much of the file, as it is stored, was read; 0 where that is not known."""
        return self.raw.tell() if self.raw.seekable() else 0


@contextmanager
def text_of(source: Source) -> Iterator[Text]:
    """The file, from its start. Tables have a kind, too, and are opened by others."""
    with _raw(source) as raw:
        seeks = not source.once
        start = raw.read(8) if seeks else raw.peek(8)[:8]  # type: ignore[attr-defined]  # buffered
        if seeks:
            raw.seek(0)
        table = next((kind for mark, kind in _TABLES.items() if start.startswith(mark)), None)
        if table is not None:
            yield Text(raw, table, raw, compressed=False)
            return
        file = _unpacked(raw, start)
        head = _start(file)
        kind: Kind = "lines" if is_jsonl(io.BytesIO(head), _plain(source.name)) else "document"
        if file is raw and seeks:
            raw.seek(0)
        else:
            file = cast(BinaryIO, io.BufferedReader(_Continued(head, file), MEGABYTE))
        yield Text(file, kind, raw, compressed=start.startswith((_GZIP, _ZSTD)))


@contextmanager
def _raw(source: Source) -> Iterator[BinaryIO]:
    if source.path == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("it is closed")
        yield sys.stdin.buffer
    else:
        with opened(source.path) as file:
            yield file


def _unpacked(raw: BinaryIO, start: bytes) -> BinaryIO:
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if start.startswith(_ZSTD):
        return cast(BinaryIO, io.BufferedReader(_Zstd(raw), MEGABYTE))
    return raw


def _plain(name: str) -> str:
    """The name without the ending of a compressed file."""
    return name.removesuffix(".gz").removesuffix(".zst")


def _start(file: BinaryIO) -> bytes:
    """The first lines of a file, as far as they tell what it is."""
    parts: list[bytes] = []
    size = lines = 0
    try:
        while size < _HEAD and lines < 2 and (part := file.read1(MEGABYTE)):  # type: ignore[attr-defined]  # buffered
            parts.append(part)
            size += len(part)
            lines += part.count(b"\n")
    except Exception:  # whoever reads on will meet it again
        if not parts:
            raise
    return b"".join(parts)


class _Zstd(io.RawIOBase):
    """What zstd frames hold. The library's own reader does not tell when the last is cut off."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._zstandard = needed("zstandard", "reading .zst files")
        self._frame = self._next_frame()
        self._left = b""
        """What was read of the file, and belongs to the next frame."""
        self._ready = memoryview(b"")

    def _next_frame(self) -> Any:
        self._begun = False
        return self._zstandard.ZstdDecompressor().decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer)).cast("B")
        while not self._ready:
            data = self._left or self._packed.read(_FEED)
            if not data:
                if self._begun:
                    raise EOFError("the compressed data ends early")
                return 0
            self._begun, self._left = True, b""
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = self._next_frame()
        count = min(len(into), len(self._ready))
        into[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


class _Continued(io.RawIOBase):
    """Bytes that were read already, and the rest of the file they are from."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        into = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._head.read(len(into)) or self._rest.read1(len(into))  # type: ignore[attr-defined]  # buffered
        into[: len(data)] = data
        return len(data)
