"""Procedures of 10 to 1,000 rules, and runs that keep to them: what the gate is measured with."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Final

from bylaw import Call, Guard, Procedure

SIZES: Final = (10, 30, 100, 1_000)
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
