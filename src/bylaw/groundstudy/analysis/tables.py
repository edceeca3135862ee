"""The tables of the study: categories, the strict prompt, behaviour, location, popularity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bylaw.bench.analysis.runs import (
    Measure,
    calls,
    difference,
    grouped,
    mean,
    simulated_note,
)
from bylaw.bench.results import RunRecord
from bylaw.groundstudy.analysis.judges import Confusion
from bylaw.groundstudy.analysis.runs import (
    CATEGORY_NOTE,
    by_model_and_prompt,
    correct,
    grounded,
    is_vacuous,
    pooled,
    reads,
    share,
    vacuous,
    with_both_prompts,
)
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.repositories.pinned import BUCKETS
from bylaw.groundstudy.study import CATEGORIES
from bylaw.tables import Cell, Column, Table

_MODEL_AND_PROMPT = (Column("model"), Column("prompt"))
_CATEGORY_COLUMNS = tuple(Column(each, "percent") for each in CATEGORIES)


def categories(runs: Sequence[RunRecord]) -> Table:
    """The four categories by model and prompt."""
    rows = [
        [
            *key,
            len(group),
            *(share(group, each) for each in CATEGORIES),
            ungrounded_as_alarm(group).precision,
            ungrounded_as_alarm(group).recall,
        ]
        for key, group in with_both_prompts(by_model_and_prompt(runs)).items()
    ]
    columns = [
        *_MODEL_AND_PROMPT,
        Column("runs", "count"),
        *_CATEGORY_COLUMNS,
        Column("precision", "percent"),
        Column("recall", "percent"),
    ]
    notes = [
        CATEGORY_NOTE,
        "precision, recall: of ungroundedness as a predictor of incorrect answers",
        *simulated_note(runs),
    ]
    return Table("categories", "Correctness and grounding", columns, rows, notes)


def ungrounded_as_alarm(runs: Sequence[RunRecord]) -> Confusion:
    """Ungroundedness as a predictor of incorrectness: IU is a true positive, CU a false one."""
    return Confusion.of((run["category"][1] == "U", run["category"][0] == "I") for run in runs)


def strict_effect(runs: Sequence[RunRecord]) -> Table:
    """The effect of the strict prompt on each model, and its share of vacuous answers."""
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
        "changes from the default to the strict prompt, in percentage points; reads: per run",
        "questions: asked under both prompts, counted once for each seed",
        "vacuous: the share of grounded strict runs that claim nothing",
        *simulated_note(runs),
    ]
    return Table("strict", "Effect of the strict prompt", columns, rows, notes)


def _changes(runs: Sequence[RunRecord]) -> list[Cell] | None:
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

    def points(measure: Measure) -> float | None:
        change = difference(measure(after), measure(before))
        return None if change is None else 100 * change

    return [
        len(both),
        points(correct),
        points(grounded),
        points(lambda group: share(group, "CG")),
        difference(reads(after), reads(before)),
        vacuous(after),
    ]


def behaviour(runs: Sequence[RunRecord]) -> Table:
    """Correctness, grounding, refusals and reading, by model and prompt."""
    rows = [
        [
            *key,
            correct(group),
            grounded(group),
            mean(float(is_vacuous(run)) for run in group),
            reads(group),
            calls(group),
            mean(float(run["reads"] == 0) for run in group),
            mean(float(_is_cut(run)) for run in group),
        ]
        for key, group in by_model_and_prompt(runs).items()
    ]
    columns = [
        *_MODEL_AND_PROMPT,
        Column("correct", "percent"),
        Column("grounded", "percent"),
        Column("vacuous", "percent"),
        Column("reads", "number"),
        Column("calls", "number"),
        Column("unread", "percent"),
        Column("cut", "percent"),
    ]
    notes = [
        "grounded: the paper's predicate, which a vacuous answer satisfies once a file was read",
        "vacuous: answers that claim nothing; reads, calls: per run",
        "unread: runs that read no file; cut: runs that ended without an answer",
        *simulated_note(runs),
    ]
    return Table("behaviour", "Behaviour of the models", columns, rows, notes)


def _is_cut(run: RunRecord) -> bool:
    """True if the run ended without an answer, whether by a call or as text."""
    return run["ending"] != "answered" and run.get("answer") is None


def location(runs: Sequence[RunRecord]) -> Table:
    """The share of grounded runs under stricter rules, by model and prompt."""
    rows = [
        [
            *key,
            grounded(group),
            mean(float(run["defined"]) for run in group),
            mean(float(run["defined"] and run["correct"]) for run in group),
            mean(float(run["located"]) for run in group),
            mean(float(run["located"]) for run in group if run["category"] == "CG"),
            mean(float(run["located"]) for run in group if run["category"] == "IG"),
        ]
        for key, group in with_both_prompts(by_model_and_prompt(runs)).items()
    ]
    columns = [
        *_MODEL_AND_PROMPT,
        Column("grounded", "percent"),
        Column("defined", "percent"),
        Column("correct too", "percent"),
        Column("located", "percent"),
        Column("of CG", "percent"),
        Column("of IG", "percent"),
    ]
    notes = [
        "defined: grounded by the paper's rule, under which names must be defined in what was read",
        "correct too: of all runs, those that are defined and correct",
        "located: grounded, and every symbol is defined in the file that the answer names for it",
        "of CG, of IG: the share of these runs that is located; refusals count as located",
        *simulated_note(runs),
    ]
    return Table("location", "Grounding with locations", columns, rows, notes)


_POPULARITY_COLUMNS = (
    Column("prompt"),
    Column("bucket"),
    Column("runs", "count"),
    Column("correct", "percent"),
    Column("grounded", "percent"),
    *_CATEGORY_COLUMNS,
)


def popularity(runs: Sequence[RunRecord]) -> Table:
    """The categories by prompt and bucket, pooled over all models."""
    taken = pooled(runs)
    under = grouped(taken, lambda run: str(run["prompt"]))
    rows = [row for prompt in PROMPTS for row in _bucket_rows(prompt, under.get(prompt, []))]
    models = ", ".join(sorted({run["model"] for run in taken}))
    notes = [f"over {models}", CATEGORY_NOTE, *simulated_note(taken)]
    return Table("popularity", "Popularity of the repository", _POPULARITY_COLUMNS, rows, notes)


def popularity_by_model(runs: Sequence[RunRecord]) -> Table:
    """The categories by model, prompt and bucket."""
    rows = [
        [model, *row]
        for (model, prompt), group in by_model_and_prompt(runs).items()
        for row in _bucket_rows(prompt, group)
    ]
    columns = [Column("model"), *_POPULARITY_COLUMNS]
    title = "Popularity of the repository, by model"
    return Table(
        "popularity-by-model", title, columns, rows, [CATEGORY_NOTE, *simulated_note(runs)]
    )


def _bucket_rows(prompt: str, runs: Sequence[RunRecord]) -> Iterator[list[Cell]]:
    """A row for each bucket that occurs: the least popular first, the user's own last."""
    buckets = grouped(runs, lambda run: str(run["bucket"]))
    known = [bucket for bucket in BUCKETS if bucket in buckets]
    for bucket in (*known, *sorted(buckets.keys() - set(BUCKETS))):
        group = buckets[bucket]
        shares = (share(group, each) for each in CATEGORIES)
        yield [prompt, bucket, len(group), correct(group), grounded(group), *shares]
