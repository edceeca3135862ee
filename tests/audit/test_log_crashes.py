"""Processes that are killed and machines that lose power: no acknowledged decision is lost.

`BYLAW_LOG_KILLS=1000` and `BYLAW_LOG_POWER_CUTS=10000` run more of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from random_cases import chosen_number
from system_calls import intercepted

from bylaw import AuditLog
from bylaw.audit.check import check
from bylaw.audit.reader import read_log
from bylaw.audit.torn import SECTOR

KILLS = chosen_number("BYLAW_LOG_KILLS", 40)
POWER_CUTS = chosen_number("BYLAW_LOG_POWER_CUTS", 300)

# One process forks a writer for each kill. It acknowledges decisions through a pipe, and SIGKILL
# ends it: every other time in the middle of a write, otherwise before or after some system call.
_KILLED = """
import json, os, signal, sys
from random import Random
from bylaw import AuditLog, Call, Guard, Procedure

folder, kills = sys.argv[1], int(sys.argv[2])
rule = {"name": "few", "rule": "CalledN(pay, <= 3)", "severity": "BLOCK_AND_WARN"}
procedure = Procedure.from_dict({"constraints": [rule]})
key = b"a key of some secret bytes"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def arm(random, inside):
    "Makes one of the next system calls the last."
    left = [random.randrange(12 if inside else 40)]
    real_write = os.write

    def last():
        left[0] -= 1
        return left[0] < 0

    def write(descriptor, data):
        if descriptor == pipe_end or not (inside or last()):
            if descriptor != pipe_end and inside and last():
                real_write(descriptor, bytes(data)[: random.randrange(1, len(data))])
                die()
            return real_write(descriptor, data)
        if inside and not last():
            return real_write(descriptor, data)
        if inside:
            real_write(descriptor, bytes(data)[: random.randrange(1, len(data))])
        elif random.random() < 0.5:
            real_write(descriptor, data)
        die()

    def wrapped(real):
        def call(*arguments):
            if inside or not last():
                return real(*arguments)
            if random.random() < 0.5:
                real(*arguments)
            die()
        return call

    os.write = write
    os.fdatasync, os.stat = wrapped(os.fdatasync), wrapped(os.stat)


def work(path, random, inside, pipe):
    log = AuditLog(path, key=key if random.random() < 0.5 else None)
    guard = Guard(procedure, log=log)
    arm(random, inside)
    number = 0
    while True:
        calls = [Call("pay", {"n": number + i}) for i in range(number % 3 + 1)]
        number += len(calls)
        for decision in guard.propose(calls):
            told = [decision.turn, decision.index, decision.action]
            os.write(pipe, json.dumps(told).encode() + b"\\n")
            if decision.allowed:
                guard.record(decision, "x" * random.randrange(600))


for kill in range(kills):
    path = os.path.join(folder, f"{kill}.jsonl")
    reading, pipe_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        work(path, Random(kill), kill % 2 == 0, pipe_end)
    os.close(pipe_end)
    with open(reading, "rb") as pipe:
        heard = [json.loads(line) for line in pipe if line.endswith(b"\\n")]
    _, status = os.waitpid(child, 0)
    print(json.dumps({"path": path, "heard": heard, "signal": os.WTERMSIG(status)}))
"""


def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(tmp_path), str(KILLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    states: Counter[str] = Counter()
    for line in run.stdout.splitlines():
        kill = json.loads(line)
        path = Path(kill["path"])
        assert kill["signal"] == 9
        before = check(path)
        states[before.state] += 1
        held = [
            [entry.content[name] for name in ("turn", "index", "action")]
            for entry in read_log(path)
            if entry.kind == "decision"
        ]
        assert held[: len(kill["heard"])] == kill["heard"]
        key = b"a key of some secret bytes" if before.key else None
        with AuditLog(path, durable=False, key=key) as log:
            assert log.entries == before.entries + 1
            assert (log.set_aside is None) is (before.torn == 0)
        assert check(path).state == "intact"
    assert states.total() == KILLS
    assert states["altered"] == 0
    assert states["torn"] >= KILLS * 0.45, "half of the kills fall into a write"
    print(f"{KILLS} kills: {dict(states)}")


class PowerCut(BaseException):
    """The machine stops here."""


class Disk:
    """A file on a disk: the synced part, and any sectors of what was written since."""

    def __init__(self, path: Path, random: Random, calls: int) -> None:
        self.path, self.random, self.left = path, random, calls
        self.synced = self.written = b""

    def at_call(self, name: str, _: tuple[Any, ...]) -> None:
        """The power may fail before a system call, or in the middle of a sync."""
        if name not in ("write", "fdatasync"):
            return
        self.left -= 1
        if self.left < 0:
            self.written = self.path.read_bytes()  # the program does nothing after this
            raise PowerCut

    def remains(self) -> bytes:
        """The file after the power cut: sectors that were not synced are there, or are zeros."""
        written = self.written
        size = self.random.choice(
            [len(self.synced), len(written), self.random.randint(len(self.synced), len(written))]
        )
        image = bytearray(written[:size])
        for start in range(len(self.synced) // SECTOR * SECTOR, size, SECTOR):
            end = min(start + SECTOR, size)
            if self.random.random() < 0.5:
                image[start:end] = self.synced[start:end].ljust(end - start, b"\0")
        return bytes(image)


def test_power_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    states: Counter[str] = Counter()
    for number in range(POWER_CUTS):
        random = Random(number)
        path = tmp_path / f"{number}.jsonl"
        disk = Disk(path, random, random.randrange(14))
        acknowledged: list[int] = []
        log: AuditLog | None = None
        try:
            with intercepted(disk.at_call):
                log = AuditLog(path)
                disk.synced = path.read_bytes()
                for entry in range(20):
                    batch = [
                        {"kind": "decision", "id": entry, "text": "x" * random.randrange(900)}
                        for _ in range(random.randrange(1, 5))
                    ]
                    log.append(batch, sync=random.random() < 0.8 or entry == 19)
                    if log._synced == log._written:
                        acknowledged = list(range(entry + 1))
                        disk.synced = disk.written = path.read_bytes()
        except PowerCut:
            pass
        log = None
        path.write_bytes(disk.remains())
        before = check(path)
        states[before.state] += 1
        assert before.state != "altered", (number, before)
        held = {e.content["id"] for e in read_log(path) if e.kind == "decision"}
        assert held >= set(acknowledged), number
        AuditLog(path, durable=False).close()
        assert check(path).state == "intact"
    assert states["torn"] > POWER_CUTS // 5
    print(f"{POWER_CUTS} power cuts: {dict(states)}")
