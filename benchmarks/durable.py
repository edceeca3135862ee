"""The cost of a durable log: a run alone, and runs that share a log, beside one sync alone.

    python benchmarks/durable.py [--quick] [--disks]

*One sync alone* appends as many bytes as the entry of a decision has to a file of its own, and
syncs them by the same system call as the log, in turns with the decisions. A run alone is compared
by the median time. Runs that share a log, in threads or in tasks of an event loop, are compared by
the number of decisions a second.

`--disks` pretends that a sync takes from 0.1 to 5 ms, by waiting so long in place of the sync, and
shows from which disk on the targets are met. `gate.py` has the first two tables as well.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import table
from gate_runs import SHAPES, SIZES, percentile, procedure, run, session

from bylaw import AuditLog, Call, Guard, Procedure
from bylaw.audit.log_file import sync_descriptor

MOST_COST: Final = 1.1
"""A decision may take so many times as long as one sync."""
LEAST_GAIN: Final = 8
"""So many times as many decisions as syncs, with the most runs."""
RUNS: Final = (1, 8, 32)
DISKS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The milliseconds that a sync takes."""
ENTRY: Final = 430
"""The bytes of an entry."""
RULES: Final = [
    {"name": "read-first", "rule": "G(write -> O read)"},
    {"name": "few", "rule": "CalledN(drop, <= 1)"},
]


# ── one run ───────────────────────────────────────────────────────────────────────────────


def alone(size: int, count: int) -> tuple[list[float], list[float]]:
    """The times of decisions under so many rules, and of one sync each, in turns."""
    decisions, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gate.jsonl"
        with AuditLog(path) as log, (Path(folder) / "raw").open("ab", 0) as raw:
            guard, calls = Guard(procedure(size), log=log), session(max(1, size // len(SHAPES)))
            run(guard, calls, 5 * size)  # so that nothing is explored for the first time
            for _ in range(count):
                before = path.stat().st_size
                decisions += run(guard, calls, 1)
                line = b"x" * (path.stat().st_size - before)
                begun = perf_counter()
                raw.write(line)
                sync_descriptor(raw.fileno())
                bare.append(perf_counter() - begun)
    return decisions, bare


def show_alone(count: int) -> float:
    """Prints the table of a run alone; the largest ratio."""
    rows, ratios = [], []
    for size in SIZES:
        decisions, bare = alone(size, count)
        ratios.append(median(decisions) / median(bare))
        times = [percentile(decisions, share) for share in (0.5, 0.95, 0.99)]
        cells = map(table.duration, [*times, median(bare)])
        rows.append((f"{size:,}", *cells, f"{ratios[-1]:.2f}"))
    head = ("rules", "p50", "p95", "p99", "one sync", "ratio")
    table.show("A decision, with the durable log", head, rows)
    return max(ratios)


# ── runs that share a log ─────────────────────────────────────────────────────────────────


def in_threads(guards: Sequence[Guard], each: int) -> None:
    """Makes so many decisions in each run, every run in a thread."""

    def work(guard: Guard) -> None:
        for number in range(each):
            guard.propose([Call("read", {"id": number})])

    threads = [threading.Thread(target=work, args=(guard,)) for guard in guards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_tasks(guards: Sequence[Guard], each: int) -> None:
    """Makes so many decisions in each run, every run in a task."""

    async def work(guard: Guard) -> None:
        for number in range(each):
            await guard.propose_async([Call("read", {"id": number})])

    async def all_of_them() -> None:
        await asyncio.gather(*map(work, guards))

    asyncio.run(all_of_them())


def rate(way: Callable[[Sequence[Guard], int], None], runs: int, each: int) -> float:
    """Decisions a second."""
    rules = Procedure.from_dict({"constraints": RULES})
    with (
        tempfile.TemporaryDirectory() as folder,
        AuditLog(Path(folder) / "gate.jsonl") as log,
    ):
        guards = [Guard(rules, log=log) for _ in range(runs)]
        in_threads(guards, 1)
        begun = perf_counter()
        way(guards, each)
        return each * runs / (perf_counter() - begun)


def one_each(count: int) -> float:
    """Syncs a second, one for each entry."""
    with tempfile.TemporaryFile(buffering=0) as raw:
        begun = perf_counter()
        for _ in range(count):
            raw.write(b"x" * ENTRY)
            sync_descriptor(raw.fileno())
        return count / (perf_counter() - begun)


def rates(
    runs: int, each: int, rounds: int, chosen: Callable[[Sequence[float]], float] = median
) -> list[float]:
    """Decisions a second in threads and in tasks, and syncs a second: one of several rounds."""
    found = [
        (rate(in_threads, runs, each), rate(in_tasks, runs, each), one_each(each))
        for _ in range(rounds)  # in turns, because disks have moods
    ]
    return [chosen(column) for column in zip(*found, strict=True)]


def show_shared(each: int, rounds: int) -> tuple[float, float]:
    """Prints the table of runs that share a log; the gains with the most runs."""
    rows = []
    for runs in RUNS:
        threads, tasks, bare = rates(runs, each, rounds)
        cells = [f"{per_second:,.0f}/s" for per_second in (bare, threads, tasks)]
        rows.append((f"{runs}", *cells, table.times(threads / bare), table.times(tasks / bare)))
    head = ("runs", "one sync each", "in threads", "in tasks", "ratio", "ratio")
    table.show("Decisions of runs that share a durable log", head, rows)
    return threads / bare, tasks / bare


# ── other disks ───────────────────────────────────────────────────────────────────────────


@contextmanager
def disk(milliseconds: float) -> Iterator[None]:
    """Waits so long in place of each sync."""
    real = os.fdatasync

    def wait(fd: object) -> None:
        time.sleep(milliseconds / 1000)

    os.fdatasync = wait
    try:
        yield
    finally:
        os.fdatasync = real


def show_disks(count: int, each: int, rounds: int) -> None:
    """Prints both comparisons for disks of several speeds: the best of several rounds.

    No disk has moods here, so a round is slower than another only because of other programs.
    """
    rows = []
    for milliseconds in DISKS:
        with disk(milliseconds):
            pairs = [map(median, alone(10, count)) for _ in range(rounds)]
            decisions, bare = map(min, zip(*pairs, strict=True))
            threads, tasks, syncs = rates(RUNS[-1], each, rounds, max)
        ratio, gain = f"{decisions / bare:.2f}", (threads / syncs, tasks / syncs)
        cells = [
            table.duration(decisions),
            ratio,
            *map(table.times, gain),
        ]
        rows.append((table.duration(bare), *cells))
    head = ("one sync", "a decision", "ratio", f"{RUNS[-1]} threads", f"{RUNS[-1]} tasks")
    table.show("By the time of a sync, in place of which the benchmark waits", head, rows)


def targets(ratio: float, gain: tuple[float, float]) -> None:
    """Prints what was found beside what it should be."""
    table.target("durable p50 over one sync", ratio, MOST_COST, at_least=False)
    for way, found in zip(("threads", "tasks"), gain, strict=True):
        what = f"decisions of {RUNS[-1]} {way} over one sync each"
        table.target(what, found, LEAST_GAIN, at_least=True)


def main() -> None:
    """Runs the parts and prints the targets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--disks", action="store_true", help="pretend to have other disks, too")
    options = parser.parse_args()
    count, each, rounds = (50, 30, 3) if options.quick else (300, 100, 7)
    ratio = show_alone(count)
    gain = show_shared(each, rounds)
    if options.disks:
        show_disks(count, each, rounds)
    print("\nTargets")
    targets(ratio, gain)


if __name__ == "__main__":
    main()
