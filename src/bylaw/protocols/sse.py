"""Server-sent events: a stream of bytes cut into events, and the data of an event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE: Final = re.compile(rb"\r\n|\n|\r")
MAX_EVENT: Final = 64 * 2**20
"""The longest event, in bytes."""


class SseEvents:
    """Cuts a stream into events, each with the empty line that ends it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, part: bytes) -> Iterator[bytes]:
        """The events that are complete with this part of the stream."""
        self._rest += part
        # A carriage return at the end may be half of a line end.
        while found := _END.search(self._rest[:-1] if self._rest.endswith(b"\r") else self._rest):
            event, self._rest = self._rest[: found.end()], self._rest[found.end() :]
            yield event
        if len(self._rest) > MAX_EVENT:
            raise ValueError("an event is too long")

    def end(self) -> Iterator[bytes]:
        """The rest, when the stream ends."""
        if self._rest:
            yield self._rest

    @staticmethod
    def data(event: bytes) -> bytes:
        """The data of an event: its data lines, joined."""
        lines = [line for line in _LINE.split(event) if line.startswith(b"data:")]
        return b"\n".join(line[5:].removeprefix(b" ") for line in lines)

    @staticmethod
    def with_data(event: bytes, data: bytes) -> bytes:
        """The event with other data, of one line."""
        others = [line for line in _LINE.split(event) if line and not line.startswith(b"data:")]
        return b"\n".join([*others, b"data: " + data.strip(), b"", b""])
