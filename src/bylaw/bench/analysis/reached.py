"""Which rules hold among those whose turn came: failing, apart from stopping early."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from bylaw.bench.analysis.runs import Run, by_model_and_setting, mean, simulated_note
from bylaw.bench.instance import Instance, instance
from bylaw.procedure.constraint import Constraint
from bylaw.procedure.layers import LAYERS
from bylaw.scoring.verify import Views, evaluation_of
from bylaw.tables import Column, Table
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace

ALL = "all"


def reached(runs: Sequence[Run]) -> Table:
    """The mean share of the rules of each layer that hold, of those that the run got to."""
    rates = {
        key: [passed_of_reached(run) for run in group]
        for key, group in by_model_and_setting(runs).items()
    }
    rows = [
        [*key, *(mean(each.get(layer) for each in found if each) for layer in (ALL, *LAYERS))]
        for key, found in rates.items()
    ]
    columns = [
        Column("model"),
        Column("setting"),
        Column("reached", "share"),
        *(Column(layer, "share") for layer in LAYERS),
    ]
    unknown = sum(not each for found in rates.values() for each in found)
    notes = [
        (
            "a rule counts for a run that executed at least as many calls as a faultless run needs "
            "until the rule holds to stay: what is left are rules that were broken or passed by, "
            "without those that an early end kept from coming up"
        ),
        "reached: the mean share of the rules that count",
        *(
            [f"runs of tasks that have other rules by now are left out: {unknown:,}"]
            * bool(unknown)
        ),
        *simulated_note(runs),
    ]
    return Table("reached", "Pass rate per layer, of the rules reached", columns, rows, notes)


def passed_of_reached(run: Run) -> dict[str, float]:
    """By layer, the share that hold of the rules that were reached; under ALL, how many were.

    A layer without any is left out. Empty if the task is no longer the one that was run.
    """
    rules = places(run["template"], run["difficulty"], run["seed"])
    total = Counter(layer for layer, _, _ in rules)
    if {layer: count for layer, (_, count) in run["layers"].items()} != total:
        return {}
    violated = set(run["violated"])
    came, passed = Counter[str](), Counter[str]()
    for layer, name, place in rules:
        if place <= run["calls"]:
            came[layer] += 1
            passed[layer] += name not in violated
    shares = {layer: passed[layer] / came[layer] for layer in came}
    return shares | {ALL: came.total() / total.total()}


@lru_cache(maxsize=1024)
def places(template: str, difficulty: int, seed: int) -> tuple[tuple[str, str, int], ...]:
    """Each rule's layer, its name, and after how many calls of the gold trace it holds to stay."""
    task = instance(template, difficulty, seed)
    prefixes = _prefixes(task)

    def place(constraint: Constraint) -> int:
        def holds(prefix: tuple[Trace, Views]) -> bool:
            trace, views = prefix
            return evaluation_of(trace, task.procedure, constraint, views).value.is_true

        # A rule of the benchmark, once true along the gold trace, stays true.
        return bisect_left(prefixes, True, key=holds)

    rules = task.procedure.constraints
    return tuple((rule.layer or "none", rule.name, place(rule)) for rule in rules)


def _prefixes(task: Instance) -> list[tuple[Trace, Views]]:
    """The beginnings of the gold trace; what rules see of each is kept beside it."""
    calls = [
        Call(call.tool, call.arguments, call.result, step)
        for step, call in enumerate(task.gold.calls)
    ]
    return [(Trace(calls[:length]), {}) for length in range(len(calls) + 1)]
