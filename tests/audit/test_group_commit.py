"""Runs that share a log share its syncs, and each waits for the sync of its own entry."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from system_calls import intercepted

from bylaw import AuditLog, Call, Guard, LogError, Procedure
from bylaw.audit.check import check
from bylaw.audit.reader import read_log

FREE = Procedure.from_dict({"constraints": [{"name": "never", "rule": "G !forbidden"}]})
RUNS, TURNS = 16, 6


def _together(work: Any) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_decision_is_returned_after_a_sync_that_includes_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    real_sync = os.fdatasync
    synced: list[bytes] = []
    early: list[str] = []

    def sync(descriptor: int) -> None:
        before = path.read_bytes()
        time.sleep(0.01)
        real_sync(descriptor)
        synced.append(before)

    def work(number: int) -> None:
        guard = Guard(FREE, log=log, run_id=f"r{number}")
        for turn in range(TURNS):
            (decision,) = guard.propose([Call("work", {"mark": f"{number}.{turn}."})])
            assert decision.allowed
            if f'"{number}.{turn}."'.encode() not in synced[-1]:
                early.append(decision.id)

    log = AuditLog(path)
    os.fdatasync = sync  # type: ignore[assignment]
    try:
        _together(work)
    finally:
        os.fdatasync = real_sync
    log.close()
    assert early == []
    assert len(synced) < RUNS * TURNS / 3, "a sync is shared"
    assert check(path).state == "intact"
    decisions = [entry for entry in read_log(path) if entry.kind == "decision"]
    assert len(decisions) == RUNS * TURNS


def test_a_sync_that_fails_stops_all_runs_that_waited_for_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    acknowledged: list[str] = []
    after: list[str] = []

    def fail(name: str, _: tuple[Any, ...]) -> None:
        if name == "fdatasync":
            time.sleep(0.005)
            if len(acknowledged) > RUNS:
                raise OSError(5, "Input/output error")

    def work(number: int) -> None:
        guard = Guard(FREE, log=log, run_id=f"r{number}")
        for turn in range(TURNS):
            action = guard.propose([Call("work", {"mark": f"{number}.{turn}."})])[0].action
            (acknowledged if action == "allow" else after).append(f'"{number}.{turn}."')

    with intercepted(fail):
        _together(work)
    log.close()
    assert after
    held = path.read_text()
    assert all(mark in held for mark in acknowledged)
    assert check(path).state == "intact"
    with pytest.raises(LogError, match="Input/output error"):
        log.append([{"kind": "x"}])
