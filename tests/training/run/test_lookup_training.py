"""From questions to an adapter to a study: a model learns to look definitions up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import small_repository
from torch_needed import torch_and

from bylaw.bench.results import read_results
from bylaw.cli.main import main
from bylaw.groundstudy.questions.questions import write_questions
from bylaw.training.run.metrics import METRICS, read_metrics

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True, scope="module")
def _needed() -> Iterator[None]:
    yield from torch_and("transformers", "peft", "trl", "llguidance")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.json"
    write_questions(path, small_repository.asked_about(tmp_path))
    return path


def _run(*arguments: object) -> int:
    return main([str(each) for each in arguments])


def test_an_adapter_is_trained_on_lookups_and_measured_by_the_study(
    questions: Path, tmp_path: Path
) -> None:
    import tiny_learner

    base, out, record = tiny_learner.folder(), tmp_path / "run", tmp_path / "runs.jsonl"
    assert not _run(
        *("train", "sft", base, "-o", out, "--teach", "lookup", "--questions", questions),
        *("--epochs", 4, "--batch", 1, "--learning-rate", 3e-3),
    )
    losses = [row["loss"] for row in read_metrics(out / METRICS)]
    assert len(losses) == 12
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])
    model = (f"hf:{base}", "--adapter", out / "adapter", "--constrained", "--max-new-tokens", 96)
    assert not _run(
        *("ground", "study", *model, "--questions", questions, "--seeds", 1, "-o", record)
    )
    runs = list(read_results(record))
    assert len(runs) == 6
    assert {run["conditions"]["about"]["adapter"] for run in runs} == {"adapter"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--teach", "lookup"], "needs --questions"),
        (["--teach", "lookup", "--questions", "FILE", "--data", "x.jsonl"], "and no --data"),
        (["--teach", "notes", "--questions", "FILE"], "has no meaning"),
    ],
)
def test_questions_go_with_lookups_only(
    options: list[str],
    message: str,
    questions: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [str(questions) if each == "FILE" else each for each in options]
    assert _run("train", "sft", "no-model", "-o", tmp_path / "run", *given) == 2
    assert message in capsys.readouterr().err


def test_repositories_that_have_changed_are_not_trained_on(
    questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small" / "src" / "small" / "api.py").write_text("def request(): ...\n")
    given = ("--teach", "lookup", "--questions", questions)
    assert _run("train", "sft", "no-model", "-o", tmp_path / "run", *given) == 2
    assert "have changed" in capsys.readouterr().err
