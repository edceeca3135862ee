"""Does it matter how well known a repository is?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bylaw.bench.analysis.runs import Run, grouped, simulated_note
from bylaw.groundstudy.analysis.runs import (
    CATEGORIES,
    CATEGORY_NOTE,
    by_model_and_prompt,
    correct,
    grounded,
    pooled,
    share,
)
from bylaw.groundstudy.pinned import BUCKETS
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.tables import Cell, Column, Table

_COLUMNS = (
    Column("prompt"),
    Column("bucket"),
    Column("runs", "count"),
    Column("correct", "percent"),
    Column("grounded", "percent"),
    *(Column(each, "percent") for each in CATEGORIES),
)


def popularity(runs: Sequence[Run]) -> Table:
    """The categories by prompt and bucket, over all models together."""
    taken = pooled(runs)
    under = grouped(taken, lambda run: str(run["prompt"]))
    rows = [row for prompt in PROMPTS for row in _rows(prompt, under.get(prompt, []))]
    models = ", ".join(sorted({run["model"] for run in taken}))
    notes = [f"over {models}", CATEGORY_NOTE, *simulated_note(taken)]
    return Table("popularity", "Popularity of the repository", _COLUMNS, rows, notes)


def popularity_by_model(runs: Sequence[Run]) -> Table:
    """The same for each model."""
    rows = [
        [model, *row]
        for (model, prompt), group in by_model_and_prompt(runs).items()
        for row in _rows(prompt, group)
    ]
    columns = [Column("model"), *_COLUMNS]
    title = "Popularity of the repository, by model"
    return Table(
        "popularity-by-model", title, columns, rows, [CATEGORY_NOTE, *simulated_note(runs)]
    )


def _rows(prompt: str, runs: Sequence[Run]) -> Iterator[list[Cell]]:
    """A row for each bucket that occurs, from the least popular; one of our own comes last."""
    buckets = grouped(runs, lambda run: str(run["bucket"]))
    known = [bucket for bucket in BUCKETS if bucket in buckets]
    for bucket in (*known, *sorted(buckets.keys() - set(BUCKETS))):
        group = buckets[bucket]
        shares = (share(group, each) for each in CATEGORIES)
        yield [prompt, bucket, len(group), correct(group), grounded(group), *shares]
