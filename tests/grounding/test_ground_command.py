"""`bylaw ground check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bylaw.cli.main import main

READ = {
    "tool_name": "read_file",
    "arguments": {"path": "src/retry.py"},
    "tool_result": "def backoff_delay(attempt): ...",
}
ANSWERS = {
    "grounded": "It is backoff_delay() in src/retry.py.",
    "ungrounded": "It is backof_delay() in src/retry.py.",
    "vacuous": "I don't know - not found in the source I read.",
}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, answer in ANSWERS.items():
        record = {"tool_calls": [READ], "answer": answer}
        Path(f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    return tmp_path


def test_several_traces(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ground", "check", *(f"{name}.json" for name in ANSWERS)]) == 1
    assert capsys.readouterr().out == (
        "grounded    grounded.json\n"
        "            All 4 entities were seen.\n"
        "ungrounded  ungrounded.json\n"
        "            1 of 4 entities were not seen.\n"
        "            function_signature: backof_delay(); nearest: backoff_delay\n"
        "vacuous     vacuous.json\n"
        "            The answer is a refusal.\n"
        "\n"
        "3 traces: 1 grounded, 1 ungrounded, 1 vacuous\n"
    )


@pytest.mark.parametrize(("name", "code"), [("grounded", 0), ("ungrounded", 1), ("vacuous", 0)])
def test_exit_codes(runs: Path, name: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ground", "check", f"{name}.json", "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    assert (report["trace"], report["verdict"]) == (f"{name}.json", name)


def test_evidence_and_classes_are_options(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ground", "check", "grounded.json", "--evidence-tool", "search"]) == 1
    assert main(["ground", "check", "ungrounded.json", "--classes", "file_path,number"]) == 0
    assert main(["ground", "check", "grounded.json", "--location"]) == 0
    capsys.readouterr()


def test_what_cannot_be_used(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ground", "check", "grounded.json", "--classes", "colour"]) == 2
    assert "unknown entity class 'colour'" in capsys.readouterr().err
    Path("broken.json").write_text("{", encoding="utf-8")
    assert main(["ground", "check", "broken.json", "grounded.json"]) == 2
    assert "grounded    grounded.json" in capsys.readouterr().out
