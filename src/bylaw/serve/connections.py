"""Connections with limits that uvicorn lacks: of the head of a request, in bytes and in time.

A head is parsed before anybody knows who sends it. Without limits, whoever reaches the port could
fill the memory with one endless header, or keep connections occupied by sending a byte a minute.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD: Final = 64_000
"""The largest head of a request, in bytes, up to one piece of what was received."""
HEAD_SECONDS: Final = 10.0
"""The time that a client has to send the head of a request."""


class LimitedConnection(HttpToolsProtocol):  # type: ignore[misc]  # uvicorn is not followed
    """One connection of a client."""

    _in_head = True
    _head_size = 0
    _head_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        """Starts the time for the first request."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the time."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes in a piece of a request."""
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD + len(data):  # it had been too large before this piece
                self.send_400_response("The head of the request is too large.")
                return
        super().data_received(data)
        if not self._in_head:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_late)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._head_size = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete; the application limits the body."""
        self._in_head = False
        super().on_headers_complete()

    def _head_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.send_400_response("The head of the request was not sent in time.")

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
