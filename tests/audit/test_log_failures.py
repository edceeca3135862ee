"""A log that cannot be written, was interrupted, forked or replaced: the gate allows nothing."""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from interrupts import Interrupt, chosen_lines, interrupted_at
from random_cases import ALL
from small_logs import KEY, PROCEDURE, write_log
from system_calls import CALLS, intercepted

from bylaw import AuditLog, Call, Guard, LogError, Procedure
from bylaw.audit.check import check
from bylaw.audit.reader import read_log

FREE: Final = Procedure.from_dict({"constraints": [{"name": "never", "rule": "G !forbidden"}]})


def _turn(guard: Guard, tool: str = "work") -> str:
    return guard.propose([Call(tool)])[0].action


def _decisions(path: Path) -> list[str]:
    return [entry.content["action"] for entry in read_log(path) if entry.kind == "decision"]


def _check_can_be_continued(path: Path) -> None:
    """The log is intact or torn, never altered, and intact once it was opened again."""
    assert check(path).state != "altered"
    AuditLog(path, durable=False).close()
    assert check(path).state == "intact"


# ── writes that fail ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("call", CALLS[:-1])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("part", [0, 100], ids=["at once", "after a part"])
def test_a_failure_at_each_system_call(call: str, code: int, part: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    guard, other = Guard(FREE, log=log), Guard(FREE, log=log)
    assert [_turn(guard), _turn(other)] == ["allow", "allow"]
    real_write = os.write

    def fail(name: str, arguments: tuple[Any, ...]) -> None:
        if name == call:
            if name == "write" and part:
                real_write(arguments[0], bytes(arguments[1])[:part])
            raise OSError(code, os.strerror(code))

    with intercepted(fail):
        assert _turn(guard) == "stop"
    assert [_turn(guard), _turn(other)] == ["stop", "stop"], "it does not recover by itself"
    assert guard.finish().score is None
    log.close()
    assert _decisions(path)[:2] == ["allow", "allow"]
    _check_can_be_continued(path)


@pytest.mark.parametrize("call", [*CALLS[:-1], "both"])
def test_a_failure_that_cannot_be_undone(call: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    guard = Guard(FREE, log=log)
    assert _turn(guard) == "allow"

    def fail(name: str, arguments: tuple[Any, ...]) -> None:
        if name in (call, "ftruncate") or (call == "both" and name in ("write", "fdatasync")):
            raise OSError(errno.EIO, "Input/output error")

    with intercepted(fail):
        assert _turn(guard) == "stop"
    log.close()
    assert _decisions(path)[0] == "allow"
    _check_can_be_continued(path)


_FULL_DISK = """
import json, resource, sys
from bylaw import AuditLog, Call, Guard, Procedure

resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
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
    assert check(path).state == "intact", "no half of a turn"
    assert _decisions(path) == ["allow"] * allowed
    _check_can_be_continued(path)


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    guard = Guard(FREE, log=log)
    assert _turn(guard) == "allow"
    log.close()
    assert [_turn(guard), _turn(guard)] == ["stop", "stop"]


def test_a_result_is_recorded_although_the_log_is_closed(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    guard = Guard(FREE, log=log)
    (decision,) = guard.propose([Call("get")])
    log.close()
    guard.record(decision, None, error="timeout")  # the tool did run
    assert _turn(guard) == "stop", "its result is not on record"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"kind": "x", "hash": "f"}, "a field that the log writes itself"),
        ({"kind": "x", "value": float("nan")}, "is not JSON"),
        ({"kind": "x", "value": object()}, "is not JSON"),
        ({"kind": "x", "value": "é" * 6_000_000}, "is too long"),
    ],
)
def test_an_entry_that_cannot_be_written_harms_nothing(
    entry: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path) as log:
        with pytest.raises(LogError, match=problem):
            log.append([{"kind": "fine"}, entry])
        log.append([{"kind": "fine"}])
    assert [each.kind for each in read_log(path)] == ["open", "fine", "close"]


# ── interruptions ─────────────────────────────────────────────────────────────────────────


def test_an_interrupt_at_every_line_of_a_write(tmp_path: Path) -> None:
    paths = (tmp_path / f"{number}.jsonl" for number in count())
    with AuditLog(next(paths)) as log, interrupted_at(0) as lines:
        log.append([{"kind": "interrupted"}])
    assert len(lines) > 40
    usable = 0
    for number in chosen_lines(lines):
        path = next(paths)
        log = AuditLog(path)
        log.append([{"kind": "acknowledged"}])
        with interrupted_at(number), pytest.raises(Interrupt):
            log.append([{"kind": "interrupted"}])
        assert check(path).state != "altered", lines[number - 1]
        try:
            log.append([{"kind": "later"}])
            usable += 1
        except LogError:
            with pytest.raises(LogError, match="interrupted"):
                log.append([{"kind": "later still"}])
        log.close()
        kinds = [each.kind for each in read_log(path)]
        assert kinds[:2] == ["open", "acknowledged"], lines[number - 1]
        _check_can_be_continued(path)
    assert usable, "before anything was written, nothing is lost"


OPENED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "a new file": lambda log: b"",
    "an intact log": lambda log: log,
    "a torn log": lambda log: log[:-5],
    "nothing but a torn entry": lambda log: log[:100],
    "a hole that the machine's failure left": lambda log: log[:-40] + bytes(40),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "a key"])
@pytest.mark.parametrize("which", OPENED)
def test_an_interrupt_at_every_line_of_opening(
    which: str, key: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sync in ("fsync", "fdatasync"):  # no machine fails here
        monkeypatch.setattr(os, sync, lambda _: None)
    path = tmp_path / "log.jsonl"
    found = OPENED[which](write_log(path, key))
    intact = found.rfind(b"}\n") + 2 if b"}\n" in found else 0

    def attempt() -> None:
        AuditLog(path, key=key).close()

    path.write_bytes(found)
    with interrupted_at(0) as lines:
        attempt()
    turn, turns = list(OPENED).index(which), 1 if ALL else 3  # the cases take turns at the lines
    for number in chosen_lines(lines)[turn % turns :: turns]:
        path.write_bytes(found)
        for each in tmp_path.glob("*.torn-*"):
            each.unlink()
        with interrupted_at(number), pytest.raises(Interrupt):
            attempt()
        gc.collect()  # the exception keeps the log alive
        left = path.read_bytes()
        if not left.startswith(found):
            asides = [each.read_bytes() for each in tmp_path.glob("*.torn-*")]
            assert asides == [found[intact:]], lines[number - 1]
            assert left.startswith(found[:intact]), lines[number - 1]
        assert check(path).state != "altered", lines[number - 1]
        attempt()
        assert check(path).state == "intact", lines[number - 1]


def test_a_signal_handler_that_uses_the_log_is_refused_while_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    refused: list[str] = []
    with AuditLog(path) as log:

        def handler(name: str, _: tuple[Any, ...]) -> None:
            if name == "write" and not refused:
                refused.append("")
                with pytest.raises(LogError) as raised:
                    log.append([{"kind": "inner"}])
                refused[0] = str(raised.value)

        with intercepted(handler):
            log.append([{"kind": "outer"}])
        log.append([{"kind": "later"}])
    assert "interrupted" in refused[0]
    assert [each.kind for each in read_log(path)] == ["open", "outer", "inner", "later", "close"]


# ── other processes, other files ──────────────────────────────────────────────────────────


def test_a_forked_process_does_not_have_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    guard = Guard(FREE, log=log)
    assert _turn(guard) == "allow"
    child = os.fork()
    if child == 0:
        stopped = _turn(guard) == "stop"
        log.close()
        os._exit(0 if stopped else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert _turn(guard) == "allow", "the process that opened it still has it"
    log.close()
    assert _decisions(path) == ["allow", "allow"]
    assert check(path).state == "intact"


def test_a_fork_in_the_middle_of_a_write_of_another_thread(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    guard = Guard(FREE, log=log)
    inside, forked = threading.Event(), threading.Event()

    def hold(name: str, _: tuple[Any, ...]) -> None:
        if name == "fdatasync":
            inside.set()
            forked.wait(10)

    with intercepted(hold):
        thread = threading.Thread(target=log.append, args=[[{"kind": "slow"}]])
        thread.start()
        inside.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(0 if _turn(guard) == "stop" else 1)
        assert os.waitpid(child, 0)[1] == 0, "it is refused, and does not wait for the thread"
        forked.set()
        thread.join()
    log.close()
    assert check(log.path).state == "intact"


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    reading, writing = os.pipe()
    ready, tell = os.pipe()
    log = AuditLog(path)
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.write(tell, b".")
        os.read(reading, 1)
        os._exit(0)
    os.read(ready, 1)
    log.close()
    AuditLog(path).close()
    for end in (writing, reading, ready, tell):
        os.close(end)
    os.waitpid(child, 0)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    code = "import sys; from bylaw import AuditLog; AuditLog(sys.argv[1])"
    with AuditLog(path):
        run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert "another writer has it open" in run.stderr
    subprocess.run([sys.executable, "-c", code, path], check=True)


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"something else")
    other.replace(path)


FOREIGN: Final[dict[str, tuple[Callable[[Path], Any], str]]] = {
    "renamed": (lambda p: p.rename(p.with_name("moved")), "renamed or removed"),
    "removed": (lambda p: p.unlink(), "renamed or removed"),
    "replaced": (_replace, "replaced by another"),
    "emptied": (lambda p: p.write_bytes(b""), "has 0 bytes and should have"),
    "appended to": (lambda p: p.write_bytes(p.read_bytes() + b"x"), "bytes and should have"),
    "its folder renamed": (lambda p: p.parent.rename(p.parent.with_name("b")), "renamed"),
}


@pytest.mark.parametrize("how", FOREIGN)
def test_a_file_that_somebody_else_changed(how: str, tmp_path: Path) -> None:
    change, problem = FOREIGN[how]
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "log.jsonl"
    log = AuditLog(path)
    guard = Guard(PROCEDURE, log=log)
    assert _turn(guard) == "allow"
    change(path)
    before = path.read_bytes() if path.exists() else None
    (decision,) = guard.propose([Call("work")])
    assert decision.action == "stop"
    assert problem in decision.message
    log.close()
    assert (path.read_bytes() if path.exists() else None) == before, "it is not touched"
