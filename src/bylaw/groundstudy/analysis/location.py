"""What is left of grounding if a symbol must be defined where the answer says it is."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import Run, mean, simulated_note
from bylaw.groundstudy.analysis.runs import by_model_and_prompt, grounded
from bylaw.tables import Column, Table


def location(runs: Sequence[Run]) -> Table:
    """The share of grounded runs, without and with a look at places, by model and prompt."""
    rows = [
        [
            model,
            prompt,
            grounded(group),
            mean(float(run["located"]) for run in group),
            mean(float(run["located"]) for run in group if run["category"] == "CG"),
            mean(float(run["located"]) for run in group if run["category"] == "IG"),
        ]
        for (model, prompt), group in by_model_and_prompt(runs).items()
    ]
    columns = [
        Column("model"),
        Column("prompt"),
        Column("grounded", "percent"),
        Column("located", "percent"),
        Column("of CG", "percent"),
        Column("of IG", "percent"),
    ]
    notes = [
        "located: grounded, and no symbol is placed in a file that was read and does not define it",
        "of CG, of IG: the share of these that is located; a refusal is",
        *simulated_note(runs),
    ]
    return Table("location", "Grounding by place", columns, rows, notes)
