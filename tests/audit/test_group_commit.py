"""Runs that share a log share its syncs, in threads and in tasks; each waits for its own entry."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from system_calls import intercepted

from bylaw import AuditLog, Call, Decision, Guard, LogError, Procedure
from bylaw.audit.check import check
from bylaw.audit.reader import read_log

FREE = Procedure.from_dict({"constraints": [{"name": "never", "rule": "G !forbidden"}]})
RUNS, TURNS = 16, 6


def _threads(log: AuditLog, turn: Callable[[int, int, Decision], None]) -> None:
    """Runs in threads of their own."""

    def work(number: int) -> None:
        guard = Guard(FREE, log=log, run_id=f"r{number}")
        for at in range(TURNS):
            turn(number, at, guard.propose([Call("work", {"mark": f"{number}.{at}."})])[0])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _tasks(log: AuditLog, turn: Callable[[int, int, Decision], None]) -> None:
    """Runs in tasks of one event loop."""

    async def work(number: int) -> None:
        guard = Guard(FREE, log=log, run_id=f"r{number}")
        for at in range(TURNS):
            calls = [Call("work", {"mark": f"{number}.{at}."})]
            turn(number, at, (await guard.propose_async(calls))[0])

    async def all_of_them() -> None:
        await asyncio.gather(*map(work, range(RUNS)))

    asyncio.run(all_of_them())


def _both(log: AuditLog, turn: Callable[[int, int, Decision], None]) -> None:
    """Threads, each with an event loop of its own."""
    loops = [threading.Thread(target=_tasks, args=(log, turn)) for _ in range(2)]
    for loop in loops:
        loop.start()
    _threads(log, turn)
    for loop in loops:
        loop.join()


TOGETHER = {"threads": (_threads, 1), "tasks": (_tasks, 1), "threads and two loops": (_both, 3)}
"""The ways to run, and how many times as many runs they have."""


@contextmanager
def _slow_syncs(path: Path) -> Iterator[list[bytes]]:
    """The bytes on disk after each sync, which takes 10 ms."""
    real_sync = os.fdatasync
    synced: list[bytes] = []

    def sync(descriptor: int) -> None:
        before = path.read_bytes()
        time.sleep(0.01)
        real_sync(descriptor)
        synced.append(before)

    os.fdatasync = sync  # type: ignore[assignment]
    try:
        yield synced
    finally:
        os.fdatasync = real_sync


@contextmanager
def _held_syncs() -> Iterator[tuple[threading.Event, threading.Event]]:
    """Syncs that can be held up: whether one has begun, and whether it may end."""
    real_sync = os.fdatasync
    begun, may_end = threading.Event(), threading.Event()
    may_end.set()

    def sync(descriptor: int) -> None:
        begun.set()
        may_end.wait(30)
        real_sync(descriptor)

    os.fdatasync = sync  # type: ignore[assignment]
    try:
        yield begun, may_end
    finally:
        os.fdatasync = real_sync


async def _until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("way", TOGETHER)
def test_a_decision_is_returned_after_a_sync_that_includes_it(way: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run, times = TOGETHER[way]
    early: list[str] = []

    def turn(number: int, at: int, decision: Decision) -> None:
        assert decision.allowed
        if f'"{number}.{at}."'.encode() not in synced[-1]:
            early.append(decision.id)

    with AuditLog(path) as log, _slow_syncs(path) as synced:
        run(log, turn)
    assert early == []
    assert len(synced) < RUNS * TURNS * times / 3, "a sync is shared"
    assert check(path).state == "intact"
    decisions = [entry for entry in read_log(path) if entry.kind == "decision"]
    assert len(decisions) == RUNS * TURNS * times


def test_the_event_loop_goes_on_while_a_task_waits_for_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    async def both(log: AuditLog) -> list[str]:
        guard, other = Guard(FREE, log=log), Guard(FREE, log=log)
        (earlier,) = await other.propose_async([Call("work")])
        begun.clear()
        may_end.clear()
        order: list[str] = []

        async def decide() -> None:
            await guard.propose_async([Call("work")])
            order.append("decided")

        async def record() -> None:
            await _until(begun)
            other.record(earlier, "done")
            order.append("recorded")
            may_end.set()

        await asyncio.gather(decide(), record())
        return order

    with AuditLog(path) as log, _held_syncs() as (begun, may_end):
        assert asyncio.run(both(log)) == ["recorded", "decided"], "a result waits for no sync"
    kinds = [entry.kind for entry in read_log(path)]
    assert kinds == ["open", "start", "decision", "start", "decision", "result", "close"]


def test_a_task_that_is_cancelled_while_it_waits_ends_its_run_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    async def all_of_them(log: AuditLog) -> list[str]:
        cancelled, other = Guard(FREE, log=log), Guard(FREE, log=log)
        begun.clear()
        may_end.clear()
        waiting = asyncio.create_task(cancelled.propose_async([Call("work")]))
        await _until(begun)
        waiting.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        after = [await guard.propose_async([Call("work")]) for guard in (cancelled, other)]
        return [decision.action for (decision,) in after]

    with AuditLog(path) as log, _held_syncs() as (begun, may_end):
        assert asyncio.run(all_of_them(log)) == ["stop", "allow"]
    kinds = [entry.kind for entry in read_log(path)]
    assert kinds == ["open", "start", "decision", "broken off", "start", "decision", "close"]


def test_a_lone_run_syncs_in_its_own_thread(tmp_path: Path) -> None:
    threads: list[str] = []

    def note(name: str, _: tuple[Any, ...]) -> None:
        if name == "fdatasync":
            threads.append(threading.current_thread().name)

    with AuditLog(tmp_path / "log.jsonl") as log:
        guard = Guard(FREE, log=log)
        with intercepted(note):
            for _ in range(3):
                guard.propose([Call("work")])
    assert threads == [threading.current_thread().name] * 3


@pytest.mark.parametrize("way", TOGETHER)
def test_a_sync_that_fails_stops_all_runs_that_waited_for_it(way: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    acknowledged: list[str] = []
    after: list[str] = []

    def fail(name: str, _: tuple[Any, ...]) -> None:
        if name == "fdatasync":
            time.sleep(0.005)
            if len(acknowledged) > RUNS:
                raise OSError(5, "Input/output error")

    def turn(number: int, at: int, decision: Decision) -> None:
        (acknowledged if decision.allowed else after).append(f'"{number}.{at}."')

    with intercepted(fail):
        TOGETHER[way][0](log, turn)
    log.close()
    assert after
    held = path.read_text()
    assert all(mark in held for mark in acknowledged)
    assert check(path).state == "intact"
    with pytest.raises(LogError, match="Input/output error"):
        log.append([{"kind": "x"}])


def test_a_decision_that_did_not_reach_the_disk_is_taken_back(tmp_path: Path) -> None:
    """The turn stops at the question, because nothing may be asked without a record."""
    rules = [
        {"name": "ask", "rule": "G !pay", "severity": "ASK"},
        {"name": "never", "rule": "G !forbidden", "severity": "BLOCK_AND_WARN"},
    ]
    asked: list[Call] = []

    def ask(call: Call, _: object) -> bool:
        asked.append(call)
        return True

    def fail(name: str, _: tuple[Any, ...]) -> None:
        if name == "fdatasync":
            raise OSError(5, "Input/output error")

    turn = [Call("look"), Call("forbidden"), Call("pay"), Call("look")]
    with AuditLog(tmp_path / "log.jsonl") as log:
        guard = Guard(Procedure.from_dict({"constraints": rules}), log=log, ask=ask)
        with intercepted(fail):
            decisions = guard.propose(turn)
    assert [each.action for each in decisions] == ["stop"] * 4
    assert asked == []
    assert guard.awaiting == []
    report = guard.finish()
    assert report.score is None
    assert report.trace is not None
    assert [each.call.tool for each in report.trace.refusals] == [call.tool for call in turn]
    assert {each.action for each in report.trace.refusals} == {"stop"}
    assert report.trace.calls == ()
