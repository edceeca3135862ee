"""Dead ends that a gate lets an agent into: calls after which the rules cannot all be met.

    python benchmarks/deadlocks.py [--quick]

Random procedures of two to five rules of many forms, and an agent that calls at random. Three gates
see the same calls: one that tests each rule by itself, one that also counts calls, and `Guard`. An
exact search through the product of the rules says whether an allowed call leaves a common
continuation. A run ends at its first dead end.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Final, get_args

import table

from bylaw import Call, Guard, Procedure, parse
from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.monitors import Monitors
from bylaw.vocabulary.view import Order

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from mixed_procedures import ExactProduct, events, random_rules

TOOLS: Final = "abcd"
CALLS: Final = 6


class Gate:
    """One of the three gates, in one run."""

    def __init__(self, kind: str, rules: list[str], order: Order) -> None:
        self.kind = kind
        formulas = [parse(rule) for rule in rules]
        self._monitors = Monitors(formulas, order=order)
        self._counting = JointTest(JointRules(formulas, order))
        listed = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
        given = {"order": order, "finish": "free", "constraints": listed}
        self._guard = Guard(Procedure.from_dict(given), soft_block_limit=10**9)

    def allows(self, call: Call) -> tuple[bool, bool, float]:
        """Is the call allowed? Is that certain? And the seconds that the decision took."""
        begun = perf_counter()
        if self.kind == "Guard":
            (decision,) = self._guard.propose([Call(call.tool, call.args)])
            return decision.allowed, decision.decided, perf_counter() - begun
        attempt = self._monitors.attempt(call)
        allowed = not attempt.doomed
        record = self._counting.advance(call, call.step or 0)
        if allowed and self.kind == "counting":
            verdicts = self._monitors.verdicts
            alive = [i for i in self._counting.forms if not verdicts[i].final]
            allowed = self._counting.possible(alive)
        if not allowed:
            attempt.take_back()
            self._counting.undo(record)
        return allowed, True, perf_counter() - begun


def run(kind: str, seed: int, seen: Counter[str], costs: list[float]) -> None:
    """One procedure and one agent at one gate."""
    random = Random(seed)
    rules, order = random_rules(random, TOOLS), random.choice(get_args(Order))
    machines = [Machine(parse(rule), order) for rule in rules]
    exact = ExactProduct(machines, order, TOOLS)
    if exact.continuation(exact.states) is None:
        return
    seen["procedures"] += 1
    gate, calls = Gate(kind, rules, order), events(TOOLS)[:-1]
    for step in range(CALLS):
        drawn = random.choice(calls)
        call = Call(drawn.tool, drawn.args, step=step)
        allowed, decided, cost = gate.allows(call)
        costs.append(cost)
        if not allowed:
            seen["refused"] += 1
            continue
        seen["allowed"] += 1
        seen["undecided"] += not decided
        exact.states = exact.after(call, True)
        if exact.continuation(exact.states) is None:
            seen["dead ends"] += 1
            return


def main() -> None:
    """Runs the three gates on the same procedures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer procedures")
    count = 300 if parser.parse_args().quick else 3_000
    rows, rate = [], 0.0
    for kind in ("each rule alone", "counting", "Guard"):
        seen, costs = Counter[str](), list[float]()
        for seed in range(count):
            run(kind, seed, seen, costs)
        rate = seen["dead ends"] / seen["allowed"]
        numbers = [f"{seen[key]:,}" for key in ("procedures", "allowed", "refused", "dead ends")]
        undecided = f"{seen['undecided'] / seen['allowed']:.2%}"
        rows.append((kind, *numbers, f"{rate:.2%}", undecided, table.duration(median(costs))))
    head = ("gate", "procedures", "allowed", "refused", "dead ends", "rate", "undecided", "p50")
    table.show("Calls that were allowed, and dead ends among them", head, rows)
    print("\nTargets")
    table.target("dead ends among allowed calls", rate * 100, 0, at_least=False, unit="%")


if __name__ == "__main__":
    main()
