"""Whether those who follow the procedure also get the answer right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from statistics import StatisticsError, correlation

from bylaw.bench.analysis.runs import (
    Run,
    accuracy,
    averaged,
    by_model_and_setting,
    compliance,
    grouped,
    settings_of,
    simulated_note,
)
from bylaw.tables import Cell, Column, Table


def correlations(runs: Sequence[Run]) -> Table:
    """Pearson's r of compliance and accuracy over cells: across models, and within each."""
    kind, models = averaged(runs)
    rows: list[list[Cell]] = []
    for each in settings_of(runs):
        among = [run for run in runs if run["setting"] == each and run["model"] in models]
        rows.append([f"all {kind}", each, "model × template", *_over(among, _across)])
    for (model, setting), group in by_model_and_setting(runs).items():
        rows.append([model, setting, "template × difficulty", *_over(group, _within)])
    columns = [
        Column("model"),
        Column("setting"),
        Column("cells"),
        Column("n", "count"),
        Column("r", "change"),
    ]
    notes = [
        (
            "r: Pearson correlation of mean compliance and accuracy over cells; none where one of "
            "them is the same in all cells"
        ),
        *simulated_note(runs),
    ]
    title = "Compliance and accuracy: do they go together?"
    return Table("correlations", title, columns, rows, notes)


def _across(run: Run) -> Hashable:
    return run["model"], run["template"]


def _within(run: Run) -> Hashable:
    return run["template"], run["difficulty"]


def _over(runs: Sequence[Run], cell: Callable[[Run], Hashable]) -> list[Cell]:
    """How many cells there are, and r."""
    cells = [(compliance(group), accuracy(group)) for group in grouped(runs, cell).values()]
    known = [(x, y) for x, y in cells if x is not None and y is not None]
    return [len(known), pearson(known)]


def pearson(points: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's r; None where it is not defined."""
    try:
        return correlation([x for x, _ in points], [y for _, y in points])
    except StatisticsError:
        return None
