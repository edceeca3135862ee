"""A gate before an MCP server that speaks over standard input and output.

One process is one run. The server is a child process; its standard error is ours. If it ends, open
requests are answered with an error, and the gate ends, too. A call that was allowed and never
answered stays outstanding.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import BinaryIO, Final, TypeVar

from bylaw.errors import Diagnostic, UsageError
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.hooked_run import HookedRun
from bylaw.protocols.mcp import McpRelay

_T = TypeVar("_T")

MAX_LINE: Final = 64 * 2**20
"""The longest message that is read, in bytes."""
GRACE: Final = 10.0
"""The seconds that a server has to end once its input is closed."""


class StdioProxy:
    """Stands between a client and a server that it starts."""

    def __init__(self, gate: HookGate, server: Sequence[str], **how: bool) -> None:
        self._gate: Final = gate
        self._relay: Final = McpRelay(**how)
        self._session: Final = f"mcp {os.urandom(8).hex()}"
        self._lock: Final = threading.Lock()
        """Held while a message is judged and answered, so that ids and answers keep in step."""
        self._ended: Final = threading.Event()
        """Is one side gone?"""
        self._drained: Final = threading.Event()
        """Has everything been passed on that the server wrote?"""
        try:
            self._server: Final = subprocess.Popen(
                list(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except (OSError, ValueError) as error:
            message = f"cannot start {server[0]}: {error}"
            help = "Name the server's command after `--`."
            raise UsageError(Diagnostic("E475", message, help)) from None
        self._handle(lambda run: None, begins=True)

    def run(self, read: BinaryIO, write: BinaryIO) -> int:
        """Relays messages until one side ends. Returns the exit code of the server."""
        self._read, self._write = read, write
        for each in (self._from_client, self._from_server):
            threading.Thread(target=self._relaying, args=(each,), daemon=True).start()
        self._ended.wait()
        code = self._end()
        self._drained.wait(GRACE)
        return code

    def _relaying(self, direction: Callable[[], None]) -> None:
        try:
            direction()
        finally:
            self._ended.set()

    def _from_client(self) -> None:
        while line := self._read.readline(MAX_LINE):
            if not line.endswith(b"\n") and len(line) >= MAX_LINE:
                return  # what follows would not be the start of a message
            if not line.strip():
                continue
            with self._lock:
                relayed = self._handle(partial(_swapped, self._relay.from_client, line))
                if relayed.to_client is not None:
                    self._answer(relayed.to_client)
                if relayed.to_server is not None and not self._send(relayed.to_server):
                    return

    def _send(self, line: bytes) -> bool:
        assert self._server.stdin is not None, "it is a pipe"
        try:
            self._server.stdin.write(line)
            self._server.stdin.flush()
        except OSError:
            return False
        return True

    def _from_server(self) -> None:
        try:
            self._heard()
        finally:
            self._drained.set()

    def _heard(self) -> None:
        assert self._server.stdout is not None, "it is a pipe"
        while line := self._server.stdout.readline():
            with self._lock:
                heard = self._handle(partial(_swapped, self._relay.from_server, line))
                self._answer(heard)
        with self._lock:
            for answer in self._relay.lost():
                self._answer(answer)

    def _answer(self, line: bytes) -> None:
        try:
            self._write.write(line)
            self._write.flush()
        except (OSError, ValueError):
            pass  # the client is gone, and its end of the pipe will say so

    def _handle(self, work: Callable[[HookedRun], _T], *, begins: bool = False) -> _T:
        return self._gate.handle(self._session, work, begins=begins)

    def _end(self) -> int:
        if self._server.stdin is not None:
            with suppress(OSError):
                self._server.stdin.close()
        try:
            return self._server.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            return self._server.wait()


def _swapped(hear: Callable[[HookedRun, bytes], _T], line: bytes, run: HookedRun) -> _T:
    return hear(run, line)
