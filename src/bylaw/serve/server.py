"""Running a resident gate under uvicorn, on a Unix socket or on a port."""

from __future__ import annotations

import gc
import os
import signal
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from bylaw.errors import Diagnostic, UsageError
from bylaw.serve.application import Application
from bylaw.serve.connections import LimitedConnection

BACKLOG: Final = 1024
SHUTDOWN: Final = 5
"""The time for requests that are under way when the server stops, in seconds."""
SWITCH_INTERVAL: Final = 0.001
"""The time after which one Python thread makes room for another: the workers and the event loop
hand requests to each other all the time, and Python's 5 ms would be added to many."""
COLLECT_AFTER: Final = (20_000, 20, 50)
"""The thresholds of the garbage collector. With Python's own, thousands of runs in memory are
searched for garbage again and again, while requests wait."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on a port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise _unusable(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return made


def listening_at(path: Path) -> socket.socket:
    """A Unix socket that only this user can connect to. One that a dead server left is replaced."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode) and not _answers(path):
            path.unlink()
        before = os.umask(0o177)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise _unusable(f"cannot listen on {path}: {error.strerror or error}") from None
    return made


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _unusable(message: str) -> UsageError:
    return UsageError(Diagnostic("E462", message, "Choose another --port or --unix."))


class _Server(uvicorn.Server):  # type: ignore[misc]  # uvicorn is not followed
    """uvicorn's server, which tells those who watch that it stops."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application: Final = application

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._application.changes.closing = True
        super().handle_exit(sig, frame)


def _allow_connections() -> None:
    """Lets the process have as many open files as it may: many systems begin with 1,024."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve(application: Application, sockets: list[socket.socket]) -> None:
    """Serves until SIGINT or SIGTERM. Requests under way are answered; then the gate is closed."""
    _allow_connections()
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    config = uvicorn.Config(
        application.starlette(),
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN,
        timeout_keep_alive=75,
    )
    for each in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has stopped
        signal.signal(each, lambda *_: None)
    paths = [each.getsockname() for each in sockets if each.family == socket.AF_UNIX]
    try:
        _Server(config, application).run(sockets=sockets)
    finally:
        application.gate.close()
        for path in paths:
            with suppress(OSError):
                Path(path).unlink()
