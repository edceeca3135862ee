"""The analyses, fed with the figures that the paper prints, give the figures that it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bylaw.groundstudy.analysis import ANALYSES
from bylaw.groundstudy.analysis.judges import Confusion, confusion, judges
from bylaw.groundstudy.analysis.tables import (
    behaviour,
    categories,
    location,
    popularity,
    strict_effect,
)
from bylaw.groundstudy.study import CATEGORIES
from bylaw.tables import Table

RUNS = 320
"""Per model and prompt: 160 questions, two seeds."""
PUBLISHED = {
    ("Qwen3.5-9B", "default"): (3.4, 7.5, 48.4, 40.6),
    ("Qwen3.5-9B", "strict"): (4.1, 3.8, 50.6, 41.6),
    ("Qwen3.5-397B-A17B", "default"): (0.0, 49.7, 0.0, 50.3),
    ("Qwen3.5-397B-A17B", "strict"): (0.3, 59.4, 3.4, 36.9),
    ("Gemma-4-31B-IT", "default"): (0.0, 48.8, 1.6, 49.7),
    ("Gemma-4-31B-IT", "strict"): (3.4, 44.7, 9.7, 42.2),
}
"""CG, CU, IG, IU in per cent."""
EFFECT = {
    "Qwen3.5-9B": (-3.1, 2.8, 1.05, 16.0),
    "Qwen3.5-397B-A17B": (10.0, 3.8, 7.03, 91.7),
    "Gemma-4-31B-IT": (-0.6, 11.6, 0.36, 71.4),
}
"""Δ correct, Δ grounded, Δ reads, vacuous."""
REFUSALS = {"Qwen3.5-9B": 28, "Qwen3.5-397B-A17B": 11, "Gemma-4-31B-IT": 30}
"""The numbers of refusals that give the published shares of vacuous grounding."""


def _run(model: str, prompt: str, number: int, category: str, **other: Any) -> dict[str, Any]:
    return {
        "model": model,
        "prompt": prompt,
        "repository": "r",
        "symbol": str(number),
        "seed": 0,
        "bucket": "low",
        "category": category,
        "grounding": {"verdict": "grounded" if category[1] == "G" else "ungrounded"},
        "correct": category[0] == "C",
        "located": category == "CG",
        "defined": category == "CG",
        "reads": 0,
        "calls": 0,
        "ending": "answered",
        "conditions": {"about": {}},
    } | other


def _counts(percent: tuple[float, ...], total: int) -> list[int]:
    """The numbers of runs that were rounded to these percentages."""
    counts = [round(each * total / 100) for each in percent]
    assert sum(counts) == total
    return counts


def _published() -> Iterator[dict[str, Any]]:
    for (model, prompt), percent in PUBLISHED.items():
        refusals = REFUSALS[model] if prompt == "strict" else 0
        # Reads come as a total over all runs, which is then spread over them.
        more = round(EFFECT[model][2] * RUNS) if prompt == "strict" else 0
        number = 0
        for category, count in zip(CATEGORIES, _counts(percent, RUNS), strict=True):
            for _ in range(count):
                run = _run(model, prompt, number, category)
                run["reads"] = 1 + more // RUNS + (number < more % RUNS)
                if category == "IG" and refusals:
                    run["grounding"] = {"verdict": "vacuous"}
                    refusals -= 1
                yield run
                number += 1
        assert refusals == 0


@pytest.fixture(scope="module")
def published() -> list[dict[str, Any]]:
    return list(_published())


def _rows(table: Table, *by: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = table.to_dict()["rows"]
    return {tuple(row[name] for name in by): row for row in rows}


def test_categories_come_out_as_printed(published: list[dict[str, Any]]) -> None:
    rows = _rows(categories(published), "model", "prompt")
    for key, percent in PUBLISHED.items():
        shares = [100 * rows[key][category] for category in CATEGORIES]
        assert shares == pytest.approx(percent, abs=0.051)


@pytest.mark.parametrize("model", EFFECT)
def test_the_effect_of_the_strict_prompt_comes_out_as_printed(
    published: list[dict[str, Any]], model: str
) -> None:
    row = _rows(strict_effect(published), "model")[(model,)]
    correct, grounded, reads, vacuous = EFFECT[model]
    assert row["Δ correct"] == pytest.approx(correct, abs=0.051)
    assert row["Δ grounded"] == pytest.approx(grounded, abs=0.051)
    assert row["Δ reads"] == pytest.approx(reads, abs=0.0051)
    assert 100 * row["vacuous"] == pytest.approx(vacuous, abs=0.051)


def test_ungroundedness_as_a_sign_of_error_follows_the_papers_mapping() -> None:
    counts = {"IU": 6, "CU": 2, "IG": 3, "CG": 1}  # true and false positives, then negatives
    runs = [_run("m", "default", n, c) for c, count in counts.items() for n in range(count)]
    ((_, row),) = _rows(categories(runs), "model").items()
    assert row["precision"] == pytest.approx(6 / 8)
    assert row["recall"] == pytest.approx(6 / 9)


POPULARITY = {
    ("default", "low"): (300, 52.0, 22.0, 0.7, 51.3, 21.3, 26.7),
    ("default", "mid"): (240, 38.8, 15.4, 1.7, 37.1, 13.8, 47.5),
    ("default", "hi"): (420, 24.0, 16.2, 1.2, 22.9, 15.0, 61.0),
    ("strict", "low"): (300, 50.3, 33.0, 4.0, 46.3, 29.0, 20.7),
    ("strict", "mid"): (240, 40.0, 20.4, 2.5, 37.5, 17.9, 42.1),
    ("strict", "hi"): (420, 29.3, 19.3, 1.7, 27.6, 17.6, 53.1),
}


def test_popularity_comes_out_as_printed() -> None:
    runs = []
    for (prompt, bucket), (total, _, _, *percent) in POPULARITY.items():
        counts = _counts(tuple(percent), total)
        for category, count in zip(CATEGORIES, counts, strict=True):
            runs += [_run("m", prompt, n, category, bucket=bucket) for n in range(count)]
    rows = _rows(popularity(runs), "prompt", "bucket")
    assert list(rows) == list(POPULARITY)
    for key, (total, *percent) in POPULARITY.items():
        row = rows[key]
        assert row["runs"] == total
        shares = [100 * row[name] for name in ("correct", "grounded", *CATEGORIES)]
        assert shares == pytest.approx(percent, abs=0.051)


# ── judges ────────────────────────────────────────────────────────────────────────────────

JUDGED = {
    ("default", "Qwen3.5-9B"): ((24, 5, 142, 148), 53.9, 14.5),
    ("default", "Qwen3.5-397B-A17B"): ((0, 7, 0, 313), 97.8, None),
    ("default", "Gemma-4-31B-IT"): ((0, 3, 5, 312), 97.5, 0.0),
    ("default", "all"): (None, 83.1, 14.0),
    ("strict", "Qwen3.5-9B"): ((18, 9, 157, 135), 48.0, 10.3),
    ("strict", "Qwen3.5-397B-A17B"): ((1, 6, 11, 302), 94.7, 8.3),
    ("strict", "Gemma-4-31B-IT"): ((3, 46, 39, 231), 73.4, 7.1),
    ("strict", "all"): (None, 72.0, 9.6),
}
"""Runs that both, only the judge, only the predicate, or neither call grounded; printed agreement
and recall. The counts are not printed; these give the printed figures, and 1,917 runs in all."""


def _judged() -> list[dict[str, Any]]:
    kinds = ((True, True), (True, False), (False, True), (False, False))
    return [
        {
            "judge": "j",
            "view": "aware",
            "prompt": prompt,
            "model": model,
            "verdict": verdict,
            "measured": measured,
        }
        for (prompt, model), (counts, *_) in JUDGED.items()
        for (verdict, measured), count in zip(kinds, counts or (0,) * 4, strict=True)
        for _ in range(count)
    ]


def test_judges_come_out_as_printed() -> None:
    rows = _rows(judges(_judged()), "prompt", "model")
    assert rows.keys() == JUDGED.keys()
    for key, (_, agreement, recall) in JUDGED.items():
        assert 100 * rows[key]["agree"] == pytest.approx(agreement, abs=0.051)
        found = rows[key]["recall"]
        assert (None if found is None else 100 * found) == (
            None if recall is None else pytest.approx(recall, abs=0.051)
        )


def test_the_pooled_figures_come_out_as_printed() -> None:
    found = confusion(_judged())
    assert found.total == 1_917
    assert found.agreement == pytest.approx(0.776, abs=0.0005)
    assert found.kappa == pytest.approx(0.09, abs=0.005)
    assert (found.both + found.only_first) / found.total == pytest.approx(0.064, abs=0.0005)
    assert (found.both + found.only_second) / found.total == pytest.approx(0.209, abs=0.0005)


def test_undefined_values_are_written_as_a_dash() -> None:
    rows = judges(_judged()).cells()
    (row,) = (row for row in rows if row[2:4] == ["default", "Qwen3.5-397B-A17B"])
    assert row[9] == "—"


@pytest.mark.parametrize(
    ("counts", "agreement", "precision", "recall", "kappa"),
    [
        ((0, 0, 0, 0), None, None, None, None),
        ((5, 0, 0, 0), 1.0, 1.0, 1.0, None),
        ((0, 0, 0, 5), 1.0, None, None, None),
        ((5, 0, 0, 5), 1.0, 1.0, 1.0, 1.0),
        ((0, 5, 5, 0), 0.0, 0.0, 0.0, -1.0),
        ((20, 5, 10, 15), 0.7, 0.8, 2 / 3, 0.4),  # the textbook's example
    ],
)
def test_agreement(
    counts: tuple[int, int, int, int],
    agreement: float | None,
    precision: float | None,
    recall: float | None,
    kappa: float | None,
) -> None:
    found = Confusion(*counts)
    expected = (agreement, precision, recall, kappa)
    actual = (found.agreement, found.precision, found.recall, found.kappa)
    for one, other in zip(actual, expected, strict=True):
        assert one == (None if other is None else pytest.approx(other))


# ── what is averaged ──────────────────────────────────────────────────────────────────────


def test_changes_are_over_questions_that_were_asked_under_both_prompts() -> None:
    runs = [
        _run("m", "default", 1, "CG"),
        _run("m", "default", 2, "IU"),
        _run("m", "strict", 1, "CG"),
        _run("only", "strict", 1, "CG"),
    ]
    rows = _rows(strict_effect(runs), "model")
    assert rows.keys() == {("m",)}
    assert rows[("m",)]["questions"] == 1
    assert rows[("m",)]["Δ correct"] == 0


def test_simulated_agents_and_models_are_never_pooled() -> None:
    simulated = {"conditions": {"about": {"simulated": True}}}
    runs = [_run("m", "default", 1, "IU"), _run("sim:reader", "default", 1, "CG", **simulated)]
    table = popularity(runs)
    assert [row["runs"] for row in table.to_dict()["rows"]] == [1]
    assert "over m" in table.notes


@pytest.mark.parametrize("name", ANALYSES)
def test_every_table_says_who_is_simulated(name: str) -> None:
    simulated = {"conditions": {"about": {"simulated": True}}}
    runs = [_run("sim:reader", prompt, 1, "CG", **simulated) for prompt in ("default", "strict")]
    table = ANALYSES[name](runs)
    assert table.name == name
    assert "simulated agents, not models: sim:reader" in table.notes


def test_places() -> None:
    runs = [_run("m", "default", n, c) for n, c in enumerate(("CG", "IG", "IG", "IU"))]
    runs[1]["located"] = True  # a refusal
    runs[2]["defined"] = True
    ((_, row),) = _rows(location(runs), "model").items()
    names = ("grounded", "defined", "correct too", "located", "of CG", "of IG")
    assert [row[name] for name in names] == [0.75, 0.5, 0.25, 0.5, 1.0, 0.5]


def test_a_row_over_both_prompts_follows_those_of_a_model() -> None:
    ran = (("m", "default", "CG"), ("m", "strict", "IU"), ("n", "strict", "CG"))
    runs = [_run(model, prompt, 1, category) for model, prompt, category in ran]
    rows = [(row[0], row[1], row[2], row[3]) for row in categories(runs).rows]
    assert rows == [
        ("m", "default", 1, 1.0),
        ("m", "strict", 1, 0.0),
        ("m", "both", 2, 0.5),
        ("n", "strict", 1, 1.0),
    ]


def test_the_rate_of_yeses_is_given_next_to_what_was_measured() -> None:
    found = Confusion(3, 2, 1, 4)
    assert (found.first_rate, found.second_rate) == (0.5, 0.4)


def test_how_models_go_about_it() -> None:
    runs = [_run("m", "default", 1, "IU", ending="silent"), _run("m", "default", 2, "CG", reads=3)]
    ((_, row),) = _rows(behaviour(runs), "model").items()
    assert (row["reads"], row["unread"], row["cut"]) == (1.5, 0.5, 0.5)
