"""Runs that share a durable log: how many decisions a second, beside one sync for each.

    python benchmarks/shared_log.py [--quick]

Each run is a thread with a guard of its own; all write to one log. They are compared with a single
thread that writes as many bytes, and syncs them, once for each decision. `--delay` makes every sync
slower by so many milliseconds, to stand for a slower disk.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import table

from bylaw import AuditLog, Call, Guard, Procedure

RUNS: Final = (1, 8, 32)
ROUNDS: Final = 7
RULES: Final = [
    {"name": "read-first", "rule": "G(write -> O read)"},
    {"name": "few", "rule": "CalledN(drop, <= 1)"},
]


def shared(runs: int, decisions: int, folder: Path) -> tuple[float, int]:
    """So many runs at once: decisions a second, and bytes for each."""
    procedure = Procedure.from_dict({"constraints": RULES})
    path = folder / f"{runs}.jsonl"
    each = max(1, decisions // runs)
    with AuditLog(path) as log:
        guards = [Guard(procedure, log=log) for _ in range(runs)]
        for guard in guards:
            guard.propose([Call("read", {"id": 0})])
        before = path.stat().st_size

        def work(guard: Guard) -> None:
            for number in range(each):
                guard.propose([Call("read", {"id": number})])

        threads = [threading.Thread(target=work, args=(guard,)) for guard in guards]
        begun = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = perf_counter() - begun
        size = (path.stat().st_size - before) // (each * runs)
    return each * runs / took, size


def one_each(size: int, count: int, folder: Path) -> float:
    """A sync for each write of so many bytes: how many a second."""
    with (folder / "raw").open("ab", 0) as raw:
        begun = perf_counter()
        for _ in range(count):
            raw.write(b"x" * size)
            os.fsync(raw.fileno())
        return count / (perf_counter() - begun)


def slowed(seconds: float) -> None:
    """Makes every sync slower."""
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def slow(descriptor: int, real: object = real) -> None:
            time.sleep(seconds)
            real(descriptor)  # type: ignore[operator]

        setattr(os, name, slow)


def measure(decisions: int) -> float:
    """Prints the table; the gain with the most runs."""
    rows: list[Sequence[str]] = []
    gain = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for runs in RUNS:
            pairs = []
            for _ in range(ROUNDS):  # in turns, because disks have moods
                rate, size = shared(runs, decisions * runs // RUNS[-1], folder)
                pairs.append((rate, one_each(size, max(10, decisions // 32), folder)))
            rate, alone = (median(found) for found in zip(*pairs, strict=True))
            gain = rate / alone
            rows.append((f"{runs}", f"{rate:,.0f}/s", f"{alone:,.0f}/s", table.times(gain)))
    head = ("runs", "decisions", "one sync each", "ratio")
    table.show("Runs that share a durable log", head, rows)
    return gain


def main() -> None:
    """Runs the comparison and prints the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--delay", type=float, default=0.0, metavar="MS", help="slower syncs")
    options = parser.parse_args()
    if options.delay:
        slowed(options.delay / 1000)
    gain = measure(320 if options.quick else 3200)
    print("\nTargets")
    table.target(f"decisions with {RUNS[-1]} runs over one sync each", gain, 8, at_least=True)


if __name__ == "__main__":
    main()
