"""The overview: compliance and accuracy of each model under each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    MODEL_AND_SETTING,
    accuracy,
    by_model_and_setting,
    compliance,
    extremes,
    floor_note,
    mean,
    pairs,
    simulated_note,
)
from bylaw.bench.results import RunRecord
from bylaw.tables import Column, Mark, Table


def overview(runs: Sequence[RunRecord]) -> Table:
    """Compliance and accuracy by model and setting, with the gate-only floor."""
    groups = by_model_and_setting(runs)
    rows = [
        [
            model,
            setting,
            compliance(group),
            _floor(group, groups.get((FLOOR, setting), [])) if setting != BASELINE else None,
            accuracy(group),
            mean(float(run["label"] == "FULL") for run in group),
            mean(float(run["ending"] != "answered") for run in group),
        ]
        for (model, setting), group in groups.items()
    ]
    columns = [
        *MODEL_AND_SETTING,
        Column("compliance", "share"),
        Column("floor", "share"),
        Column("accuracy", "share"),
        Column("full", "share"),
        Column("cut", "share"),
    ]
    counts = sorted({len(group) for group in groups.values()})
    notes = [
        f"runs per row: {' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))}",
        "▲ and ▼: the best and the worst setting of each model",
        f"floor: the compliance that the gate achieves alone, with {FLOOR}, on the same tasks",
        *floor_note(runs),
        *_mixed_conditions(runs),
        "full: runs without a violation; cut: runs that ended without an answer",
        *simulated_note(runs),
    ]
    title = "Compliance and accuracy by model and setting"
    return Table("overview", title, columns, rows, notes, _marks(groups))


def _floor(group: Sequence[RunRecord], obedient: Sequence[RunRecord]) -> float | None:
    """The compliance of the agent that only obeys, on the tasks of these runs."""
    return compliance(floor for _, floor in pairs(group, obedient))


def _mixed_conditions(runs: Sequence[RunRecord]) -> list[str]:
    """Notes on models whose runs were made under different conditions."""
    found: dict[str, dict[str, set[str]]] = {}
    for run in runs:
        seen = found.setdefault(run["model"], {})
        conditions = run["conditions"] | run["conditions"]["about"]
        for name in conditions.keys() - {"about"}:
            seen.setdefault(name, set()).add(str(conditions[name]))
    return [
        f"{model}: its runs differ in {name}: {', '.join(sorted(values))}"
        for model, seen in found.items()
        for name, values in sorted(seen.items())
        if len(values) > 1
    ]


def _marks(groups: Mapping[tuple[str, str], Sequence[RunRecord]]) -> dict[tuple[int, int], Mark]:
    """The best and the worst setting of each model, by compliance."""
    scores: dict[str, dict[int, float]] = {}
    for row, ((model, _), group) in enumerate(groups.items()):
        score = compliance(group)
        if score is not None:
            scores.setdefault(model, {})[row] = score
    return {(row, 2): mark for rows in scores.values() for row, mark in extremes(rows).items()}
