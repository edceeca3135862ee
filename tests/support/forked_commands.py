"""Commands in processes of their own, without the time that Python and its imports take to start.

A server imports Bylaw once and forks for each command. The child has its own descriptors, folder,
environment and limits, as a new process has. It does not show how a command starts: tests of
imports, of the interpreter's options, and of how a process ends start a real one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = (
    *("batch.corpus", "batch.comparison", "mining.mine", "procedure.yaml_document"),
    *("cli.verify_traces", "reports.ci.terminal_text", "reports.ci.across_text"),
)
"""Modules of Bylaw that many commands import only when they need them."""
_LARGEST = 1 << 20
"""The size of one request, in bytes."""
_TIMEOUT = 120
"""The seconds that a command may take."""


class CommandServer:
    """The process that forks for each command, as its client sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server."""
        self._socket.close()
        self._process.wait()

    def start(self, request: Mapping[str, Any], output: int) -> None:
        """Starts a command whose two streams go to a descriptor. If it hangs, it is killed."""
        self._alarm = threading.Timer(_TIMEOUT, os.killpg, (self._process.pid, signal.SIGKILL))
        self._alarm.start()
        socket.send_fds(self._socket, [json.dumps(request).encode()], [output])

    def wait(self) -> int:
        """The exit code of the command that was started."""
        answer = self._socket.recv(100)
        self._alarm.cancel()
        self._alarm.join()
        if not answer:
            _server.cache_clear()
            raise TimeoutError("the command took too long")
        return int(answer)


@cache
def _server() -> CommandServer:
    return CommandServer()


def start_command(
    arguments: Sequence[str],
    *,
    folder: Path,
    output: int,
    environment: Mapping[str, str] | None = None,
    largest_file: int | None = None,
) -> CommandServer:
    """Starts `bylaw` with these arguments; wait for its end before the next one is started."""
    request = {
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": dict(os.environ if environment is None else environment),
        "largest_file": largest_file,
    }
    server = _server()
    server.start(request, output)
    return server


def run_command(
    arguments: Sequence[str], *, folder: Path, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Runs `bylaw` with these arguments; `stdout` has both of its streams, as on a terminal."""
    reader, writer = os.pipe()
    try:
        server = start_command(arguments, folder=folder, output=writer, **more)
    finally:
        os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as output:
        shown = output.read()
    return subprocess.CompletedProcess(list(arguments), server.wait(), shown)


# ── the server ───────────────────────────────────────────────────────────────────────────────


def _serve(descriptor: int) -> None:
    from bylaw.cli.main import COMMANDS, module_of

    for name in COMMANDS:
        importlib.import_module(module_of(name))
    for name in PRELOADED:
        importlib.import_module(f"bylaw.{name}")
    gc.freeze()  # or every child would copy all that was imported
    with socket.socket(fileno=descriptor) as requests:
        while True:
            request, outputs, _, _ = socket.recv_fds(requests, _LARGEST, 1)
            if not request:
                return
            child = os.fork()
            if child == 0:
                requests.close()
                _be_the_command(json.loads(request), outputs[0])
            os.close(outputs[0])
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            requests.send(str(code).encode())


def _be_the_command(request: dict[str, Any], output: int) -> NoReturn:
    from bylaw.cli.main import main

    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        sys.stdout, sys.stderr = _unbuffered(1), _unbuffered(2)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = ["bylaw", *request["arguments"]]
        sys.path[0] = ""  # as for `python -m bylaw`
        if (largest := request["largest_file"]) is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        os._exit(code)


def _unbuffered(descriptor: int) -> io.TextIOWrapper:
    """A standard stream that keeps nothing back, so that two of them stay in order."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", write_through=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
