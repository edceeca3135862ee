"""The cost of a decision: the gate at 10 to 1,000 rules, early and late in a long run.

    python benchmarks/gate.py [--quick]

One decision is: propose one call, and know whether it may run. A session follows its rules, so
that most rules stay open and few calls are refused. The durable log is compared with one `fsync`
of the same bytes, written to a file beside it, in turns.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import peer
import table

from bylaw import Call, Procedure
from bylaw.audit.log import AuditLog
from bylaw.enforcement.guard import Guard

SIZES: Final = (10, 30, 100, 1_000)
WINDOW: Final = 1_000
"""The number of decisions timed at a position."""
SHAPES: Final = (
    "G(write_@ -> O read_@)",
    "G(write_@ -> F close_@)",
    "CalledN(drop_@, <= 0)",
    "!write_@ W read_@",
    "G(write_@ -> let i = args.id: earlier call(read_@, id = i, ok))",
    "Before(read_@, close_@)",
    "G(write_@ & args.size > 100 -> O call(read_@, ok))",
    "CalledN(close_@, >= 1)",
    "G(close_@ -> !X close_@)",
    "InstanceBefore(read_@, 1, write_@, 1)",
)
PEER_SHAPES: Final = tuple(shape for shape in SHAPES if "let" not in shape and "args." not in shape)


def rules(count: int, shapes: Sequence[str] = SHAPES) -> list[str]:
    """The given number of rules; every item has one of each shape."""
    return [shapes[i % len(shapes)].replace("@", str(i // len(shapes))) for i in range(count)]


def procedure(count: int) -> Procedure:
    """The rules as a procedure that blocks."""
    constraints = [{"name": f"rule-{i}", "rule": rule} for i, rule in enumerate(rules(count))]
    return Procedure.from_dict({"name": "desk", "constraints": constraints})


def session(items: int) -> Iterator[Call]:
    """Calls without end that keep to the rules: read, write, write, close, on items at random."""
    rng = random.Random(1)
    stages = [0] * items
    while True:
        item = rng.randrange(items)
        tool = ("read", "read", "write", "close")[stages[item]]
        stages[item] = (stages[item] + 1) % 4
        yield Call(f"{tool}_{item}", {"id": item, "size": rng.randrange(200)})


def run(guard: Guard, calls: Iterator[Call], count: int) -> list[float]:
    """Makes the given number of decisions; the cost of each."""
    costs = []
    for _ in range(count):
        call = next(calls)
        begun = perf_counter()
        (decision,) = guard.propose([call])
        costs.append(perf_counter() - begun)
        if decision.allowed:
            guard.record(decision, "done")
    return costs


def percentile(costs: Sequence[float], share: float) -> float:
    """The cost that this share of decisions does not exceed."""
    return sorted(costs)[min(len(costs) - 1, math.ceil(share * len(costs)) - 1)]


def in_memory(positions: Sequence[int]) -> dict[tuple[int, int], float]:
    """The gate without a log."""
    found: dict[tuple[int, int], float] = {}
    rows = []
    for size in SIZES:
        begun = perf_counter()
        guard = Guard(procedure(size))
        built = perf_counter() - begun
        calls, reached = session(max(1, size // len(SHAPES))), 0
        for position in positions:
            run(guard, calls, position - reached)
            costs = run(guard, calls, WINDOW)
            reached = position + WINDOW
            shown = [percentile(costs, share) for share in (0.5, 0.95, 0.99)]
            found[size, position] = shown[0]
            rows.append((f"{size:,}", f"{position:,}", *map(table.duration, [*shown, built])))
    head = ("rules", "at call", "p50", "p95", "p99", "build")
    table.show("A decision, in memory", head, rows)
    return found


def durable(count: int) -> float:
    """The gate with a log on disk, in turns with a bare write and fsync of as many bytes."""
    ratios = []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            path = Path(folder) / f"{size}.jsonl"
            with AuditLog(path) as log, (Path(folder) / f"{size}.raw").open("ab", 0) as raw:
                guard = Guard(procedure(size), log=log)
                calls = session(max(1, size // len(SHAPES)))
                run(guard, calls, 2_000)
                decisions, bare = [], []
                for _ in range(count):
                    before = path.stat().st_size
                    decisions += run(guard, calls, 1)
                    line = b"x" * (path.stat().st_size - before)
                    begun = perf_counter()
                    raw.write(line)
                    os.fsync(raw.fileno())
                    bare.append(perf_counter() - begun)
            ratio = median(decisions) / median(bare)
            ratios.append(ratio)
            shown = [percentile(decisions, share) for share in (0.5, 0.95, 0.99)]
            cells = [*map(table.duration, shown), table.duration(median(bare)), f"{ratio:.2f}"]
            rows.append((f"{size:,}", *cells))
    head = ("rules", "p50", "p95", "p99", "one fsync", "ratio")
    table.show("A decision, with the durable log", head, rows)
    return max(ratios)


def beside_agentltl(position: int, patience: float) -> None:
    """The same rules, as far as it can express them, at one position."""
    rows = []
    for size in SIZES:
        texts = rules(size, PEER_SHAPES)
        constraints = [{"name": f"rule-{i}", "rule": rule} for i, rule in enumerate(texts)]
        guard = Guard(Procedure.from_dict({"constraints": constraints}))
        calls = session(max(1, size // len(PEER_SHAPES)))
        checker = peer.enforcer(texts)
        past = [next(calls) for _ in range(position)]
        run(guard, iter(past), position)
        for call in past:
            peer.take_in(checker, call)
        ours = run(guard, calls, 200)
        theirs: list[float] = []
        while sum(theirs) < patience and len(theirs) < 200:
            call = next(calls)
            begun = perf_counter()
            peer.step(checker, call)
            theirs.append(perf_counter() - begun)
        a, b = median(ours), median(theirs)
        rows.append((f"{size:,}", table.duration(a), table.duration(b), table.times(b / a)))
    head = ("rules", "Bylaw", "agentltl", "ratio")
    table.show(f"Beside agentltl, at call {position}", head, rows)


def main() -> None:
    """Runs the parts and prints the targets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    quick = parser.parse_args().quick
    positions = (100, 5_000) if quick else (100, 100_000)
    found = in_memory(positions)
    ratio = durable(50 if quick else 300)
    if peer.available():
        beside_agentltl(200, 1.0 if quick else 5.0)
    print("\nTargets")
    first, last = positions
    for size, limit in ((30, 20), (1_000, 60)):
        what = f"p50 at {size:,} rules"
        table.target(what, found[size, last] * 1e6, limit, at_least=False, unit="µs")
    for size in SIZES:
        what = f"{size:,} rules: p50 at call {last:,} over that at {first:,}"
        table.target(what, found[size, last] / found[size, first], 1.3, at_least=False)
    table.target("durable p50 over one fsync", ratio, 1.1, at_least=False)


if __name__ == "__main__":
    main()
