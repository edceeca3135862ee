"""No failure allows a forbidden call or loses an acknowledged entry."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gate_notation import said

from bylaw import BylawError, Call, Procedure, Vocabulary
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.log import AuditLog, LogError, check, read_log


def _procedure(vocabulary: Vocabulary | None = None, **rules: str) -> Procedure:
    constraints = []
    for name, text in rules.items():
        severity, _, rule = text.partition(": ")
        constraints.append({"name": name, "rule": rule, "severity": severity})
    return Procedure.from_dict({"constraints": constraints}, vocabulary=vocabulary or Vocabulary())


# ── concurrency ───────────────────────────────────────────────────────────────────────────

SHARED = _procedure(
    few="SOFT_BLOCK: CalledN(pay, <= 12)",
    not_after="BLOCK_AND_WARN: G(pay -> !O freeze) | CalledN(get, <= 30)",
    paired="SOFT_BLOCK: G(ship -> O pay)",
)


def _turns(seed: int, number: int) -> list[list[Call]]:
    random = Random(seed)
    tools = ["pay", "get", "ship", "freeze", "other"]
    return [
        [
            Call(random.choice(tools), {"n": random.randrange(3)})
            for _ in range(random.randrange(1, 4))
        ]
        for _ in range(number)
    ]


def _serial(path: Path) -> list[tuple[Any, ...]]:
    """The decisions on the same turns, proposed one after the other in the order of the log."""
    turns: dict[int, list[Call]] = {}
    for entry in read_log(path):
        if entry["kind"] == "decision":
            turns.setdefault(entry["turn"], []).append(Call(entry["tool"], entry["arguments"]))
    guard = Guard(SHARED, soft_block_limit=10_000)
    found = []
    for turn, calls in turns.items():
        while guard.turn < turn:
            guard.propose([])
        for decision in guard.propose(calls):
            found.append((decision.turn, decision.index, said(decision)))
            if decision.allowed:
                guard.record(decision, "done")
    return found


def test_decisions_of_ten_threads_are_serializable(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        guard = Guard(SHARED, soft_block_limit=10_000, log=log)
        found: list[tuple[Any, ...]] = []

        def work(seed: int) -> None:
            for calls in _turns(seed, 20):
                for decision in guard.propose(calls):
                    found.append((decision.turn, decision.index, said(decision)))
                    if decision.allowed:
                        guard.record(decision, "done")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {turn for turn, _, _ in found} == set(range(200))
    assert sorted(found) == _serial(path)
    assert check(path).problem is None


def test_decisions_of_a_hundred_tasks_are_serializable(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    async def main(guard: Guard) -> list[tuple[Any, ...]]:
        async def work(seed: int) -> list[tuple[Any, ...]]:
            found = []
            for calls in _turns(seed, 3):
                await asyncio.sleep(0)
                for decision in await guard.propose_async(calls):
                    found.append((decision.turn, decision.index, said(decision)))
                    if decision.allowed:
                        guard.record(decision, "done")
            return found

        found = await asyncio.gather(*map(work, range(100)))
        return [each for part in found for each in part]

    with AuditLog(path, durable=False) as log:
        found = asyncio.run(main(Guard(SHARED, soft_block_limit=10_000, log=log)))
    assert {turn for turn, _, _ in found} == set(range(300))
    assert sorted(found) == _serial(path)


def test_guards_may_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path, durable=False) as log:

        def work() -> None:
            guard = Guard(SHARED, log=log)
            for calls in _turns(1, 30):
                guard.propose(calls)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = check(path)
    assert (found.problem, found.torn) == (None, 0)
    assert found.entries == 8 * sum(map(len, _turns(1, 30)))


# ── functions of users that raise ──────────────────────────────────────────────────────────


def _failing() -> Vocabulary:
    words = Vocabulary()

    @words.predicate
    def careful(trace: Any, at: int, metrics: Any) -> bool:
        return bool(trace.calls[at].args["amount"] < 10)

    @words.extractor
    def amounts(trace: Any, metrics: Any) -> list[Any]:
        return [call.args["amount"] for call in trace.calls]

    return words


@pytest.mark.parametrize("rule", ["G(pay -> careful())", "forall a in amounts(): a < 10"])
def test_a_predicate_that_raises_refuses(rule: str) -> None:
    guard = Guard(_procedure(_failing(), small=f"SOFT_BLOCK: {rule}"), unenforceable="score")
    (decision,) = guard.propose([Call("pay", {"amount": 5})])
    assert decision.allowed
    (decision,) = guard.propose([Call("pay", {"sum": 5})])
    assert said(decision) == "block:small"
    assert decision.violations[0].kind == "error"
    assert "Rule small: it could not be decided" in decision.message
    assert "raised KeyError: 'amount'" in decision.message
    (decision,) = guard.propose([Call("pay", {"amount": 6})])
    assert decision.allowed, "the refused call has no effect"
    assert guard.finish().label == "FULL"


def test_a_rule_that_cannot_be_decided_has_no_score() -> None:
    guard = Guard(_procedure(_failing(), small="TOLERATE: G(pay -> careful())"))
    assert guard.propose([Call("pay")])[0].allowed
    report = guard.finish()
    assert (report.score, report.label) == (None, None)
    assert report.reason == "could not be decided: small"
    assert report.constraints[0].passed is None


def test_a_comparator_that_raises_on_a_result_loses_the_rule_and_enforces_it_further() -> None:
    words = Vocabulary()

    @words.comparator
    def compare(actual: Any, expected: Any) -> bool:
        return bool(actual["id"] == expected["id"])

    rule = 'SOFT_BLOCK: (CalledWithResult(get, {"id": 1}) | CalledN(get, <= 5)) & G !erase'
    guard = Guard(
        _procedure(words, found=rule, other="SOFT_BLOCK: G !call(get, failed)"),
        unenforceable="score",
    )
    (decision,) = guard.propose([Call("get")])
    guard.record(decision, "no object at all")
    assert [(event.action, event.constraint) for event in guard.events] == [("lost", "found")]
    got, erased = guard.propose([Call("get"), Call("erase")])
    assert got.allowed
    assert said(erased) == "block:found"
    assert guard.finish().score is None


# ── a log that cannot be written ──────────────────────────────────────────────────────────

_FULL_DISK = """
import json, resource, sys
from bylaw import Call, Procedure
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.log import AuditLog

resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
rule = {"name": "few", "rule": "CalledN(pay, <= 100)"}
guard = Guard(Procedure.from_dict({"constraints": [rule]}), log=AuditLog(sys.argv[1]))
told = []
for number in range(20):
    for decision in guard.propose([Call("pay", {"n": number}), Call("pay", {"n": number})]):
        told.append([decision.action, decision.message])
report = guard.finish()
print(json.dumps({"told": told, "score": report.score, "reason": report.reason}))
"""


def test_a_full_disk_refuses(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    command = [sys.executable, "-c", _FULL_DISK, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    actions = [action for action, _ in found["told"]]
    allowed = actions.count("allow")
    assert 0 < allowed < 20
    assert actions == ["allow"] * allowed + ["stop"] * (40 - allowed)
    assert "the log cannot be written: File too large" in found["told"][allowed][1]
    assert found["score"] is None
    assert "File too large" in found["reason"]
    held = check(path)
    assert (held.torn, held.problem) == (0, None), "no half of a turn"
    assert [e.get("action") for e in read_log(path)].count("allow") == allowed
    with AuditLog(path) as log:  # there is room again
        log.append([{"kind": "decision"}])
    assert check(path).entries == held.entries + 1


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    guard = Guard(_procedure(never="SOFT_BLOCK: G !a"), log=log)
    assert guard.propose([Call("b")])[0].allowed
    log.close()
    assert said(guard.propose([Call("b")])[0]) == "stop"
    assert said(guard.propose([Call("b")])[0]) == "stop"


def test_a_result_is_recorded_although_the_log_is_full(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    guard = Guard(_procedure(fine="HARD_STOP: G !call(get, failed)"), log=log)
    (decision,) = guard.propose([Call("get")])
    log.close()
    guard.record(decision, None, error="timeout")  # the tool did run
    assert said(guard.propose([Call("b")])[0]) == "stop", "its loss is not on record"


@pytest.mark.parametrize("name", [".", "missing/log.jsonl", "fifo"])
def test_a_path_that_cannot_be_a_log_is_reported_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(LogError, match="the log cannot be written"):
        AuditLog(tmp_path / name)


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path), pytest.raises(LogError, match="another writer has it open"):
        AuditLog(path)
    AuditLog(path).close()


# ── crashes ───────────────────────────────────────────────────────────────────────────────

# One process forks a writer for each kill. SIGKILL ends it after a given number of bytes is in the
# file, within a line or between two. It acknowledges decisions through a pipe.
_KILLED = """
import json, os, signal, sys
from random import Random
from bylaw import Call, Procedure
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.log import AuditLog

folder, kills, durable = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "durable"
rule = {"name": "few", "rule": "CalledN(pay, <= 3)", "severity": "BLOCK_AND_WARN"}
procedure = Procedure.from_dict({"constraints": [rule]})


class Dying:
    "A file that writes so many bytes, and no more."

    def __init__(self, file, left):
        self.file, self.left = file, left

    def write(self, data):
        written = self.file.write(data[: self.left])
        self.left -= written
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    def __getattr__(self, name):
        return getattr(self.file, name)


def work(path, left, pipe):
    log = AuditLog(path, durable=durable)
    log._file = Dying(log._file, left)
    guard = Guard(procedure, log=log)
    number = 0
    while True:
        calls = [Call("pay", {"n": number + i}) for i in range(number % 3 + 1)]
        number += len(calls)
        for decision in guard.propose(calls):
            told = [decision.turn, decision.index, decision.action]
            os.write(pipe, json.dumps(told).encode() + b"\\n")


random = Random(7)
for kill in range(kills):
    path = os.path.join(folder, f"{kill}.jsonl")
    left = random.randint(1, 6000)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        work(path, left, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        heard = [json.loads(line) for line in pipe if line.endswith(b"\\n")]
    _, status = os.waitpid(child, 0)
    print(json.dumps({"path": path, "left": left, "heard": heard, "signal": os.WTERMSIG(status)}))
"""


def test_two_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(tmp_path), "200", "durable"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    torn = 0
    for line in run.stdout.splitlines():
        kill = json.loads(line)
        path = Path(kill["path"])
        assert kill["signal"] == 9
        assert path.stat().st_size == kill["left"]
        before = check(path)
        assert before.problem is None
        assert before.good + before.torn == kill["left"]
        torn += bool(before.torn)
        with AuditLog(path, durable=False) as log:
            assert log.entries == before.entries
            log.append([{"kind": "reopened"}])
        entries = list(read_log(path))
        assert check(path).entries == len(entries) == before.entries + 1
        assert check(path).torn == 0
        held = [[e["turn"], e["index"], e["action"]] for e in entries[:-1]]
        assert held[: len(kill["heard"])] == kill["heard"]
    assert torn > 150, "the kills fall into lines, not only between them"


# ── tampering ─────────────────────────────────────────────────────────────────────────────


def _log(path: Path) -> list[bytes]:
    with AuditLog(path, durable=False) as log:
        guard = Guard(_procedure(few="SOFT_BLOCK: CalledN(pay, <= 3)"), log=log)
        for number in range(6):
            guard.propose([Call("pay", {"n": number})])
    return path.read_bytes().splitlines(keepends=True)


def _reordered(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


TAMPERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "an argument changed": lambda ls: [*ls[:2], ls[2].replace(b'"n":2', b'"n":7', 1), *ls[3:]],
    "an action changed": lambda ls: [*ls[:4], ls[4].replace(b'"block"', b'"allow"'), *ls[5:]],
    "a byte of white space added": lambda ls: [ls[0].replace(b":", b": ", 1), *ls[1:]],
    "the first removed": lambda ls: ls[1:],
    "one removed": lambda ls: [*ls[:2], *ls[3:]],
    "one inserted": lambda ls: [*ls[:2], ls[2], *ls[2:]],
    "reordered": _reordered,
    "a line cut": lambda ls: [*ls[:2], ls[2][:-20] + b"\n", *ls[3:]],
    "a line cut with its end": lambda ls: [*ls[:2], ls[2][:-20], *ls[3:]],
    "an empty line": lambda ls: [*ls[:2], b"\n", *ls[2:]],
    "another document": lambda ls: [b"[]\n", *ls],
    "something added after a hash": lambda ls: [
        *ls[:4],
        ls[4].removesuffix(b"}\n") + b',"action":"allow"}\n',
        *ls[5:],
    ],
    "brackets without end": lambda ls: [b"[" * 200_000 + b"\n", *ls],
    "the last hash forged": lambda ls: [*ls[:-1], ls[-1][:-10] + b'00000"}\n'],
}


@pytest.mark.parametrize("how", TAMPERED)
def test_tampering_is_found(how: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = _log(path)
    assert check(path).problem is None
    path.write_bytes(b"".join(TAMPERED[how](lines)))
    assert check(path).problem is not None
    with pytest.raises(LogError, match="the log is not intact"):
        AuditLog(path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = b"".join(_log(path))
    random = Random(3)
    for _ in range(300):
        at = random.randrange(len(whole) - 1)  # without the last newline, the last line is torn
        flipped = bytearray(whole)
        flipped[at] ^= 1 << random.randrange(8)
        path.write_bytes(flipped)
        assert check(path).problem is not None, at


def test_a_saved_run_of_another_procedure_is_not_restored() -> None:
    saved = Guard(_procedure(one="SOFT_BLOCK: G !a")).save()
    for other in ("SOFT_BLOCK: G !b", "HARD_STOP: G !a"):
        with pytest.raises(BylawError, match="of another procedure"):
            Guard(_procedure(one=other)).restore(saved)
    with pytest.raises(BylawError, match="of another procedure"):
        Guard(_procedure(one="SOFT_BLOCK: G !a"), setting="baseline").restore(saved)
