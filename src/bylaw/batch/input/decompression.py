"""Compressed files: gzip and zstd, recognised by their first bytes."""

from __future__ import annotations

import gzip
import io
from typing import Any, BinaryIO, Final, cast

from bylaw.batch.optional import import_extra
from bylaw.trace.files import MEGABYTE

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_INPUT: Final = 4096
"""The most that is decompressed at once: a few bytes can expand to many."""


def decompressed(raw: BinaryIO, start: bytes) -> BinaryIO:
    """The content of a compressed file that begins with these bytes."""
    if start.startswith(GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    return cast(BinaryIO, io.BufferedReader(_ZstdReader(raw), MEGABYTE))


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
