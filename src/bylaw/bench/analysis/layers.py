"""Pass rates and losses per layer: which kinds of rules hold, and which do not."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from bylaw.bench.analysis.runs import (
    MODEL_AND_SETTING,
    accuracy,
    by_model_and_setting,
    compliance,
    extremes,
    mean,
    simulated_note,
)
from bylaw.bench.constraints import WEIGHTS
from bylaw.bench.instance import TaskInstance, instance
from bylaw.bench.results import RunRecord
from bylaw.procedure.procedure import LAYERS, Constraint
from bylaw.scoring.verify import CheckedTrace
from bylaw.tables import Cell, Column, Mark, Table, as_number
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace

_RATES: Final = (
    *MODEL_AND_SETTING,
    Column("C", "share", {"measure": "compliance"}),
    Column("A", "share", {"measure": "accuracy"}),
    *(Column(layer, "rate") for layer in LAYERS),
)
_MARKED: Final = "▲ and ▼: the best and the worst layer; C: compliance, A: accuracy"


def layers(runs: Sequence[RunRecord]) -> Table:
    """The mean, over runs, of the share of each layer's rules that hold (macro average)."""
    rows: list[list[Cell]] = [
        [
            *(model, setting, compliance(group), accuracy(group)),
            *(pass_rate(group, layer) for layer in LAYERS),
        ]
        for (model, setting), group in by_model_and_setting(runs).items()
    ]
    notes = [
        "macro average: every run counts the same",
        _MARKED,
        *(f"{layer}: {about}" for layer, about in LAYERS.items()),
        *simulated_note(runs),
    ]
    return Table("layers", "Pass rate per layer", _RATES, rows, notes, _extreme_layers(rows))


def pooled(runs: Sequence[RunRecord]) -> Table:
    """The share of all rules of a layer that hold, in all runs together (micro average)."""
    rows: list[list[Cell]] = []
    for (model, setting), group in by_model_and_setting(runs).items():
        sums = {layer: _sums(group, layer) for layer in LAYERS}
        weight = sum(WEIGHTS[layer] * total for layer, (_, total) in sums.items())
        held = sum(WEIGHTS[layer] * passed for layer, (passed, _) in sums.items())
        rates = [passed / total if total else None for passed, total in sums.values()]
        rows.append([model, setting, held / weight if weight else None, accuracy(group), *rates])
    notes = [
        "micro average: every rule counts the same, so long tasks count more; C: by weight",
        _MARKED,
        *simulated_note(runs),
    ]
    title = "Pass rate per layer, all rules pooled"
    return Table("pooled", title, _RATES, rows, notes, _extreme_layers(rows))


def _sums(runs: Sequence[RunRecord], layer: str) -> tuple[int, int]:
    """The rules of a layer that hold, and all of them, over all runs."""
    counts = [run["layers"].get(layer, (0, 0)) for run in runs]
    return sum(passed for passed, _ in counts), sum(total for _, total in counts)


def _extreme_layers(rows: Sequence[Sequence[Cell]]) -> dict[tuple[int, int], Mark]:
    """The best and the worst layer of each row."""
    first = len(_RATES) - len(LAYERS)
    return {
        (number, place): mark
        for number, row in enumerate(rows)
        for place, mark in extremes(
            {p: as_number(row[p]) for p in range(first, len(_RATES)) if row[p] is not None}
        ).items()
    }


def pass_rate(runs: Sequence[RunRecord], layer: str) -> float | None:
    """The mean, over runs, of the share of a layer's rules that hold."""
    counts = (run["layers"].get(layer) for run in runs)
    return mean(passed / total for passed, total in filter(None, counts))


ALL = "all"


def reached(runs: Sequence[RunRecord]) -> Table:
    """The mean share of each layer's rules that hold, among those that the run reached."""
    rates = {
        key: [passed_of_reached(run) for run in group]
        for key, group in by_model_and_setting(runs).items()
    }
    rows = [
        [*key, *(mean(each.get(layer) for each in found if each) for layer in (ALL, *LAYERS))]
        for key, found in rates.items()
    ]
    columns = [
        *MODEL_AND_SETTING,
        Column("reached", "share"),
        *(Column(layer, "share") for layer in LAYERS),
    ]
    unknown = sum(not each for found in rates.values() for each in found)
    notes = [
        (
            "a run reaches a rule if it executes at least as many calls as a faultless run needs "
            "to satisfy the rule for good. Rules that an early end kept from coming up are left "
            "out; skipped ones are not"
        ),
        "reached: the mean share of the rules that were reached",
        *(
            [f"runs left out, because the rules of their tasks have changed: {unknown:,}"]
            * bool(unknown)
        ),
        *simulated_note(runs),
    ]
    return Table("reached", "Pass rate per layer, among the rules reached", columns, rows, notes)


def passed_of_reached(run: RunRecord) -> dict[str, float]:
    """For each layer, the share of reached rules that hold; under ALL, the share reached.

    Layers without reached rules are left out. Empty if the rules of the task have changed.
    """
    rules = places(run["template"], run["difficulty"], run["seed"])
    total = Counter(layer for layer, _, _ in rules)
    if {layer: count for layer, (_, count) in run["layers"].items()} != total:
        return {}
    violated = set(run["violated"])
    came_up, passed = Counter[str](), Counter[str]()
    for layer, name, place in rules:
        if place <= run["calls"]:
            came_up[layer] += 1
            passed[layer] += name not in violated
    shares = {layer: passed[layer] / came_up[layer] for layer in came_up}
    return shares | {ALL: came_up.total() / total.total()}


@lru_cache(maxsize=1024)
def places(template: str, difficulty: int, seed: int) -> tuple[tuple[str, str, int], ...]:
    """For each rule: its layer, its name, and the gold calls after which it holds for good."""
    task = instance(template, difficulty, seed)
    prefixes = _prefixes(task)

    def place(constraint: Constraint) -> int:
        def holds(prefix: CheckedTrace) -> bool:
            return prefix.outcome(constraint).passed is True

        # A rule of the benchmark, once true along the gold trace, stays true.
        return bisect_left(prefixes, True, key=holds)

    rules = task.procedure.constraints
    return tuple((rule.layer or "none", rule.name, place(rule)) for rule in rules)


def _prefixes(task: TaskInstance) -> list[CheckedTrace]:
    """The prefixes of the gold trace."""
    calls = [
        Call(call.tool, call.arguments, call.result, step)
        for step, call in enumerate(task.gold.calls)
    ]
    prefixes = [Trace(calls[:length]) for length in range(len(calls) + 1)]
    return [CheckedTrace(prefix, task.procedure) for prefix in prefixes]


def loss(runs: Sequence[RunRecord]) -> Table:
    """The loss of compliance, and the share of each layer in it."""
    rows = []
    for (model, setting), group in by_model_and_setting(runs).items():
        losses = {layer: mean(lost(run)[layer] for run in group) or 0.0 for layer in LAYERS}
        parts = shares(losses)
        rows.append([model, setting, sum(losses.values()), *(parts[layer] for layer in LAYERS)])
    columns = [
        *MODEL_AND_SETTING,
        Column("loss", "share"),
        *(Column(layer, "share") for layer in LAYERS),
    ]
    notes = [
        "loss: 1 minus the mean compliance; L1 to L6: the share of each layer in it, by weight",
        *simulated_note(runs),
    ]
    return Table("loss", "Share of the weighted loss per layer", columns, rows, notes)


def lost(run: RunRecord) -> dict[str, float]:
    """The score that a run loses in each layer. The sum is 1 minus the score."""
    weight = sum(total * WEIGHTS[layer] for layer, (_, total) in run["layers"].items())
    found = dict.fromkeys(LAYERS, 0.0)
    for layer, (passed, total) in run["layers"].items():
        found[layer] = (total - passed) * WEIGHTS[layer] / weight
    return found


def shares(losses: Mapping[str, float]) -> dict[str, float | None]:
    """Each layer's share of the total loss; None if nothing was lost."""
    whole = sum(losses.values())
    return {layer: value / whole if whole else None for layer, value in losses.items()}
