"""One HTTP endpoint: requests with a limit on their total time and on the size of the answer.

A time limit on each read is not enough: a server that sends one header byte at a time keeps every
read short. So requests run on an event loop in a thread of its own, where one deadline covers
connecting, headers and body. Answers are decompressed piece by piece, up to the limit: a few
kilobytes of gzip can stand for gigabytes.
"""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Final

try:
    import httpx
except ModuleNotFoundError as error:
    missing = "httpx is not installed: pip install 'bylaw[openai]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

MAX_ANSWER: Final = 64 << 20
"""The limit on the size of an answer, in bytes after decompression."""
_ENCODINGS: Final = ("", "identity", "gzip", "deflate")
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


class UnreachableError(Exception):
    """No answer arrived: no connection, a dropped one, or not in time."""


class LateAnswerError(UnreachableError):
    """No answer arrived in time."""


class UnusableAnswerError(Exception):
    """An answer is too large, or in an encoding that cannot be read."""


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """An answer that arrived in full."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Endpoint:
    """Posts requests to one URL. Thread-safe."""

    def __init__(self, url: str, headers: Mapping[str, str], keep_alive: int) -> None:
        self._url: Final = url
        self._headers: Final = {
            **headers,
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        }
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=keep_alive)
        self._client: Final = httpx.AsyncClient(limits=limits, timeout=None)
        self._loop: Final = asyncio.new_event_loop()
        self._thread: Final = threading.Thread(target=_run, args=(self._loop,), daemon=True)
        self._thread.start()

    def post(self, body: bytes, seconds: float) -> EndpointAnswer:
        """Sends one request. The whole answer must arrive within the given seconds."""
        if self._loop.is_closed():
            raise UnreachableError("the connection was closed")
        work = self._post(body, seconds)
        running: Future[EndpointAnswer] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except TimeoutError:
            raise LateAnswerError(f"no answer within {seconds:.3g} s") from None
        except CancelledError:
            raise UnreachableError("the connection was closed") from None
        except httpx.HTTPError as failed:
            raise UnreachableError(_reason(failed)) from None
        finally:
            running.cancel()

    async def _post(self, body: bytes, seconds: float) -> EndpointAnswer:
        request = self._client.stream("POST", self._url, content=body, headers=self._headers)
        async with asyncio.timeout(seconds), request as response:
            encoding = response.headers.get("Content-Encoding", "").strip().lower()
            if encoding not in _ENCODINGS:
                raise UnusableAnswerError("the answer is in an encoding that was not asked for")
            compressed = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding in _ENCODINGS[2:] else None
            content = bytearray()
            async for piece in response.aiter_raw():
                room = MAX_ANSWER + 1 - len(content)
                content += piece if compressed is None else _expanded(compressed, piece, room)
                if len(content) > MAX_ANSWER:
                    limit = f"{MAX_ANSWER >> 20} MiB"
                    raise UnusableAnswerError(f"the answer is larger than {limit}")
            return EndpointAnswer(response.status_code, response.headers, bytes(content))

    def close(self) -> None:
        """Closes the connections; requests under way fail."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop)
            self._thread.join()

    async def _shut_down(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()
        self._loop.stop()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _reason(error: BaseException) -> str:
    """The innermost reason that an exception gives."""
    while True:
        if isinstance(error, OSError) and error.errno is not None:
            return os.strerror(error.errno)
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
        inner = inner or error.__cause__ or error.__context__
        if inner is None:
            return str(error) or type(error).__name__
        error = inner


def _expanded(compressed: zlib._Decompress, piece: bytes, room: int) -> bytes:
    try:
        return compressed.decompress(piece, room)
    except zlib.error:
        raise UnusableAnswerError("the answer is not compressed as it says") from None
