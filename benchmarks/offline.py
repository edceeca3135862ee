"""Finished traces: thirty rules on fifty calls, by Bylaw and by agentltl.

    python benchmarks/offline.py [--quick]

Bylaw is measured three times: `verify_trace` with its score and label, the same with the witness
and the sentence of every rule (`to_dict`), and monitors alone. The systems take turns on the same
traces; numbers are medians over traces. Verdicts are compared rule by rule and must agree.

agentltl 0.2.1 is known to disagree where a rule asks for `x = null` (it also matches a missing
argument), tells `1` from `true`, uses a variable as a tool or inside an argument, has a predicate
that raises, or is empty. No rule here does any of that, and its parser, which reads `!a W b` as
`!(a W b)`, is not used, so no rule is left out.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Final, TypeVar

import peer
import table
import workload

from bylaw import Call, Constraint, Procedure, Trace, parse, verify_trace
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict

LENGTH: Final = 50
REPEATS: Final = 3
TARGETS: Final = {"plain predicates": 4, "flat temporal": 50, "nested temporal": 100}
"""The speed of `verify_trace` to reach, as a multiple of agentltl's."""
RATIOS: Final[dict[str, float]] = {}
HOLDS: Final = (Verdict.SATISFIED, Verdict.PRESUMABLY_SATISFIED)
Result = TypeVar("Result")


def session(seed: int) -> list[Call]:
    """A session; every other one is shuffled, so that it breaks rules."""
    calls = workload.calls(LENGTH, seed)
    if seed % 2:
        random.Random(seed).shuffle(calls)
    return [Call(call.tool, call.args, call.result, step) for step, call in enumerate(calls)]


def monitored(monitors: Monitors, calls: Sequence[Call]) -> list[bool]:
    """The verdicts at the end, by monitors alone."""
    for call in calls:
        monitors.step(call)
    return [verdict in HOLDS for verdict in monitors.verdicts]


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """The time that it takes, the best of a few because machines are shared; and its result."""
    best = float("inf")
    for _ in range(REPEATS):
        begun = perf_counter()
        result = work()
        best = min(best, perf_counter() - begun)
    return best, result


def measure(family: str, rules: Sequence[str], traces: int, *, compare: bool) -> list[str]:
    """The cells of one row."""
    formulas = [parse(rule) for rule in rules]
    procedure = Procedure([Constraint(rule, parse(rule)) for rule in rules])
    theirs = peer.constraints(rules) if compare else []
    scored, explained, plain, other = [], [], [], []
    disagreeing: set[str] = set()
    for seed in range(traces):
        calls = session(seed)
        trace, record = Trace(calls), peer.record_of(calls)
        cost, report = timed(lambda: verify_trace(trace, procedure))  # noqa: B023 - called at once
        scored.append(cost)
        told = timed(lambda: verify_trace(trace, procedure).to_dict())  # noqa: B023 - called at once
        explained.append(told[0])
        passed = [result.passed for result in report.constraints]
        fresh = [Monitors(formulas) for _ in range(REPEATS)]
        cost, followed = timed(lambda: monitored(fresh.pop(), calls))  # noqa: B023 - called at once
        plain.append(cost)
        answers: list[list[bool]] = [followed]
        if compare:
            cost, judged = timed(lambda: peer.verify(record, theirs))  # noqa: B023 - called at once
            other.append(cost)
            answers.append(judged)
        for answer in answers:
            pairs = zip(rules, passed, answer, strict=True)
            disagreeing |= {rule for rule, ours, theirs_ in pairs if ours is not theirs_}
    a, b = median(scored), median(plain)
    cells = [family, table.duration(a), table.duration(median(explained)), table.duration(b)]
    if compare:
        c = median(other)
        cells += [table.duration(c), table.times(c / a), table.times(c / b)]
        RATIOS[family] = c / a
    for rule in sorted(disagreeing):
        print(f"  verdicts differ on: {rule}")
    return [*cells, f"{len(rules) - len(disagreeing)} of {len(rules)}"]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few traces only")
    traces = 6 if parser.parse_args().quick else 40
    compare = peer.available()
    rows = [
        measure(family, rules, traces, compare=compare)
        for family, rules in workload.FAMILIES.items()
    ]
    head = ["30 rules, 50 calls", "verify_trace", "with reasons", "monitors"]
    if compare:
        head += ["agentltl", "over verify_trace", "over monitors"]
    table.show("Cost per trace: medians", [*head, "rules that agree"], rows)
    for family, ratio in RATIOS.items():
        table.target(f"agentltl over verify_trace, {family}", ratio, TARGETS[family], at_least=True)


if __name__ == "__main__":
    main()
