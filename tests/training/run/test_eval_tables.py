"""Tables of evaluations and curves of training, from results and metrics made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bylaw import BylawError
from bylaw.bench.analysis.intervals import interval
from bylaw.cli.main import OK, UNUSABLE, main
from bylaw.reports.figures import curves_svg
from bylaw.training.run.eval_tables import tables
from bylaw.training.run.metrics import METRICS, MetricsLog, curves, read_metrics


def result(
    model: str,
    name: str,
    compliance: float,
    correct: bool,
    calls: int = 4,
    seed: int = 42,
    asked: str | None = None,
) -> Any:
    split, template, *_ = name.split("/")
    return {
        "model": model,
        "split": split,
        "name": name,
        "template": template,
        "trial": 0,
        "compliance": compliance,
        "correct": correct,
        "calls": calls,
        "messages": [{"content": "You are an agent."}, {"content": asked or name}],
        "conditions": {"seed": seed, "setting": "baseline", "adapter": model},
    }


RESULTS = [
    result("base", "unaugmented/chain_then_branch/01", 0.25, False, 9),
    result("base", "unaugmented/chain_then_branch/02", 0.75, False, 5),
    result("base", "unseen-pattern/loop_termination/01", 0.5, True),
    result("base", "production/nested_loops/D1/42", 0.5, False),
    result("tuned", "unaugmented/chain_then_branch/01", 1.0, True),
    result("tuned", "unaugmented/chain_then_branch/02", 1.0, True),
    result("tuned", "unseen-pattern/loop_termination/01", 0.4, False),
    result("tuned", "production/nested_loops/D1/42", 1.0, True),
]


def rows(name: str, results: Any = RESULTS) -> list[dict[str, Any]]:
    found: Any = next(table for table in tables(results) if table.name == name).to_dict()["rows"]
    return list(found)


def test_each_set_has_a_row_for_each_model() -> None:
    first = rows("splits")[0]
    assert first == {
        "set": "unaugmented",
        "model": "base",
        "n": 2,
        "compliance": 0.5,
        "compliance interval": (0.25, 0.75),
        "accuracy": 0.0,
        "accuracy interval": (0.0, 0.0),
        "calls": 7.0,
    }


def test_the_benchmark_is_shown_whole_and_by_transfer_group() -> None:
    sets = [row["set"] for row in rows("splits") if row["model"] == "tuned"]
    split, benchmark = ["unaugmented", "unseen-pattern"], ["production", "direct-simplification"]
    assert sets == [*split, *benchmark, "everything"]


def test_everything_together_has_a_row_where_there_are_several_sets() -> None:
    together = [row for row in rows("gains") if row["set"] == "everything"]
    assert [(row["n"], row["accuracy"]) for row in together] == [(4, 50.0)]
    one = [each for each in RESULTS if each["split"] == "unaugmented"]
    assert {row["set"] for row in rows("gains", one)} == {"unaugmented"}


def test_a_gain_compares_models_example_by_example() -> None:
    gains = {row["set"]: row for row in rows("gains")}
    assert gains["unaugmented"]["model"] == "tuned over base"
    assert gains["unaugmented"]["compliance"] == 0.5
    assert gains["unaugmented"]["compliance interval"] == (0.25, 0.75)
    assert gains["unaugmented"]["accuracy"] == 100.0
    assert gains["unaugmented"]["calls"] == -3.0
    assert gains["unseen-pattern"]["accuracy"] == -100.0


def test_an_example_that_only_one_model_has_is_no_gain() -> None:
    gains = rows("gains", RESULTS[1:])
    assert next(row for row in gains if row["set"] == "unaugmented")["n"] == 1


def test_equal_names_under_different_seeds_are_different_tasks() -> None:
    name = "unaugmented/chain_then_branch/01"
    other = [result("seven", name, 1.0, True, seed=7), result("again", name, 1.0, True)]
    compared = {row["model"] for row in rows("gains", [*RESULTS[:4], *other])}
    assert compared == {"again over base"}


def test_the_third_model_is_compared_with_the_first_and_the_second() -> None:
    third = [{**each, "model": "more"} for each in RESULTS[4:]]
    compared = {row["model"] for row in rows("gains", [*RESULTS, *third])}
    assert compared == {"tuned over base", "more over base", "more over tuned"}


def test_templates_are_those_of_the_splits_and_the_greatest_gain_is_first() -> None:
    templates = rows("templates")
    assert [row["template"] for row in templates] == ["chain_then_branch", "loop_termination"]
    assert [row["accuracy gain"] for row in templates] == [100.0, -100.0]


def test_of_three_models_the_last_is_also_shown_over_the_one_before() -> None:
    third = [{**each, "model": "more"} for each in RESULTS[4:]]
    names = [table.name for table in tables([*RESULTS, *third])]
    assert names == ["splits", "gains", "templates", "templates-over-tuned"]
    assert all(
        row["accuracy gain"] == 0.0 for row in rows("templates-over-tuned", [*RESULTS, *third])
    )


def test_one_model_alone_has_no_gains() -> None:
    assert [table.name for table in tables(RESULTS[:4])] == ["splits"]


def test_a_run_that_could_not_be_verified_is_in_no_mean() -> None:
    unscored = {**RESULTS[0], "name": "unaugmented/x/03", "compliance": None}
    assert rows("splits", [*RESULTS, unscored]) == rows("splits")


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [[0.0]] * 30 + [[1.0]] * 70
    low, high = interval(values)
    assert low < 0.7 < high
    assert (low, high) == interval(values)
    assert 0.15 < high - low < 0.20  # twice 1.96 standard errors is 0.18


def test_tasks_that_read_alike_count_as_one() -> None:
    """Ten of either kind, each asked four times in other words, or in the same."""

    def width(asked_alike: bool) -> float:
        results = [
            result("base", name, 1.0, n % 2 == 0, asked=f"task {n}" if asked_alike else None)
            for n in range(20)
            for name in (f"unaugmented/chain_then_branch/{n}-{again}" for again in range(4))
        ]
        (row,) = rows("splits", results)
        assert (row["n"], row["accuracy"]) == (80, 0.5)
        low, high = row["accuracy interval"]
        return float(high - low)

    assert 1.6 < width(asked_alike=True) / width(asked_alike=False) < 2.4


def logged(metrics: MetricsLog, phase: str, step: int, after: int, reward: float) -> None:
    terms = dict.fromkeys(("compliance", "answer", "closeness", "reward"), reward)
    metrics.add(phase, step, {"after": after, **terms})


def test_curves_show_both_phases_over_the_same_steps(tmp_path: Path) -> None:
    metrics = MetricsLog(tmp_path / "metrics.jsonl")
    logged(metrics, "evaluation", 0, 0, 0.1)
    logged(metrics, "train", 1, 0, 0.2)
    metrics.add("train", 2, {"after": 1, "loss": 0.5})  # no rollouts were made for it
    logged(metrics, "evaluation", 8, 8, 0.4)
    table = curves({"a run": read_metrics(tmp_path / "metrics.jsonl")})
    assert [row[1:4] for row in table.rows] == [
        ["train", "0", 0.2],
        ["evaluation", "0", 0.1],
        ["evaluation", "8", 0.4],
    ]
    svg = curves_svg(table)
    assert svg is not None
    assert all(term in svg for term in ("compliance", "answer", "closeness", "reward"))


def test_a_long_run_is_shown_in_means(tmp_path: Path) -> None:
    metrics = MetricsLog(tmp_path / "metrics.jsonl")
    for step in range(44):
        logged(metrics, "train", step, step, step / 44)
    table = curves({"a run": read_metrics(tmp_path / "metrics.jsonl")})
    assert len(table.rows) == 11
    assert table.rows[0][3] == pytest.approx((0 + 1 + 2 + 3) / 4 / 44)


def test_a_resumed_run_removes_metrics_logged_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    first = MetricsLog(path)
    for step in (1, 2, 3):
        logged(first, "train", step, step, 0.5)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"phase": "tra')  # it was killed here
    logged(MetricsLog(path, up_to=2), "train", 3, 3, 0.75)
    assert [(row["step"], row["reward"]) for row in read_metrics(path)] == [
        (1, 0.5),
        (2, 0.5),
        (3, 0.75),
    ]
    assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_where_nothing_was_logged_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert curves_svg(curves({"a run": []})) is None
    with pytest.raises(BylawError, match="no metrics"):
        read_metrics(tmp_path / "metrics.jsonl")


def shown(*arguments: str) -> int:
    """The code with which `bylaw train curves` ends."""
    return main(["train", "curves", *arguments])


def test_runs_are_shown_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run, reward in (("first", 0.25), ("second", 0.5)):
        logged(MetricsLog(tmp_path / run / "grpo" / METRICS), "train", 1, 0, reward)
    figure, sheet = tmp_path / "curves.svg", tmp_path / "curves.csv"
    named = [f"seed 1={tmp_path}/first/grpo", f"seed 2={tmp_path}/second/grpo"]
    assert shown(*named, "-o", str(figure), "--csv", str(sheet), "--json") == OK
    table = json.loads(capsys.readouterr().out)
    assert [(row["run"], row["reward"]) for row in table["rows"]] == [
        ("seed 1", 0.25),
        ("seed 2", 0.5),
    ]
    assert all(f"seed {n}, reward" in figure.read_text(encoding="utf-8") for n in (1, 2))
    assert len(sheet.read_text(encoding="utf-8").splitlines()) == 3


def test_runs_without_names_of_their_own_are_called_by_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in ("first", "second"):
        logged(MetricsLog(tmp_path / run / "grpo" / METRICS), "train", 1, 0, 0.5)
    assert shown(f"{tmp_path}/first/grpo") == OK
    assert "Reward while training: grpo" in capsys.readouterr().out
    assert shown(f"{tmp_path}/first/grpo", f"{tmp_path}/second/grpo") == UNUSABLE
    assert f"FIRST={tmp_path}/first/grpo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there are no metrics"),
        ("", "no reward has been logged"),
        ('{"phase": "train", "step": 1, "after": 0, "loss": 0.5}\n', "no reward has been logged"),
        ("reward = 1\n", "not a metrics file: Expecting value"),
        ("[1]\n", "not a metrics file: unexpected fields in line 1"),
        (
            '{"phase": "train", "step": 1, "reward": 1}\n',
            "not a metrics file: unexpected fields in line 1",
        ),
    ],
)
def test_metrics_that_cannot_be_shown_are_reported(
    content: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / METRICS).write_text(content, encoding="utf-8")
    assert shown(str(tmp_path)) == UNUSABLE
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["={run}"], "'={run}' does not name a run"),
        (["name="], "'name=' does not name a run"),
        (["{run}", "-o", "{run}/missing/curves.svg"], "cannot write {run}/missing/curves.svg"),
        (["{run}", "--csv", "{run}"], "{run} is a folder"),
    ],
)
def test_invalid_options_are_reported(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "rate=1e-4"  # a folder is found, whatever it is called
    logged(MetricsLog(run / METRICS), "train", 1, 0, 0.5)
    assert shown(str(run)) == OK
    assert "Reward while training: rate=1e-4" in capsys.readouterr().out
    assert shown(*(each.format(run=run) for each in given)) == UNUSABLE
    assert told.format(run=run) in " ".join(capsys.readouterr().err.split())


NOT_RESULTS = "these are not results of `bylaw train eval`"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"messages": None}, "the run 'a run' has no valid 'messages'"),
        ({"template": None}, "the run 'a run' has no valid 'template'"),
        ({"template": {}}, "the run 'a run' has no valid 'template'"),
        ({"split": "elsewhere"}, NOT_RESULTS),
        ({"split": "production", "template": "unheard-of"}, NOT_RESULTS),
    ],
)
def test_results_of_other_commands_are_reported(
    changed: dict[str, Any], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "eval.jsonl"
    kept = {"bylaw": 1, "key": "a run", **RESULTS[0]}
    odd = {name: value for name, value in (kept | changed).items() if value is not None}
    path.write_text(f"{json.dumps(kept)}\n", encoding="utf-8")
    assert main(["train", "eval", "--tables", "-o", str(path)]) == OK
    capsys.readouterr()
    path.write_text(f"{json.dumps(odd)}\n", encoding="utf-8")
    assert main(["train", "eval", "--tables", "-o", str(path)]) == UNUSABLE
    assert told in capsys.readouterr().err
