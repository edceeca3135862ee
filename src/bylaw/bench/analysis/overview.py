"""How well each model did under each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    Run,
    accuracy,
    by_model_and_setting,
    compliance,
    mean,
    simulated_note,
)
from bylaw.tables import Column, Mark, Table

K = TypeVar("K")


def overview(runs: Sequence[Run]) -> Table:
    """Compliance and accuracy by model and setting, the gate-only floor beside what is enforced."""
    groups = by_model_and_setting(runs)
    floors = {setting: compliance(g) for (model, setting), g in groups.items() if model == FLOOR}
    rows = [
        [
            model,
            setting,
            compliance(group),
            None if setting == BASELINE else floors.get(setting),
            accuracy(group),
            mean(float(run["label"] == "FULL") for run in group),
            mean(float(run["ending"] != "answered") for run in group),
        ]
        for (model, setting), group in groups.items()
    ]
    columns = [
        Column("model"),
        Column("setting"),
        Column("compliance", "share"),
        Column("floor", "share"),
        Column("accuracy", "share"),
        Column("full", "share"),
        Column("cut", "share"),
    ]
    counts = sorted({len(group) for group in groups.values()})
    notes = [
        f"runs per row: {' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))}",
        "▲ and ▼: the best and the worst setting of a model",
        "floor: what the gate alone buys, the compliance of sim:obedient-random",
        *([] if floors else ["the floor is not in these results: run sim:obedient-random"]),
        "full: runs without a violation; cut: runs that ended without an answer",
        *simulated_note(runs),
    ]
    title = "Compliance and accuracy by model and setting"
    return Table("overview", title, columns, rows, notes, _marks(groups))


def _marks(groups: Mapping[tuple[str, str], Sequence[Run]]) -> dict[tuple[int, int], Mark]:
    """The best and the worst setting of each model, by compliance."""
    scores: dict[str, dict[int, float]] = {}
    for row, ((model, _), group) in enumerate(groups.items()):
        score = compliance(group)
        if score is not None:
            scores.setdefault(model, {})[row] = score
    return {(row, 2): mark for rows in scores.values() for row, mark in extremes(rows).items()}


def extremes(scores: Mapping[K, float]) -> dict[K, Mark]:
    """The best and the worst of some scores; nothing where they are all the same."""
    if len(set(scores.values())) < 2:
        return {}
    best = max(scores, key=scores.__getitem__)
    return {best: "best", min(scores, key=scores.__getitem__): "worst"}
