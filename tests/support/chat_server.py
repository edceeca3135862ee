"""A scripted chat endpoint on loopback that records the requests it receives.

    with ChatServer(in_turn(Status(500), Says("hello"))) as server:
        ask(server.url)

What it does next is decided by the last message of the conversation, and by how often that was
asked before. Connections are kept open between requests, as real servers keep them.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias


@dataclass(frozen=True)
class Says:
    """Answers with a message, whole and well formed."""

    text: Any = ""
    calls: Any = ()
    """As they stand in `tool_calls`."""
    usage: Any = None

    def body(self) -> bytes:
        message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = self.calls
        return json.dumps({"choices": [{"message": message}], "usage": self.usage}).encode()


@dataclass(frozen=True)
class Status:
    """Answers with a status."""

    code: int
    text: str = ""
    retry_after: str | None = None


@dataclass(frozen=True)
class Sends:
    """Answers 200 with these bytes, `every` so many seconds one of them if that is given."""

    content: bytes
    every: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DripsHeaders:
    """Sends headers without end, one byte `every` so many seconds."""

    every: float


@dataclass(frozen=True)
class Drops:
    """Breaks the connection: in the middle of an answer, or before it."""

    midway: bool = True


@dataclass(frozen=True)
class Waits:
    """Answers after so many seconds, when nobody waits any more."""

    seconds: float


@dataclass(frozen=True)
class Redirects:
    """Sends the client elsewhere."""

    code: int
    url: str


Step: TypeAlias = Redirects | Says | Status | Sends | DripsHeaders | Drops | Waits
Script: TypeAlias = Callable[[str, int], Step]


def in_turn(*steps: Step) -> Script:
    """One step after another, and the last one ever after."""
    return lambda _text, before: steps[min(before, len(steps) - 1)]


def echo(text: str, _before: int = 0) -> Step:
    return Says(f"You said: {text}")


@dataclass
class Seen:
    """A request."""

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    text: str
    """The last message."""
    answered: bool = False
    """Was it answered with a message, to the last byte?"""


@dataclass
class ChatServer:
    """The server, while its block lasts."""

    script: Script = echo
    per_second: int | None = None
    """The requests it accepts per second; the others get a 429."""
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.chat = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def answered(self) -> list[str]:
        """The last messages of the requests that were answered."""
        return [request.text for request in self.seen if request.answered]

    def take(self, request: Seen) -> Step:
        """The script's step for a request."""
        with self._lock:
            before = sum(seen.text == request.text for seen in self.seen)
            self.seen.append(request)
            while self._taken and request.at - self._taken[0] >= 1.0:
                self._taken.popleft()
            if self.per_second is not None and len(self._taken) >= self.per_second:
                return Status(429, "too many requests")
            self._taken.append(request.at)
            return self.script(request.text, before)


class _Server(ThreadingHTTPServer):
    chat: ChatServer
    request_queue_size = 100

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client may well be gone
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept open
    disable_nagle_algorithm = True  # else answers in two parts take 40 ms
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        request = Seen(time.monotonic(), self.path, dict(self.headers), body, text)
        step = self.server.chat.take(request)
        if isinstance(step, Waits):
            self.server.chat.closing.wait(step.seconds)
            step = Sends(Says("late").body())
        match step:
            case Says():
                self._send(200, step.body())
                request.answered = True
            case Status(code, text, retry_after):
                error = json.dumps({"error": {"message": text}}).encode()
                self._send(code, error, {} if retry_after is None else {"Retry-After": retry_after})
            case Sends(content, every, headers):
                self._send(200, content, headers, every=every)
            case Redirects(code, url):
                self._send(code, b"", {"Location": url})
            case DripsHeaders(every):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not self.server.chat.closing.wait(every):
                    self.wfile.write(b"a")
                self.close_connection = True
            case Drops(midway):
                if midway:
                    self._head(200, 1000, {})
                    self.wfile.write(b'{"choices": [')
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

    def _send(
        self, code: int, content: bytes, headers: dict[str, str] | None = None, every: float = 0.0
    ) -> None:
        self._head(code, len(content), headers or {})
        if headers and "Transfer-Encoding" in headers:
            content = b"".join(
                b"%x\r\n%b\r\n" % (len(piece), piece)
                for piece in (*(content[at : at + 999] for at in range(0, len(content), 999)), b"")
            )
        if not every:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            if self.server.chat.closing.wait(every):
                break

    def _head(self, code: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        size = {} if "Transfer-Encoding" in headers else {"Content-Length": str(length)}
        for name, value in {**size, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Says nothing on the terminal."""
