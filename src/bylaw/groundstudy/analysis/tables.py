"""How correctness and grounding combine, and whether the one tells of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bylaw.bench.analysis.runs import RunRecord, calls, difference, grouped, mean, simulated_note
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
)
from bylaw.groundstudy.prompts import PROMPTS
from bylaw.groundstudy.repositories.pinned import BUCKETS
from bylaw.groundstudy.study import CATEGORIES
from bylaw.tables import Cell, Column, Table


def categories(runs: Sequence[RunRecord]) -> Table:
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


def ungrounded_as_alarm(runs: Sequence[RunRecord]) -> Confusion:
    """Ungroundedness against incorrectness: IU is a true positive, CU a false one."""
    return Confusion.of((run["category"][1] == "U", run["category"][0] == "I") for run in runs)


def strict_effect(runs: Sequence[RunRecord]) -> Table:
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

    def change(measure: Callable[[Sequence[RunRecord]], float | None]) -> float | None:
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


def _is_cut(run: RunRecord) -> bool:
    """Did it end without an answer, in a call or in words?"""
    return run["ending"] != "answered" and run.get("answer") is None


def behaviour(runs: Sequence[RunRecord]) -> Table:
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


def location(runs: Sequence[RunRecord]) -> Table:
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


_COLUMNS = (
    Column("prompt"),
    Column("bucket"),
    Column("runs", "count"),
    Column("correct", "percent"),
    Column("grounded", "percent"),
    *(Column(each, "percent") for each in CATEGORIES),
)


def popularity(runs: Sequence[RunRecord]) -> Table:
    """The categories by prompt and bucket, over all models together."""
    taken = pooled(runs)
    under = grouped(taken, lambda run: str(run["prompt"]))
    rows = [row for prompt in PROMPTS for row in _rows(prompt, under.get(prompt, []))]
    models = ", ".join(sorted({run["model"] for run in taken}))
    notes = [f"over {models}", CATEGORY_NOTE, *simulated_note(taken)]
    return Table("popularity", "Popularity of the repository", _COLUMNS, rows, notes)


def popularity_by_model(runs: Sequence[RunRecord]) -> Table:
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


def _rows(prompt: str, runs: Sequence[RunRecord]) -> Iterator[list[Cell]]:
    """A row for each bucket that occurs, from the least popular; one of our own comes last."""
    buckets = grouped(runs, lambda run: str(run["bucket"]))
    known = [bucket for bucket in BUCKETS if bucket in buckets]
    for bucket in (*known, *sorted(buckets.keys() - set(BUCKETS))):
        group = buckets[bucket]
        shares = (share(group, each) for each in CATEGORIES)
        yield [prompt, bucket, len(group), correct(group), grounded(group), *shares]
