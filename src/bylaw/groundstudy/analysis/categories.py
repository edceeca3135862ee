"""How correctness and grounding combine, and whether the one tells of the other."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import Run, simulated_note
from bylaw.groundstudy.analysis.agreement import Confusion
from bylaw.groundstudy.analysis.runs import (
    CATEGORIES,
    CATEGORY_NOTE,
    by_model_and_prompt,
    share,
)
from bylaw.tables import Column, Table


def categories(runs: Sequence[Run]) -> Table:
    """The four categories by model and prompt."""
    rows = [
        [
            model,
            prompt,
            len(group),
            *(share(group, each) for each in CATEGORIES),
            ungrounded_as_alarm(group).precision,
            ungrounded_as_alarm(group).recall,
        ]
        for (model, prompt), group in by_model_and_prompt(runs).items()
    ]
    columns = [
        Column("model"),
        Column("prompt"),
        Column("runs", "count"),
        *(Column(each, "percent") for each in CATEGORIES),
        Column("precision", "percent"),
        Column("recall", "percent"),
    ]
    notes = [
        CATEGORY_NOTE,
        "precision, recall: of ungroundedness as a sign that an answer is incorrect",
        *simulated_note(runs),
    ]
    return Table("categories", "Correctness and grounding", columns, rows, notes)


def ungrounded_as_alarm(runs: Sequence[Run]) -> Confusion:
    """Ungroundedness against incorrectness: IU is a true positive, CU a false one."""
    return Confusion.of((run["category"][1] == "U", run["category"][0] == "I") for run in runs)
