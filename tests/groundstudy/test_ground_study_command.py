"""The commands `bylaw ground questions` and `bylaw ground study`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from chat_server import ChatServer, Says, Status, Step
from small_repository import write

from bylaw.bench.results import read_results
from bylaw.cli.ground import questions as questions_command
from bylaw.cli.ground import study as study_command
from bylaw.errors import BylawError


def _ran(command: ModuleType, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    code: int = command.run(parser.parse_intermixed_args(arguments))
    return code


def _build(*arguments: str) -> int:
    return _ran(questions_command, "build", "-o", "questions.json", *arguments)


def _study(*arguments: str) -> int:
    return _ran(study_command, *arguments)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a repository in it."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "small")
    return tmp_path


@pytest.fixture
def asked(here: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The same with questions."""
    assert _build("--checkout", "small=small") == 0
    capsys.readouterr()
    return here


# ── questions ─────────────────────────────────────────────────────────────────────────────


def test_questions_about_a_checkout(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _build("--checkout", "small=small") == 0
    assert capsys.readouterr().out == (
        "small own (own): 3 questions, as many as there are\n\n"
        "3 questions written to questions.json\n"
    )
    assert _ran(questions_command, "check", "questions.json") == 0
    assert (
        "3 questions: the repositories and the answers are as recorded" in capsys.readouterr().out
    )


def test_a_checkout_of_one_of_the_paper_has_its_bucket(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _build("--repository", "mac_apt", "--checkout", "mac_apt=small", "--json") == 0
    assert json.loads(capsys.readouterr().out)["repositories"] == {"mac_apt": 3}
    (repository,) = json.loads(Path("questions.json").read_text())["repositories"]
    assert (repository["version"], repository["bucket"]) == ("1.29.0", "low")


def test_a_check_that_finds_something(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("small/README.md").write_text("changed")
    assert _ran(questions_command, "check", "questions.json", "--json") == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["build"], "name one file of questions"),
        (["check"], "name one file of questions"),
        (["check", "a.json", "-o", "b.json"], "name one file of questions"),
        (["check", "missing.json"], "cannot be read: No such file"),
        (["check", "file"], "not a question file"),
        (["build", "-o", "q.json", "--checkout", "small"], "not of the form NAME=DIR"),
        (["build", "-o", "q.json", "--package", "attrs"], "not of the form NAME==VERSION"),
        (["build", "-o", "q.json", "--package", "../x==1"], "not of the form NAME==VERSION"),
        (["build", "-o", "q.json", "--package", "x==../1"], "not of the form NAME==VERSION"),
        (["build", "-o", "q.json", "--package", "flask==3.1.0"], "is a repository of the study"),
        (["build", "-o", "q.json", "--checkout", "small=missing"], "no such folder: missing"),
        (["build", "-o", "q.json", "--repository", "flaks"], "did you mean 'flask'"),
        (["build", "-o", "q.json", "--repository", "mac_apt"], "--checkout mac_apt=DIR"),
        (["build", "-o", "file/q.json", "--checkout", "small=small"], "cannot be written"),
    ],
)
def test_questions_that_cannot_be_made(here: Path, arguments: list[str], told: str) -> None:
    Path("file").write_text("where a folder should be")
    with pytest.raises(BylawError, match=told):
        _ran(questions_command, *arguments)


def test_the_files_of_a_study_may_lie_in_the_repository(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here / "small")
    assert _build("--checkout", "mine=.") == 0
    assert _ran(questions_command, "check", "questions.json") == 0
    for _ in range(2):
        assert _study("sim:reader", "--questions", "questions.json") == 0


@pytest.mark.parametrize("number", ["0", "-1"])
def test_no_questions_and_no_runs_cannot_be_asked_for(
    asked: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        _build("--checkout", "small=small", "--count", number)
    with pytest.raises(SystemExit):
        _study("sim:reader", "--questions", "questions.json", "--seeds", number)
    assert capsys.readouterr().err.count(f"{number} is not 1 or more") == 2


def test_a_repository_without_definitions(here: Path) -> None:
    write(here / "bare", {"README": "nothing here"})
    with pytest.raises(BylawError, match="no public function or class"):
        _build("--checkout", "bare=bare")


# ── the study ─────────────────────────────────────────────────────────────────────────────


def test_simulated_agents(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _study("sim:reader", "sim:refuser", "--questions", "questions.json") == 0
    out = capsys.readouterr().out
    assert "sim:reader: 12 runs to make\n" in out
    assert "Correctness and grounding" in out
    assert "Effect of the strict prompt" in out
    assert "simulated agents, not models: sim:reader, sim:refuser" in out
    assert len(list(read_results("grounding.jsonl"))) == 24


def test_a_study_is_resumed(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = ["sim:reader", "--questions", "questions.json", "--prompt", "strict", "--seeds", "1"]
    assert _study(*first) == 0
    assert _study("sim:reader", "--questions", "questions.json") == 0
    assert "sim:reader: 9 runs to make, 3 on record already\n" in capsys.readouterr().out


def test_results_are_shown_without_a_model(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _study("sim:recaller", "--questions", "questions.json", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert _study("--json", "--csv", "tables") == 0
    assert json.loads(capsys.readouterr().out) == made
    assert {path.stem for path in Path("tables").glob("*.csv")} == made.keys()
    assert _study("--table", "all") == 0
    assert "Popularity of the repository, by model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a MODEL to ask"),
        (["sim:reader"], "--questions FILE is needed"),
        (["sim:gold", "--questions", "questions.json"], "unknown simulated agent 'sim:gold'"),
        (["what", "--questions", "questions.json"], "unknown model"),
        (["sim:reader", "--questions", "questions.json", "--repository", "x"], "about 'x'"),
    ],
)
def test_studies_that_cannot_be_made(asked: Path, arguments: list[str], told: str) -> None:
    with pytest.raises(BylawError, match=told):
        _study(*arguments)


def test_no_model_is_asked_about_a_changed_tree(asked: Path) -> None:
    Path("small/README.md").write_text("changed")
    with pytest.raises(BylawError, match="files have changed since the questions were built"):
        _study("sim:reader", "--questions", "questions.json")


def test_results_of_something_else_are_an_error(asked: Path) -> None:
    line = {"bylaw": 1, "key": "k", "conditions": {}, "model": "sim:gold"}
    Path("grounding.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(BylawError, match="not from the grounding study"):
        _study()
    with pytest.raises(BylawError, match="not from the grounding study"):
        _study("sim:reader", "--questions", "questions.json")
    assert len(list(read_results("grounding.jsonl"))) == 1  # nothing was put behind it


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("model", None), ("model", 5), ("prompt", "stern"), ("category", "XX"), ("reads", "2")),
        *(("grounding", {}), ("answer", 5), ("trace", "x")),
    ],
)
def test_a_result_with_an_invalid_field_is_reported(asked: Path, field: str, value: Any) -> None:
    assert _study("sim:reader", "--questions", "questions.json") == 0
    first, *_ = read_results("grounding.jsonl")
    Path("grounding.jsonl").write_text(json.dumps(first | {field: value}) + "\n")
    for arguments in ([], ["sim:reader", "--questions", "questions.json"]):
        with pytest.raises(BylawError, match=f"has no valid '{field}'|is not the result of a run"):
            _study(*arguments)


def test_an_empty_result_is_reported(asked: Path) -> None:
    Path("grounding.jsonl").write_text('{"bylaw":1,"study":"grounding","key":"x"}\n')
    with pytest.raises(BylawError, match=r"is not the result of a run|has no valid 'model'"):
        _study()


# ── a model and a judge behind an endpoint ────────────────────────────────────────────────


def _call(name: str, **arguments: Any) -> Says:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return Says(calls=[{"id": "c", "type": "function", "function": function}])


def _agent_and_judge(text: str, _before: int) -> Step:
    """Reads one file, and names it whatever was asked; as a judge, believes all of it."""
    if text.startswith("You assess"):
        return Says("YES")
    if text.startswith("Repository:"):
        return _call("read_file", path="src/small/retry.py", offset=0)
    return _call("final_answer", answer="It is in src/small/retry.py.")


def test_a_model_and_a_judge(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("httpx", reason="NOT TESTED: httpx is not installed")
    with ChatServer(_agent_and_judge) as server:
        at = ["--base-url", server.url]
        assert _study("openai:agent", "--questions", "questions.json", *at) == 0
        with pytest.raises(BylawError, match="cannot judge its own answers"):
            _study("--judge", "openai:agent", *at)
        with pytest.raises(BylawError, match="no answer has been judged yet"):
            _study("--table", "judges")
        capsys.readouterr()
        assert _study("--judge", "openai:judge", "--json", *at) == 0
        rows = json.loads(capsys.readouterr().out)["judges"]["rows"]
        assert _study("--judge", "openai:judge", *at) == 0
        out = capsys.readouterr().out
    assert "openai:judge: 0 judgements to make, 24 on record already" in out
    categories = {run["category"] for run in read_results("grounding.jsonl")}
    assert categories == {"CG", "IG"}  # two of three are defined there
    aware = [row for row in rows if row["view"] == "aware"]
    assert [row["agree"] for row in aware] == [1.0, 1.0]
    blind = [row for row in rows if row["view"] == "blind"]
    assert [row["precision"] for row in blind] == pytest.approx([2 / 3, 2 / 3])
    (judged, *_) = read_results("grounding.judged.jsonl")
    assert judged["conditions"]["about"]["temperature"] == 0.7
    assert judged["samples"] == [True] * 5


def test_a_model_that_cannot_be_reached(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("httpx", reason="NOT TESTED: httpx is not installed")
    with ChatServer(lambda _text, _before: Status(400, "not now")) as server:
        assert _study("sim:reader", "--questions", "questions.json") == 0
        code = _study("openai:m", "--questions", "questions.json", "--base-url", server.url)
    assert code == 2
    assert "12 runs could not be finished" in capsys.readouterr().err
