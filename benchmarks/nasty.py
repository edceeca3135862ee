"""Formulas that blow up naive monitors: states, time to build, time per call, memory.

    python benchmarks/nasty.py [--quick]

Every formula follows random traces of 100 calls over its own tools. A step is: take in a call,
and know the verdict. Memory is what the monitor holds at the end, measured in a run of its own.
"""

from __future__ import annotations

import argparse
import random
import tracemalloc
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Final

import table

from bylaw import Call, parse
from bylaw.logic import formula as f
from bylaw.logic.walk import tools_in
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.monitor import Monitor

LENGTH: Final = 100

_RESPONSES = [f"G(a_{i} -> F b_{i})" for i in range(14)]
_SEQUENCES = [", ".join(f"t_{i * k % 7}" for i in range(50)) for k in (1, 3)]

FORMULAS: Final = {
    "4 × CalledN(t_i, = 50)": " & ".join(f"CalledN(t_{i}, = 50)" for i in range(4)),
    "G(a -> X^20 b)": "G(a -> " + "X(" * 20 + "b" + ")" * 20 + ")",
    "14 × G(a_i -> F b_i)": " & ".join(_RESPONSES),
    "16 × CalledWith(t, i = k)": " & ".join(f"CalledWith(t, i = {k})" for k in range(16)),
    "2 × InOrder of 50 calls": " & ".join(f"InOrder({each})" for each in _SEQUENCES),
    "CalledN(t, <= 1000000)": "CalledN(t, <= 1000000)",
    "10 × (response | response)": " & ".join(
        f"({response} | G(c_{i} -> F d_{i}))" for i, response in enumerate(_RESPONSES[:10])
    ),
    "((a U b) U (c U d)) U …": "(((a U b) U (c U d)) U ((d U c) U (b U a))) U (a & X(b & X c))",
    "G(a -> b U (c U (d U e)))": "G(a -> b U (c U (d U (e U a))))",
    "G(a -> O(F b & X c))": "G(a -> O(F b & X c))",
}
"""The name that is printed, and the rule."""


def random_calls(formula: f.Formula, seed: int) -> list[Call]:
    """Calls of the tools that the formula names, and of one that it does not."""
    rng = random.Random(seed)
    tools = [*sorted(set(tools_in(formula))), "other"]
    return [
        Call(rng.choice(tools), {"i": rng.randrange(16)}, result="done", step=step)
        for step in range(LENGTH)
    ]


def states(monitor: Monitor) -> int:
    """The number of explored states."""
    engine = monitor._engine
    return len(engine.machine.configurations) if isinstance(engine, Follower | PlainFollower) else 0


def measured(rule: str, seeds: Sequence[int]) -> list[str]:
    """The cells of one row: the worst trace, except that the median is over all calls."""
    formula = parse(rule)
    most, built, costs, exact, verdicts = 0, 0.0, [], True, set()
    for seed in seeds:
        calls = random_calls(formula, seed)
        begun = perf_counter()
        monitor = Monitor(formula)
        verdict = monitor.verdict
        built = max(built, perf_counter() - begun)
        for call in calls:
            begun = perf_counter()
            monitor.step(call)
            verdict = monitor.verdict
            costs.append(perf_counter() - begun)
            if verdict.final:
                break
        most, exact = max(most, states(monitor)), exact and monitor.exact
        verdicts.add(verdict.value)
    times = map(table.duration, [built, max(costs), median(costs)])
    kib = f"{held(formula, random_calls(formula, seeds[0])) / 1024:,.0f} KiB"
    return [f"{most:,}", *times, "yes" if exact else "NO", kib, f"{len(costs)}"]


def held(formula: f.Formula, calls: Sequence[Call]) -> int:
    """The bytes that a monitor holds after the trace."""
    tracemalloc.start()
    monitor = Monitor(formula)
    for call in calls:
        monitor.step(call)
        _ = monitor.verdict
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one trace for each formula")
    seeds = range(1 if parser.parse_args().quick else 5)
    rows = [[name, *measured(rule, seeds)] for name, rule in FORMULAS.items()]
    head = ["formula", "states", "build", "worst step", "median step", "exact", "holds", "steps"]
    table.show(f"Nasty formulas, random traces of {LENGTH} calls", head, rows)
    print("  build includes the verdict on the empty trace; steps ends once a verdict is final")


if __name__ == "__main__":
    main()
