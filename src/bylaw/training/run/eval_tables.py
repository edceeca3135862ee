"""The paper's tables of fine-tuning: splits, transfer groups, gains per template, mean calls.

Intervals are 95 % bootstrap intervals over prompts. A gain compares two models example by example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from bylaw.bench.analysis.intervals import interval
from bylaw.tables import Cell, Column, ColumnKind, Table
from bylaw.training.data.example import PRODUCTION
from bylaw.training.data.splits import SPLITS
from bylaw.training.data.transfer_groups import GROUPS

EvalResult = Mapping[str, Any]
"""One row of an evaluation's results."""

EVERYTHING: Final = "everything"
_SETS: Final = (*SPLITS, PRODUCTION, *sorted(set(GROUPS.values())), EVERYTHING)
"""The rows of the paper's table: the splits, the benchmark, its transfer groups, everything."""


_SHARED: Final = ("seed", "setting", "temperature", "turn_tokens")
"""Conditions that must be equal for a comparison of single runs."""


def tables(results: Sequence[EvalResult]) -> list[Table]:
    """The tables. With several models, the first is the baseline."""
    by_model = {model: _of(results, model) for model in _models(results)}
    alone = [splits_table(by_model)]
    if len(by_model) == 1:
        return alone
    *earlier, last = by_model
    others = dict.fromkeys((earlier[0], earlier[-1]))
    by_template = (templates_table(by_model, other, last) for other in others)
    return [*alone, gains_table(by_model), *by_template]


def splits_table(by_model: Mapping[str, Sequence[EvalResult]]) -> Table:
    """Compliance, accuracy and calls of each model on each set."""
    rows: list[list[Cell]] = []
    for name in _sets(by_model):
        for model, results in by_model.items():
            group = [each for each in results if name in sets_of(each)]
            if group:
                rows.append([name, model, len(group), *_measured(group)])
    return Table(
        "splits",
        "Held-out examples and the production benchmark",
        [
            Column("set"),
            Column("model"),
            Column("n", "count"),
            Column("compliance", "share"),
            _named("95 %", "compliance interval", "share interval"),
            Column("accuracy", "percent"),
            _named("95 %", "accuracy interval", "percent interval"),
            Column("calls", "number"),
        ],
        rows,
        ["calls: the mean number of executed calls; in brackets: bootstrap intervals"],
    )


def gains_table(by_model: Mapping[str, Sequence[EvalResult]]) -> Table:
    """The gains of each model over the first and over the one before it."""
    rows: list[list[Cell]] = []
    models = list(by_model)
    for name in _sets(by_model):
        for place, model in enumerate(models[1:], 1):
            for other in dict.fromkeys((models[0], models[place - 1])):
                pairs = _pairs(by_model[other], by_model[model])
                pairs = [pair for pair in pairs if name in sets_of(pair[0])]
                if pairs:
                    rows.append([name, f"{model} over {other}", len(pairs), *_gained(pairs)])
    return Table(
        "gains",
        "Gains, example by example",
        [
            Column("set"),
            Column("model"),
            Column("n", "count"),
            Column("compliance", "change"),
            _named("95 %", "compliance interval", "change interval"),
            _named("points", "accuracy", "difference"),
            _named("95 %", "accuracy interval", "difference interval"),
            Column("calls", "difference"),
        ],
        rows,
        ["points: percentage points of accuracy; runs of the same task under the same conditions"],
    )


def templates_table(by_model: Mapping[str, Sequence[EvalResult]], first: str, last: str) -> Table:
    """Accuracy and compliance of two models per template on the splits, and the gain."""
    by_template: dict[str, list[tuple[EvalResult, EvalResult]]] = {}
    for pair in _pairs(by_model[first], by_model[last]):
        if pair[0]["split"] in SPLITS:
            by_template.setdefault(pair[0]["template"], []).append(pair)
    found = {template: _changed(pairs) for template, pairs in by_template.items()}
    return Table(
        "templates" if first == next(iter(by_model)) else f"templates-over-{first}",
        f"Per template, on the four splits: {first}, {last}",
        [
            Column("template"),
            Column("n", "count"),
            _named("acc.", "accuracy before", "number"),
            _named("after", "accuracy after", "number"),
            _named("gain", "accuracy gain", "difference"),
            _named("compl.", "compliance before", "share"),
            _named("after", "compliance after", "share"),
            _named("gain", "compliance gain", "change"),
        ],
        [
            [template, len(by_template[template]), *found[template]]
            for template in sorted(found, key=lambda template: -found[template][2])
        ],
    )


def _named(title: str, name: str, kind: ColumnKind = "text") -> Column:
    """A column whose title is too short to identify it in files."""
    return Column(title, kind, {"measure": name})


def sets_of(result: EvalResult) -> tuple[str, ...]:
    """The rows of the paper's table that a run belongs to."""
    if result["split"] != PRODUCTION:
        return result["split"], EVERYTHING
    return PRODUCTION, GROUPS[result["template"]], EVERYTHING


def _sets(by_model: Mapping[str, Sequence[EvalResult]]) -> Sequence[str]:
    """The rows; with a single set, `everything` would repeat it."""
    found = {each["split"] for results in by_model.values() for each in results}
    return _SETS if len(found) > 1 else _SETS[:-1]


def _models(results: Sequence[EvalResult]) -> list[str]:
    return list(dict.fromkeys(result["model"] for result in results))


def _of(results: Sequence[EvalResult], model: str) -> list[EvalResult]:
    """The verified runs of a model."""
    return [each for each in results if each["model"] == model and each["compliance"] is not None]


def _pairs(
    before: Sequence[EvalResult], after: Sequence[EvalResult]
) -> list[tuple[EvalResult, EvalResult]]:
    """Pairs of runs of the same task; tasks with a single run are omitted."""
    others = {_task(each): each for each in after}
    return [(each, others[_task(each)]) for each in before if _task(each) in others]


def _task(result: EvalResult) -> tuple[Any, ...]:
    """The identity of a task and its conditions; the seed determines the task of a name."""
    conditions = result["conditions"]
    return (result["name"], result["trial"], *(conditions.get(name) for name in _SHARED))


def _changed(pairs: Sequence[tuple[EvalResult, EvalResult]]) -> list[float]:
    """Accuracy in percent and compliance: before, after, gain."""
    accuracy = [100 * fmean(pair[side]["correct"] for pair in pairs) for side in (0, 1)]
    compliance = [fmean(pair[side]["compliance"] for pair in pairs) for side in (0, 1)]
    gains = accuracy[1] - accuracy[0], compliance[1] - compliance[0]
    return [*accuracy, gains[0], *compliance, gains[1]]


def _measured(group: Sequence[EvalResult]) -> list[Cell]:
    return [
        *_with_interval(group, [each["compliance"] for each in group]),
        *_with_interval(group, [float(each["correct"]) for each in group]),
        fmean(each["calls"] for each in group),
    ]


def _gained(pairs: Sequence[tuple[EvalResult, EvalResult]]) -> list[Cell]:
    first = [before for before, _ in pairs]
    compliance = [after["compliance"] - before["compliance"] for before, after in pairs]
    points = [100.0 * (after["correct"] - before["correct"]) for before, after in pairs]
    return [
        *_with_interval(first, compliance),
        *_with_interval(first, points),
        fmean(after["calls"] - before["calls"] for before, after in pairs),
    ]


def _with_interval(results: Sequence[EvalResult], values: Sequence[float]) -> list[Cell]:
    """The mean and its interval."""
    return [fmean(values), interval(_by_prompt(results, values))]


def _by_prompt(results: Sequence[EvalResult], values: Sequence[float]) -> list[list[float]]:
    """The values, grouped by prompt."""
    found: dict[str, list[float]] = {}
    for result, value in zip(results, values, strict=True):
        _, asked, *_ = result["messages"]
        found.setdefault(asked["content"], []).append(value)
    return list(found.values())
