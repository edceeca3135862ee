"""What the strict prompt changes, over the questions that were asked under both prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bylaw.bench.analysis.runs import Run, difference, grouped, simulated_note
from bylaw.groundstudy.analysis.runs import correct, grounded, reads, share, vacuous
from bylaw.tables import Cell, Column, Table


def strict_effect(runs: Sequence[Run]) -> Table:
    """The changes of each model, and how much of its grounding is refusal."""
    models = grouped(sorted(runs, key=lambda run: str(run["model"])), lambda run: str(run["model"]))
    rows = [[model, *row] for model, group in models.items() if (row := _changes(group))]
    columns = [
        Column("model"),
        Column("questions", "count"),
        Column("Δ correct", "difference"),
        Column("Δ grounded", "difference"),
        Column("Δ CG", "difference"),
        Column("Δ reads", "change"),
        Column("vacuous", "percent"),
    ]
    notes = [
        "changes from the default to the strict prompt: percentage points; reads per run",
        "questions: asked under both prompts, each seed for itself",
        "vacuous: of the strict runs that are grounded, the share that claims nothing",
        *simulated_note(runs),
    ]
    return Table("strict", "What the strict prompt changes", columns, rows, notes)


def _changes(runs: Sequence[Run]) -> list[Cell] | None:
    """The row of a model; None if no question was asked under both prompts."""
    under = {
        prompt: {(run["repository"], run["symbol"], run["seed"]): run for run in group}
        for prompt, group in grouped(runs, lambda run: str(run["prompt"])).items()
    }
    both = under.get("default", {}).keys() & under.get("strict", {}).keys()
    if not both:
        return None
    before = [under["default"][task] for task in both]
    after = [under["strict"][task] for task in both]

    def change(measure: Callable[[Sequence[Run]], float | None]) -> float | None:
        return difference(measure(after), measure(before))

    return [
        len(both),
        _points(change(correct)),
        _points(change(grounded)),
        _points(change(lambda group: share(group, "CG"))),
        change(reads),
        vacuous(after),
    ]


def _points(value: float | None) -> float | None:
    return None if value is None else 100 * value
