"""What a gate changes: enforced runs against the baseline runs of the same tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bylaw.bench.analysis.runs import (
    BASELINE,
    Run,
    accuracy,
    averaged,
    by_model,
    calls,
    change,
    compliance,
    difference,
    mean,
    pairs,
    simulated_note,
)
from bylaw.tables import Cell, Column, Table


@dataclass(frozen=True, slots=True)
class Change:
    """How some models changed."""

    mean: float
    improved: int
    total: int


def effects(runs: Sequence[Run]) -> Table:
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


def _changes(baseline: Sequence[Run], enforced: Sequence[Run]) -> list[Cell]:
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


def summary(changes: Mapping[str, Cell]) -> Change:
    """The mean change over models, and how many improve; each model counts once."""
    known = [float(change) for change in changes.values() if change is not None]
    return Change(mean(known) or 0.0, sum(change > 0 for change in known), len(known))
