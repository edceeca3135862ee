"""How well each model did under each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bylaw.bench.analysis.runs import (
    BASELINE,
    FLOOR,
    RunRecord,
    accuracy,
    by_model_and_setting,
    compliance,
    mean,
    pairs,
    simulated_note,
)
from bylaw.tables import Column, Mark, Table

K = TypeVar("K")


def overview(runs: Sequence[RunRecord]) -> Table:
    """Compliance and accuracy by model and setting, the gate-only floor beside what is enforced."""
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
        "floor: what the gate alone buys, the compliance of sim:obedient-random on the same tasks",
        *([] if any(m == FLOOR for m, _ in groups) else [f"not in these results: {FLOOR}"]),
        *_mixtures(runs),
        "full: runs without a violation; cut: runs that ended without an answer",
        *simulated_note(runs),
    ]
    title = "Compliance and accuracy by model and setting"
    return Table("overview", title, columns, rows, notes, _marks(groups))


def _floor(group: Sequence[RunRecord], obedient: Sequence[RunRecord]) -> float | None:
    """What an agent that only obeys gets on the tasks of these runs."""
    return compliance(floor for _, floor in pairs(group, obedient))


def _mixtures(runs: Sequence[RunRecord]) -> list[str]:
    """Models whose runs were not all made in the same way: their rows mix what should be apart."""
    found: dict[str, dict[str, set[str]]] = {}
    for run in runs:
        ways = found.setdefault(run["model"], {})
        conditions = run["conditions"] | run["conditions"]["about"]
        for name in conditions.keys() - {"about"}:
            ways.setdefault(name, set()).add(str(conditions[name]))
    return [
        f"{model}: its runs differ in {name}: {', '.join(sorted(values))}"
        for model, ways in found.items()
        for name, values in sorted(ways.items())
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


def extremes(scores: Mapping[K, float]) -> dict[K, Mark]:
    """The best and the worst of some scores; nothing where they are all the same."""
    if len(set(scores.values())) < 2:
        return {}
    best = max(scores, key=scores.__getitem__)
    return {best: "best", min(scores, key=scores.__getitem__): "worst"}
