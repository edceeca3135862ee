"""The grounding predicate and correctness, against what judges say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bylaw.bench.analysis.runs import grouped
from bylaw.groundstudy.analysis.agreement import Confusion
from bylaw.groundstudy.judges import VIEWS
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.tables import Cell, Column, Table

ALL: Final = "all"


def judges(judgements: Sequence[Mapping[str, Any]]) -> Table:
    """Agreement by view, prompt and model; pooled in the rows called `all`."""
    found = grouped(judgements, lambda each: (each["judge"], each["view"], each["prompt"]))
    order = sorted(found, key=lambda key: (key[0], VIEWS.index(key[1]), PROMPTS.index(key[2])))
    rows: list[list[Cell]] = []
    for key in order:
        models = grouped(found[key], lambda each: str(each["model"]))
        for model in sorted(models):
            rows.append([*key, model, *_figures(models[model])])
        if len(models) > 1:
            rows.append([*key, ALL, *_figures(found[key])])
    columns = [
        Column("judge"),
        Column("view"),
        Column("prompt"),
        Column("model"),
        Column("runs", "count"),
        Column("agree", "percent"),
        Column("precision", "percent"),
        Column("recall", "percent"),
        Column("κ", "change"),
    ]
    notes = [
        "aware: sees the calls, and is compared with the grounding predicate",
        "blind: does not, and is compared with correctness",
        "precision: of what the judge says yes to, the share that is grounded, or correct",
        "recall: of what is grounded, or correct, the share that the judge says yes to",
        *_unreadable(judgements),
    ]
    return Table("judges", "Judges", columns, rows, notes)


def confusion(judgements: Iterable[Mapping[str, Any]]) -> Confusion:
    """The judge's verdicts against what was measured; judgements without a verdict are left out."""
    decided = (each for each in judgements if each["verdict"] is not None)
    return Confusion.of((each["verdict"], each["measured"]) for each in decided)


def _figures(judgements: Sequence[Mapping[str, Any]]) -> list[Cell]:
    found = confusion(judgements)
    return [found.total, found.agreement, found.precision, found.recall, found.kappa]


def _unreadable(judgements: Sequence[Mapping[str, Any]]) -> list[str]:
    count = sum(each["verdict"] is None for each in judgements)
    return [f"{count:,} judgements could not be read and are left out"] if count else []
