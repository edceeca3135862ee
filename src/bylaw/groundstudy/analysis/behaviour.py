"""What each model does to find an answer."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.bench.analysis.runs import Run, calls, mean, simulated_note
from bylaw.groundstudy.analysis.runs import (
    by_model_and_prompt,
    correct,
    grounded,
    is_vacuous,
    reads,
)
from bylaw.tables import Column, Table


def _is_cut(run: Run) -> bool:
    """Did it end without an answer, in a call or in words?"""
    return run["ending"] != "answered" and run.get("answer") is None


def behaviour(runs: Sequence[Run]) -> Table:
    """Correctness, grounding, refusals and reading, by model and prompt."""
    rows = [
        [
            model,
            prompt,
            correct(group),
            grounded(group),
            mean(float(is_vacuous(run)) for run in group),
            reads(group),
            calls(group),
            mean(float(run["reads"] == 0) for run in group),
            mean(float(_is_cut(run)) for run in group),
        ]
        for (model, prompt), group in by_model_and_prompt(runs).items()
    ]
    columns = [
        Column("model"),
        Column("prompt"),
        Column("correct", "percent"),
        Column("grounded", "percent"),
        Column("vacuous", "percent"),
        Column("reads", "number"),
        Column("calls", "number"),
        Column("unread", "percent"),
        Column("cut", "percent"),
    ]
    notes = [
        "grounded: the paper's predicate, which vacuous answers satisfy once a file was read",
        "vacuous: answers that claim nothing; reads, calls: per run",
        "unread: runs that read no file; cut: runs that ended without an answer",
        *simulated_note(runs),
    ]
    return Table("behaviour", "How models go about it", columns, rows, notes)
