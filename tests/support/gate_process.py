"""Servers of a resident gate as processes of their own, for tests that kill them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from bylaw.client import RemoteGuard

AGENT, PERSON = "agent-token-of-tests", "person-token-of-tests"
TOKENS = f"agent desk {AGENT}\nperson ada {PERSON}\n"


class GateProcess:
    """`bylaw serve` in a process of its own, on a free port."""

    def __init__(self, folder: Path, procedure: Path, store: str, *options: str) -> None:
        self._guards: list[RemoteGuard] = []
        self._errors = folder / "errors.txt"
        tokens = folder / "tokens.txt"
        tokens.write_text(TOKENS)
        self._command = [
            *(sys.executable, "-m", "bylaw.cli.main", "serve", "--json", "-p", str(procedure)),
            *("--store", store, "--token-file", str(tokens), "--port", "0", *options),
        ]
        self.start()

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "BYLAW_TRACEBACK"}
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server did not start: {self._errors.read_text()}"
        self.address: str = json.loads(line)["address"]

    def kill(self) -> None:
        """Ends the process as `kill -9` does."""
        self.process.kill()
        self.process.wait(30)
        self._close()

    def stop(self) -> int:
        """Ends the process as an operator does; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self._close()
        return code

    def _close(self) -> None:
        self.close_guards()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def guard(self, **options: Any) -> RemoteGuard:
        """A run of an agent's."""
        self._guards.append(RemoteGuard(self.address, AGENT, **options))
        return self._guards[-1]

    def person(self, run: str) -> RemoteGuard:
        """The same run as a person sees it."""
        self._guards.append(RemoteGuard(self.address, PERSON, run=run))
        return self._guards[-1]

    def close_guards(self) -> None:
        """Closes the connections of all guards."""
        while self._guards:
            self._guards.pop().close()
