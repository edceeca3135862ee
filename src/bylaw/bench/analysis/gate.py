"""What a gate changes: enforced runs against the baseline runs of the same tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    SOFT,
    WARN,
    RunRecord,
    accuracy,
    averaged,
    by_model,
    by_model_and_setting,
    calls,
    change,
    compliance,
    difference,
    mean,
    pairs,
    simulated_note,
)
from bylaw.enforcement.events import NO_CHOICE
from bylaw.procedure.constraint import LAYERS
from bylaw.tables import Cell, Column, Table


@dataclass(frozen=True, slots=True)
class MeanChange:
    """How some models changed."""

    mean: float
    improved: int
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
        Column("model"),
        Column("setting"),
        Column("compliance", "change"),
        Column("accuracy", "change"),
        Column("calls", "difference"),
        Column("better", "share"),
        Column("worse", "share"),
    ]
    notes = [
        "changes against baseline, over the tasks that were run under both",
        "calls: executed per run; better, worse: the share of tasks whose compliance rose, fell",
        *_summaries(rows, *averaged(runs)),
        *simulated_note(runs),
    ]
    return Table("effects", "What the gate changes", columns, rows, notes)


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
    """A line for each setting: how many models improve, and by how much."""
    told = []
    for setting in dict.fromkeys(row[1] for row in rows):
        of = {str(row[0]): row for row in rows if row[1] == setting and row[0] in models}
        if not of:
            continue
        score = summary({model: row[2] for model, row in of.items()})
        answers = summary({model: row[3] for model, row in of.items()})
        told.append(
            f"{setting}: compliance rises for {score.improved} of {score.total} {kind}, on "
            f"average by {score.mean:+.3f}; accuracy by {answers.mean:+.3f}"
        )
    return told


def summary(changes: Mapping[str, Cell]) -> MeanChange:
    """The mean change over models, and how many improve; each model counts once."""
    known = [float(change) for change in changes.values() if change is not None]
    return MeanChange(mean(known) or 0.0, sum(change > 0 for change in known), len(known))


def gap(runs: Sequence[RunRecord]) -> Table:
    """Block-and-warn less soft-block, for each model that was run under both."""
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
            "gap: block-and-warn less soft-block, in compliance and in accuracy. What a model "
            "gains only where retries are free are mistakes that it can mend"
        ),
        "stopped: the share of soft-block runs that the gate ended",
        *simulated_note(runs),
    ]
    return Table("gap", "The gap between block-and-warn and soft-block", columns, rows, notes)


def floor(runs: Sequence[RunRecord]) -> Table:
    """Enforced compliance beside that of an agent that knows nothing and only obeys."""
    groups = by_model_and_setting(runs)
    rows = []
    for (model, setting), group in groups.items():
        if model == FLOOR or setting == BASELINE:
            continue
        both = pairs(group, groups.get((FLOOR, setting), []))
        own, bought = compliance(a for a, _ in both), compliance(b for _, b in both)
        rows.append([model, setting, own, bought, difference(own, bought), above(own, bought)])
    columns = [
        Column("model"),
        Column("setting"),
        Column("compliance", "share"),
        Column("floor", "share"),
        Column("above", "change"),
        Column("of the rest", "share"),
    ]
    notes = [
        (
            f"floor: the compliance of {FLOOR} on the same tasks: it knows nothing of them and "
            "only follows refusals"
        ),
        "of the rest: how much of what the floor leaves open the model fills, 1 at most",
        *([] if any(m == FLOOR for m, _ in groups) else [f"not in these results: {FLOOR}"]),
        *simulated_note(runs),
    ]
    return Table("floor", "Above the gate-only floor", columns, rows, notes)


def above(own: float | None, bought: float | None) -> float | None:
    """The share, of what the floor leaves open, that a score fills."""
    if own is None or bought is None or bought == 1:
        return None
    return (own - bought) / (1 - bought)


COLUMNS = (
    Column("layer"),
    Column("events", "count"),
    Column("resolved", "count"),
    Column("insisted", "count"),
    Column("listened", "count"),
    Column("insist rate", "percent"),
)


def enforcement(runs: Sequence[RunRecord]) -> Table:
    """Events by model, setting and layer. What was tolerated is not an intervention."""
    rows = []
    for (model, setting), group in by_model_and_setting(runs).items():
        if setting == BASELINE:
            continue
        counts = resolutions(group)
        for layer in LAYERS:
            if counts[layer]:
                rows.append([model, setting, layer, *row(counts[layer])])
        total = sum(counts.values(), Counter[str]())
        rows.append([model, setting, "all", *row(total)])
    columns = [Column("model"), Column("setting"), *COLUMNS]
    return Table("enforcement", "Interventions of the gate", columns, rows, simulated_note(runs))


def resolutions(runs: Sequence[RunRecord]) -> dict[str, Counter[str]]:
    """For each layer, how many events were resolved in which way."""
    counts = {layer: Counter[str]() for layer in LAYERS}
    for run in runs:
        for event in run["events"]:
            if event["action"] not in ("tolerate", *NO_CHOICE):
                counts[event["layer"]][event["resolution"]] += 1
    return counts


def row(counts: Counter[str]) -> list[Cell]:
    """Events, resolved, insisted, listened, insist rate."""
    insisted, listened = counts["insisted"], counts["listened"]
    events = counts.total()
    rate = insisted / events if events else None
    return [events, insisted + listened, insisted, listened, rate]
