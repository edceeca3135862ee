"""The certainty of a benchmark's figures: intervals, answers that can be guessed, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bylaw.bench.analysis.intervals import interval
from bylaw.bench.analysis.runs import (
    MODEL_AND_SETTING,
    accuracy,
    by_model_and_setting,
    compliance,
    grouped,
    mean,
    simulated_note,
)
from bylaw.bench.instance import TaskInstance, instance
from bylaw.bench.results import RunRecord
from bylaw.tables import Cell, Column, Interval, Table


def task_of(run: RunRecord) -> TaskInstance:
    """The task of a run."""
    return instance(run["template"], run["difficulty"], run["seed"])


def intervals(runs: Sequence[RunRecord]) -> Table:
    """Compliance and accuracy with 95 % intervals, by prompt."""
    rows: list[list[Cell]] = [
        [
            *(model, setting),
            *(compliance(group), _by_prompt(group, lambda run: run["score"])),
            *(accuracy(group), _by_prompt(group, lambda run: float(run["correct"]))),
        ]
        for (model, setting), group in by_model_and_setting(runs).items()
    ]
    columns = [
        *MODEL_AND_SETTING,
        Column("compliance", "share"),
        Column("95 %", "share interval", {"measure": "compliance interval"}),
        Column("accuracy", "share"),
        Column("95 %", "share interval", {"measure": "accuracy interval"}),
    ]
    tasks = {task_of(run).name: task_of(run) for run in runs}
    prompts = {task.prompt for task in tasks.values()}
    notes = [
        (
            f"95 %: bootstrap intervals over prompts. The {len(tasks)} tasks have {len(prompts)} "
            "distinct prompts, and runs of one prompt are alike"
        ),
        *simulated_note(runs),
    ]
    title = "Compliance and accuracy, with intervals"
    return Table("intervals", title, columns, rows, notes)


def _by_prompt(
    runs: Sequence[RunRecord], measure: Callable[[RunRecord], float | None]
) -> Interval | None:
    groups = grouped(runs, lambda run: task_of(run).prompt).values()
    values = [[v for run in group if (v := measure(run)) is not None] for group in groups]
    known = [group for group in values if group]
    return interval(known) if known else None


def guessable(runs: Sequence[RunRecord]) -> Table:
    """Accuracy with and without the tasks whose answer can be guessed."""
    rows: list[list[Cell]] = []
    for (model, setting), group in by_model_and_setting(runs).items():
        easy = [run for run in group if task_of(run).guessable]
        others = [run for run in group if not task_of(run).guessable]
        rows.append([model, setting, accuracy(group), accuracy(others), len(easy), accuracy(easy)])
    columns = [
        *MODEL_AND_SETTING,
        Column("accuracy", "share"),
        Column("without", "share"),
        Column("guessable", "count"),
        Column("of them right", "share"),
    ]
    names = sorted({task_of(run).name for run in runs if task_of(run).guessable})
    notes = [
        "guessable: runs of tasks whose answer is 0 or a number in the prompt",
        "without: accuracy on all other tasks",
        *([f"these tasks: {', '.join(names)}"] if names else []),
        *simulated_note(runs),
    ]
    title = "Accuracy without the answers that can be guessed"
    return Table("guessable", title, columns, rows, notes)


def models(runs: Sequence[RunRecord]) -> Table:
    """The size of each model, and the conditions of its runs."""
    rows: list[list[Cell]] = []
    for model, group in grouped(runs, lambda run: run["model"]).items():
        seen = [run["conditions"] | run["conditions"]["about"] for run in group]
        stated = [_stated([each.get(name) for each in seen]) for name in _CONDITIONS]
        rows.append([model, _size(seen[0].get("parameters")), *stated, _turns(group)])
    columns = [
        Column("model"),
        Column("parameters"),
        *(Column(title) for title in _CONDITIONS.values()),
        Column("turns", "number"),
    ]
    notes = [
        "parameters: of the model without its adapter; turns: of the model, per run",
        *simulated_note(runs),
    ]
    return Table("models", "Models and conditions", columns, rows, notes)


_CONDITIONS = {
    "dtype": "weights",
    "temperature": "temp.",
    "constrained": "grammar",
    "harness": "harness",
}
"""The conditions that the table of models lists, with their titles."""


def _stated(values: Sequence[object]) -> str | None:
    """The value of a condition; several if runs differ."""
    known = {_word(value) for value in values if value is not None}
    return "/".join(sorted(known)) or None


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _size(parameters: object) -> str | None:
    """The number of parameters in billions. What a model says of itself is not checked before."""
    return f"{parameters / 1e9:.2f} B" if isinstance(parameters, int) else None


def _turns(runs: Sequence[RunRecord]) -> float | None:
    return mean(run.get("turns") for run in runs)
