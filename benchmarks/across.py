"""The cost of a decision with a rule across runs, beside the same rule in one run.

    python benchmarks/across.py [calls]

Both guards decide the same calls and record their results. The ratio is that of the medians of
the times of one call, in one run of this program; `flat` compares the last tenth with the first.
"""

from __future__ import annotations

import statistics
import sys
import time

from bylaw import Call, Guard, Procedure, SharedRules

RULES = {
    "sum in a window": "G(refund -> sum(sofar(refund, 1 h).args.amount) <= 100000000)",
    "count": "CalledN(refund, <= 100000000)",
    "evidence": "G(refund -> earlier call(lookup, ok))",
}


def times(guards: list[Guard], calls: int) -> list[float]:
    """The seconds that each call took: its decision and its result."""
    found = []
    for number in range(calls):
        guard = guards[number % len(guards)]
        call = [Call("lookup" if number % 10 == 0 else "refund", {"amount": number % 7})]
        before = time.perf_counter()
        (decision,) = guard.propose(call)
        guard.record(decision, "fine")
        found.append(time.perf_counter() - before)
        assert decision.allowed
    return found


def main(calls: int) -> None:
    """Prints a row for each rule."""
    print(f"{'rule':<16}  one run  8 runs that share it  ratio  flat")
    for name, rule in RULES.items():
        alone = Procedure.from_dict({"constraints": [{"name": "r", "rule": rule}]})
        across = {"name": "r", "rule": rule, "across": "labels.customer"}
        shared = SharedRules(Procedure.from_dict({"constraints": [across]}))
        one = times([Guard(alone, max_trace=0)], calls)
        guards = [
            Guard(shared.procedure, labels={"customer": "c7"}, shared=shared, max_trace=0)
            for _ in range(8)
        ]
        many = times(guards, calls)
        first, last = many[calls // 100 : calls // 10], many[-calls // 10 :]
        a, b = statistics.median(one), statistics.median(many)
        flat = statistics.median(last) / statistics.median(first)
        print(f"{name:<16}  {a * 1e6:4.0f} µs  {b * 1e6:18.0f} µs  {b / a:5.2f}  {flat:4.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
