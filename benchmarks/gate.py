"""The cost of a decision: the gate at 10 to 1,000 rules, early and late in a long run.

    python benchmarks/gate.py [--quick]

One decision is: propose one call, and know whether it may run. A session follows its rules, so
that most rules stay open and few calls are refused. The durable log is measured as in `durable.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Final

import durable
import peer
import table
from gate_runs import SHAPES, SIZES, percentile, procedure, rules, run, session

from bylaw import Guard, Procedure

WINDOW: Final = 1_000
"""The number of decisions timed at a position."""
PEER_SHAPES: Final = tuple(shape for shape in SHAPES if "let" not in shape and "args." not in shape)


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
    ratio = durable.show_alone(50 if quick else 300)
    gain = durable.show_shared(*((30, 3) if quick else (100, 7)))
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
    durable.targets(ratio, gain)


if __name__ == "__main__":
    main()
