"""Compliance and accuracy, broken down: by template, by structure, by difficulty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from bylaw.bench.analysis.runs import (
    SHORT,
    Run,
    accuracy,
    by_model,
    compliance,
    grouped,
    settings_of,
    simulated_note,
)
from bylaw.bench.templates import TEMPLATES
from bylaw.bench.templates.template import DIFFICULTIES
from bylaw.tables import Cell, Column, Table

MEASURES: Final = {"compliance": compliance, "accuracy": accuracy}


def templates(runs: Sequence[Run]) -> Table:
    """By template, in the order of the paper."""
    columns, rows = _broken_down(runs, "template", TEMPLATES, lambda run: run["template"])
    title = "Compliance (C) and accuracy (A) by template"
    return Table("templates", title, columns, rows, _notes(runs))


def structures(runs: Sequence[Run]) -> Table:
    """By the structure that templates have."""
    members: dict[str, list[str]] = {}
    for name, template in TEMPLATES.items():
        members.setdefault(template.structure, []).append(name)
    columns, rows = _broken_down(runs, "structure", members, lambda run: run["structure"])
    title = "Compliance (C) and accuracy (A) by structure"
    notes = [f"{structure}: {', '.join(names)}" for structure, names in members.items()]
    return Table("structures", title, columns, rows, [*notes, *_notes(runs)])


def difficulties(runs: Sequence[Run]) -> Table:
    """By difficulty, from D1 to D5."""
    levels = [f"D{difficulty}" for difficulty in DIFFICULTIES]
    columns, rows = _broken_down(runs, "difficulty", levels, lambda run: f"D{run['difficulty']}")
    title = "Compliance (C) and accuracy (A) by difficulty"
    return Table("difficulties", title, columns, rows, _notes(runs))


def _broken_down(
    runs: Sequence[Run], title: str, order: Iterable[str], of: Callable[[Run], str]
) -> tuple[list[Column], list[list[Cell]]]:
    """A row for each model and value; a column for each measure and setting."""
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


def _notes(runs: Sequence[Run]) -> list[str]:
    legend = "; ".join(f"{SHORT[setting]}: {setting}" for setting in settings_of(runs))
    return [legend, *simulated_note(runs)]
