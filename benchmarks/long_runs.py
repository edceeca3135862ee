"""The cost of a decision late in a run: rules with totals, windows and deadlines.

    python benchmarks/long_runs.py [--quick]

For each rule, one guard has seen a hundred calls and another a hundred thousand (ten thousand with
--quick). Both then take turns, so that noise hits both: a call is proposed, decided and recorded.
A second passes between two calls, so that a window of ten minutes holds 600 of them. The ratio is
that of the medians, and should not exceed 1.3.

Other functions of a window (`max`, `unique`) are computed from its events each time: what they cost
grows with the window, but not with the run.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Final

import table

from bylaw import Call, Guard, Procedure

EARLY: Final = 100
LATE: Final = 100_000
TIMED: Final = 2_000
"""The number of calls that are timed in each run."""
TARGET: Final = 1.3
KEYS: Final = 50
"""The number of customers among which the calls alternate."""

RULES: Final = {
    "total": "G(pay -> sum(sofar(pay).args.amount) <= 1000000000)",
    "total per key": (
        "G(pay -> let c = args.customer: "
        "sum(sofar(call(pay, customer = c)).args.amount) <= 1000000000)"
    ),
    "calls in a window": "G(pay -> length(sofar(pay, 10 min)) <= 1000)",
    "total in a window": "G(pay -> sum(sofar(pay, 10 min).args.amount) <= 1000000)",
    "total in a window, per key": (
        "G(pay -> let c = args.customer: "
        "sum(sofar(call(pay, customer = c), 10 min).args.amount) <= 1000000)"
    ),
    "calls on a date": (
        'G(pay -> let d = date(start, "UTC"): '
        'length(sofar(pay & date(start, "UTC") = d)) <= 1000000)'
    ),
    "evidence in time": "G(pay -> O pay within 10 min)",
    "evidence in time, per key": (
        "G(pay -> let c = args.customer: O call(pay, customer = c) within 10 min)"
    ),
    "deadline": "G(pay -> F pay within 10 min)",
    "deadline, per key": (
        "G(pay -> let c = args.customer: later call(pay, customer = c) within 10 min)"
    ),
    "answer at any time, per key": (
        "G(pay -> let c = args.customer: later call(pay, customer = c))"
    ),
}


class Session:
    """A guard of one rule with a clock of its own, and the calls that it has seen."""

    def __init__(self, rule: str) -> None:
        self.now = 1_763_294_400.0
        self.calls = 0
        stated = {"constraints": [{"name": "rule", "rule": rule}]}
        self.guard: Final = Guard(Procedure.from_dict(stated), clock=lambda: self.now, max_trace=0)

    def step(self) -> float:
        """Makes one call; returns the seconds that its decision and its result took."""
        self.calls += 1
        self.now += 1.0
        arguments = {"customer": f"c{self.calls % KEYS}", "amount": self.calls % 100}
        call = Call("pay", arguments, agent="ada" if self.calls % 2 else "bob")
        begun = perf_counter()
        (decision,) = self.guard.propose([call])
        self.guard.record(decision, "done")
        took = perf_counter() - begun
        assert decision.allowed, decision.message
        return took

    def advance(self, calls: int) -> Session:
        """Makes so many calls."""
        for _ in range(calls):
            self.step()
        return self


def measured(rule: str, late: int) -> tuple[float, float]:
    """The median seconds of a call early and late in a run."""
    first, second = Session(rule).advance(EARLY), Session(rule).advance(late)
    costs = [(first.step(), second.step()) for _ in range(TIMED)]
    return median(cost for cost, _ in costs), median(cost for _, cost in costs)


def main() -> None:
    """Prints a row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="late is ten thousand calls")
    late = LATE // 10 if parser.parse_args().quick else LATE
    rows = []
    for name, rule in RULES.items():
        early, then = measured(rule, late)
        ratio = then / early
        verdict = "ok" if ratio <= TARGET else f"above {TARGET}"
        costs = f"{early * 1e6:.1f} µs", f"{then * 1e6:.1f} µs"
        rows.append((name, *costs, f"{ratio:.2f}", verdict))
    head = ("rule", f"after {EARLY}", f"after {late:,} calls", "ratio", f"≤ {TARGET}")
    table.show("Decision and result, early and late in a run", head, rows)


if __name__ == "__main__":
    main()
