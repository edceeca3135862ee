"""Compliance and accuracy by template, structure and difficulty, and their correlation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import StatisticsError, correlation
from typing import Final

from bylaw.bench.analysis.runs import (
    SHORT,
    accuracy,
    averaged,
    by_model,
    by_model_and_setting,
    compliance,
    grouped,
    settings_of,
    simulated_note,
)
from bylaw.bench.results import RunRecord
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.tables import Cell, Column, Table

MEASURES: Final = {"compliance": compliance, "accuracy": accuracy}


def templates(runs: Sequence[RunRecord]) -> Table:
    """By template, in the order of the paper."""
    columns, rows = _broken_down(runs, "template", TEMPLATES, lambda run: run["template"])
    title = "Compliance (C) and accuracy (A) by template"
    return Table("templates", title, columns, rows, _notes(runs))


def structures(runs: Sequence[RunRecord]) -> Table:
    """By the structure of the templates."""
    members: dict[str, list[str]] = {}
    for name, template in TEMPLATES.items():
        members.setdefault(template.structure, []).append(name)
    columns, rows = _broken_down(runs, "structure", members, lambda run: run["structure"])
    title = "Compliance (C) and accuracy (A) by structure"
    notes = [f"{structure}: {', '.join(names)}" for structure, names in members.items()]
    return Table("structures", title, columns, rows, [*notes, *_notes(runs)])


def difficulties(runs: Sequence[RunRecord]) -> Table:
    """By difficulty, from D1 to D5."""
    levels = [f"D{difficulty}" for difficulty in DIFFICULTIES]
    columns, rows = _broken_down(runs, "difficulty", levels, lambda run: f"D{run['difficulty']}")
    title = "Compliance (C) and accuracy (A) by difficulty"
    return Table("difficulties", title, columns, rows, _notes(runs))


def _broken_down(
    runs: Sequence[RunRecord], title: str, order: Iterable[str], of: Callable[[RunRecord], str]
) -> tuple[list[Column], list[list[Cell]]]:
    """Columns for each measure and setting, and a row for each model and value."""
    settings = settings_of(runs)
    rows: list[list[Cell]] = []
    for model, by_setting in by_model(runs).items():
        cells = {setting: grouped(by_setting.get(setting, ()), of) for setting in settings}
        for value in order:
            groups = [cells[setting].get(value, ()) for setting in settings]
            if any(groups):
                measured = (measure(g) for measure in MEASURES.values() for g in groups)
                rows.append([model, value, *measured])
    measured_columns = [_column(name, setting) for name in MEASURES for setting in settings]
    return [Column("model"), Column(title), *measured_columns], rows


def _column(measure: str, setting: str) -> Column:
    about = {"measure": measure, "setting": setting}
    return Column(f"{measure[0].upper()} {SHORT[setting]}", "share", about)


def _notes(runs: Sequence[RunRecord]) -> list[str]:
    legend = "; ".join(f"{SHORT[setting]}: {setting}" for setting in settings_of(runs))
    return [legend, *simulated_note(runs)]


def correlations(runs: Sequence[RunRecord]) -> Table:
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
            "r: Pearson correlation of mean compliance and accuracy over cells; undefined if one "
            "of them is the same in all cells"
        ),
        *simulated_note(runs),
    ]
    title = "Correlation of compliance and accuracy"
    return Table("correlations", title, columns, rows, notes)


def _across(run: RunRecord) -> Hashable:
    return run["model"], run["template"]


def _within(run: RunRecord) -> Hashable:
    return run["template"], run["difficulty"]


def _over(runs: Sequence[RunRecord], cell: Callable[[RunRecord], Hashable]) -> list[Cell]:
    """The number of cells, and r."""
    cells = [(compliance(group), accuracy(group)) for group in grouped(runs, cell).values()]
    known = [(x, y) for x, y in cells if x is not None and y is not None]
    return [len(known), pearson(known)]


def pearson(points: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's r; None if it is undefined."""
    try:
        return correlation([x for x, _ in points], [y for _, y in points])
    except StatisticsError:
        return None
