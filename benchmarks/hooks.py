"""Hooks: the time that a coding agent waits for the gate, event by event.

    python benchmarks/hooks.py [--processes 21] [--events 300]

A command is started for each event: processor and wall time of fresh processes, in turns with a
bare interpreter. On a machine with other work, only the processor time says much.
A gate that listens: round trips over one connection, in turns with requests for `/health`, which
the same server answers without a gate.

The procedures are the first five rules of the one that `bylaw init --from coding` writes, these
with thirty more rules of `startup.py`, and all packaged rules: in a session that begins, and after
five hundred calls, in which files were listed, read, edited, tested and committed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any, Final

import startup
import table
import yaml

from bylaw import Procedure
from bylaw.procedure import packaged
from bylaw.protocols.claude_code import handled
from bylaw.protocols.hook_gate import HookGate
from bylaw.protocols.store import SessionStore

BUDGET: Final = 150
"""Milliseconds for a command without a server."""
PACKAGED: Final = Path(packaged.__file__).with_name("coding.yaml")
LONG: Final = 500
"""The calls of a long session."""
TITLES: Final = {
    "5 rules": "5 rules",
    "34 rules": "34 rules",
    "packaged": "packaged, first calls",
    "long": f"packaged, after {LONG} calls",
}
OPTIONS: Final = {"soft_block": "in-a-row", "soft_block_limit": 10}
"""The options of the command."""
START: Final = {"hook_event_name": "SessionStart", "session_id": "s"}


def event(number: int, name: str = "PreToolUse") -> dict[str, Any]:
    """An event about a call that every rule has to look at."""
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": f"ls {number}"},
        "tool_use_id": str(number),
    }
    answer = {"tool_response": {"stdout": "x" * 200}} if name == "PostToolUse" else {}
    return {"hook_event_name": name, "session_id": "s", **call, **answer}


def first_rules(folder: Path, name: str, more: Sequence[str] = ()) -> Path:
    """A file with the first five packaged rules, and others."""
    rules = yaml.safe_load(PACKAGED.read_text())
    added = [{"name": f"r{n}", "rule": rule} for n, rule in enumerate(more)]
    rules["constraints"] = [*rules["constraints"][:5], *added]
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(rules))
    return path


def work(number: int) -> tuple[str, dict[str, str]]:
    """A call of a session that goes from file to file."""
    file = f"src/module_{number // 5}.py"
    return [
        ("Bash", {"command": f"git status && ls src/part_{number // 5}"}),
        ("Read", {"file_path": file}),
        ("Edit", {"file_path": file, "old_string": "a" * 200, "new_string": "b" * 200}),
        ("Bash", {"command": f"pytest -q tests/test_{number // 5}.py"}),
        ("Bash", {"command": f"git add {file} && git commit -m 'part {number // 5}'"}),
    ][number % 5]


def long_session(folder: Path) -> None:
    """A session of the packaged procedure with many calls."""
    gate = HookGate(Procedure.load(PACKAGED), SessionStore(folder), options=OPTIONS)
    handled(gate, START)
    for number in range(LONG):
        tool, given = work(number)
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": f"long-{number}"}
        before = {"session_id": "s", "hook_event_name": "PreToolUse", **call}
        if answer := handled(gate, before):
            raise AssertionError(answer)
        response = {"tool_response": {"stdout": "x" * 2_000}}
        handled(gate, {**before, "hook_event_name": "PostToolUse", **response})
        handled(gate, {**START, "hook_event_name": "PostToolBatch"})
    gate.store.close()


def milliseconds(command: list[str], text: str) -> tuple[float, float]:
    """Processor and wall time of one process."""
    before, begin = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    wall, after = time.perf_counter() - begin, getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used * 1000, wall * 1000


def commands(folder: Path, processes: int) -> list[list[str]]:
    """Rows for each procedure, and one for a bare interpreter."""
    long_session(folder / "long")
    gates: dict[str, list[str]] = {}
    more = [rule for rule in startup.RULES if "says" not in rule]
    for name, rules in (
        ("5 rules", first_rules(folder, "5")),
        ("34 rules", first_rules(folder, "34", more)),
        ("packaged", PACKAGED),
        ("long", PACKAGED),
    ):
        gates[name] = [sys.executable, "-P", "-m", "bylaw", "hook", "claude-code", "-p", str(rules)]
        gates[name] += ["--state", str(folder / name)]
        milliseconds(gates[name], json.dumps(START))
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(processes):  # in turns: the machine may have other work
        bare = milliseconds([sys.executable, "-c", "pass"], "")
        times.setdefault(("bare interpreter", ""), []).append(bare)
        for kind in ("PreToolUse", "PostToolUse"):
            for name, command in gates.items():
                taken = milliseconds(command, json.dumps(event(number, kind)))
                times.setdefault((TITLES[name], kind), []).append(taken)
    rows = []
    for (name, kind), all_taken in times.items():
        used, wall = (median(each) for each in zip(*all_taken, strict=True))
        rows.append([name, kind, f"{used:.0f}", f"{wall:.0f}"])
        if kind:
            title = f"processor time, {name}, {kind}"
            table.target(title, used, BUDGET, at_least=False, unit="ms")
    return rows


def listening(folder: Path, events: int) -> list[list[str]]:
    """Round trips to a gate that listens, beside those that only the server answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gate = [sys.executable, "-m", "bylaw", "hook", "claude-code", "-p", str(PACKAGED)]
    gate += ["--state", str(folder / "http"), "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(gate, stderr=subprocess.DEVNULL) as server:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        token = (folder / "http" / "token").read_text()
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def trip(method: str, path: str, body: Any = None) -> float:
            told = {"Authorization": f"Bearer {token}"}
            begin = time.perf_counter()
            connection.request(method, path, json.dumps(body) if body else None, told)
            connection.getresponse().read()
            return (time.perf_counter() - begin) * 1000

        trip("POST", "/claude-code", START)
        bare, hook = [], []
        for number in range(events):
            bare.append(trip("GET", "/health"))
            hook.append(trip("POST", "/claude-code", event(number)))
            hook.append(trip("POST", "/claude-code", event(number, "PostToolUse")))
            trip("POST", "/claude-code", {**START, "hook_event_name": "PostToolBatch"})
        server.kill()
    early, late = median(hook[: events // 2]), median(hook[-events // 2 :])
    return [["round trip", f"{median(bare):.2f}", f"{early:.2f}", f"{late:.2f}"]]


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=21)
    parser.add_argument("--events", type=int, default=300)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as scratch:
        rows = commands(Path(scratch), options.processes)
        table.show("A command for each event, ms", ["process", "event", "processor", "wall"], rows)
        rows = listening(Path(scratch), options.events)
        titles = ["", "no gate", "first events", "last events"]
        table.show("A gate that listens, ms", titles, rows)


if __name__ == "__main__":
    main()
