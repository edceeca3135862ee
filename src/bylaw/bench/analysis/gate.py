"""The effect of the gate: changes against baseline, the floor, and the interventions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    MODEL_AND_SETTING,
    SOFT,
    WARN,
    accuracy,
    averaged,
    by_model,
    by_model_and_setting,
    calls,
    change,
    compliance,
    difference,
    floor_note,
    mean,
    pairs,
    settings_of,
    simulated_note,
)
from bylaw.bench.results import RunRecord
from bylaw.enforcement.events import NO_CHOICE
from bylaw.procedure.procedure import LAYERS
from bylaw.tables import Cell, Column, Table, as_number


@dataclass(frozen=True, slots=True)
class MeanChange:
    """The mean change over several models."""

    mean: float
    improved: int
    """The number of models that improved."""
    total: int


def effects(runs: Sequence[RunRecord]) -> Table:
    """Changes in compliance, accuracy and calls, for each model and enforced setting."""
    rows = [
        [model, setting, *_changes(by_setting[BASELINE], group)]
        for model, by_setting in by_model(runs).items()
        if BASELINE in by_setting
        for setting, group in by_setting.items()
        if setting != BASELINE
    ]
    columns = [
        *MODEL_AND_SETTING,
        Column("compliance", "change"),
        Column("accuracy", "change"),
        Column("calls", "difference"),
        Column("better", "share"),
        Column("worse", "share"),
    ]
    notes = [
        "changes against baseline, over the tasks run under both settings",
        "calls: executed per run; better, worse: the share of tasks whose compliance rose, fell",
        *_summaries(rows, *averaged(runs)),
        *simulated_note(runs),
    ]
    return Table("effects", "Effect of the gate", columns, rows, notes)


def _changes(baseline: Sequence[RunRecord], enforced: Sequence[RunRecord]) -> list[Cell]:
    rises = [difference(b["score"], a["score"]) for a, b in pairs(baseline, enforced)]
    return [
        change(compliance, baseline, enforced),
        change(accuracy, baseline, enforced),
        change(calls, baseline, enforced),
        mean(None if rise is None else float(rise > 0) for rise in rises),
        mean(None if rise is None else float(rise < 0) for rise in rises),
    ]


def _summaries(rows: Sequence[Sequence[Cell]], kind: str, models: Sequence[str]) -> list[str]:
    """A sentence for each setting: how many models improve, and by how much."""
    sentences = []
    for setting in dict.fromkeys(row[1] for row in rows):
        of = {str(row[0]): row for row in rows if row[1] == setting and row[0] in models}
        if not of:
            continue
        score = summary({model: row[2] for model, row in of.items()})
        answers = summary({model: row[3] for model, row in of.items()})
        sentences.append(
            f"{setting}: compliance rises for {score.improved} of {score.total} {kind}, on "
            f"average by {score.mean:+.3f}; accuracy by {answers.mean:+.3f}"
        )
    return sentences


def summary(changes: Mapping[str, Cell]) -> MeanChange:
    """The mean change over models, each counted once."""
    known = [as_number(change) for change in changes.values() if change is not None]
    return MeanChange(mean(known) or 0.0, sum(change > 0 for change in known), len(known))


def gap(runs: Sequence[RunRecord]) -> Table:
    """Block-and-warn minus soft-block, for each model run under both."""
    rows = []
    for model, by_setting in by_model(runs).items():
        if WARN not in by_setting or SOFT not in by_setting:
            continue
        unaided, warned, blocked = (by_setting.get(each, []) for each in (BASELINE, WARN, SOFT))
        rows.append(
            [
                model,
                change(compliance, unaided, warned),
                change(compliance, unaided, blocked),
                change(compliance, blocked, warned),
                change(accuracy, blocked, warned),
                mean(float(run["ending"] == "stopped") for run in blocked),
            ]
        )
    columns = [
        Column("model"),
        Column("C warn", "change", {"measure": "compliance change", "setting": WARN}),
        Column("C soft", "change", {"measure": "compliance change", "setting": SOFT}),
        Column("gap C", "change", {"measure": "compliance gap"}),
        Column("gap A", "change", {"measure": "accuracy gap"}),
        Column("stopped", "share"),
    ]
    notes = [
        "C warn, C soft: the change in compliance against baseline",
        (
            "gap: block-and-warn minus soft-block, in compliance and in accuracy: the mistakes "
            "that a model corrects when retries are free"
        ),
        "stopped: the share of soft-block runs ended by the gate",
        *simulated_note(runs),
    ]
    return Table("gap", "The gap between block-and-warn and soft-block", columns, rows, notes)


def floor(runs: Sequence[RunRecord]) -> Table:
    """Enforced compliance, compared with an agent that knows nothing and only obeys."""
    groups = by_model_and_setting(runs)
    rows = []
    for (model, setting), group in groups.items():
        if model == FLOOR or setting == BASELINE:
            continue
        both = pairs(group, groups.get((FLOOR, setting), []))
        own, lowest = compliance(a for a, _ in both), compliance(b for _, b in both)
        rows.append([model, setting, own, lowest, difference(own, lowest), above(own, lowest)])
    columns = [
        *MODEL_AND_SETTING,
        Column("compliance", "share"),
        Column("floor", "share"),
        Column("above", "change"),
        Column("of the rest", "share"),
    ]
    notes = [
        (
            f"floor: the compliance of {FLOOR} on the same tasks; it knows nothing about them and "
            "only follows refusals"
        ),
        "of the rest: the model's gain as a share of the distance from the floor to 1",
        *floor_note(runs),
        *simulated_note(runs),
    ]
    return Table("floor", "Above the gate-only floor", columns, rows, notes)


def above(own: float | None, floor: float | None) -> float | None:
    """The share of the distance from the floor to 1 that a score covers."""
    if own is None or floor is None or floor == 1:
        return None
    return (own - floor) / (1 - floor)


def enforcement(runs: Sequence[RunRecord]) -> Table:
    """Interventions by model, setting and layer. Tolerated violations are not interventions."""
    rows: list[list[Cell]] = []
    for (model, setting), group in by_model_and_setting(runs).items():
        if setting == BASELINE:
            continue
        rows += [[model, setting, *cells] for cells in _by_layer(group)]
    columns = [*MODEL_AND_SETTING, *_RESOLUTIONS]
    return Table("enforcement", "Interventions of the gate", columns, rows, simulated_note(runs))


def events(runs: Sequence[RunRecord]) -> Table:
    """Interventions by setting and layer, over all models together."""
    kind, models = averaged(runs)
    among = [run for run in runs if run["model"] in models]
    rows: list[list[Cell]] = []
    for setting in settings_of(among):
        if setting != BASELINE:
            group = [run for run in among if run["setting"] == setting]
            rows += [[setting, *cells] for cells in _by_layer(group)]
    notes = [
        f"all {kind} together: {', '.join(models)}" if models else "the floor is not counted",
        "resolved: followed by another turn with calls, in which the agent insisted or listened",
        *simulated_note(runs),
    ]
    columns = [Column("setting"), *_RESOLUTIONS]
    return Table("events", "Interventions of the gate, pooled", columns, rows, notes)


_RESOLUTIONS: Final = (
    Column("layer"),
    Column("events", "count"),
    Column("resolved", "count"),
    Column("insisted", "count"),
    Column("listened", "count"),
    Column("insist rate", "percent"),
)


def _by_layer(runs: Sequence[RunRecord]) -> list[list[Cell]]:
    """A row for each layer, those without events included, and one for all of them."""
    counts = resolutions(runs)
    total = sum(counts.values(), Counter[str]())
    return [
        *([layer, *resolution_cells(counts[layer])] for layer in LAYERS),
        ["all", *resolution_cells(total)],
    ]


def resolutions(runs: Sequence[RunRecord]) -> dict[str, Counter[str]]:
    """For each layer, the number of events with each resolution."""
    counts = {layer: Counter[str]() for layer in LAYERS}
    for run in runs:
        for event in run["events"]:
            if event["action"] not in ("tolerate", *NO_CHOICE):
                counts[event["layer"]][event["resolution"]] += 1
    return counts


def resolution_cells(counts: Counter[str]) -> list[Cell]:
    """Events, resolved, insisted, listened, insist rate."""
    insisted, listened = counts["insisted"], counts["listened"]
    events = counts.total()
    rate = insisted / events if events else None
    return [events, insisted + listened, insisted, listened, rate]
