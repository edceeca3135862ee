"""Files of examples: rows that loaders can read, the same bytes for the same seed, two commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from training_examples import built, everything

from bylaw import TraceError
from bylaw.cli.main import main
from bylaw.training.data.rows import COLUMNS, from_row, read_rows, rows_text, to_row
from bylaw.training.data.templates import HELD_OUT, TRAINING


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, examples in built().items():
        (folder / f"{name}.jsonl").write_text(rows_text(examples), encoding="utf-8")
    return folder


def _kind(value: Any) -> Any:
    """The type of a value as a table would have it; keys may be missing, not differ in type."""
    if isinstance(value, dict):
        return {key: _kind(each) for key, each in value.items()}
    if isinstance(value, list):
        kinds: dict[str, Any] = {}
        for each in value:
            for key, kind in _kind(each).items():
                assert kinds.setdefault(key, kind) == kind
        return [kinds]
    return type(value)


def test_every_row_has_the_same_columns_of_the_same_types() -> None:
    first = _kind(to_row(built()["train"][0]))
    for example in everything():
        row = to_row(example)
        assert list(row) == list(COLUMNS)
        assert _kind(row) == first


def test_rows_are_read_back(data: Path) -> None:
    for name, examples in built().items():
        rows = read_rows(data / f"{name}.jsonl")
        assert len(rows) == len(examples)
        for row, example in list(zip(rows, examples, strict=True))[::10]:
            assert from_row(row) == example


def test_the_reference_describes_every_column_and_every_template() -> None:
    page = Path(__file__).parents[3] / "docs/reference/training-data.md"
    words = set(re.findall(r"`(\w+)`", page.read_text(encoding="utf-8")))
    assert words >= {*COLUMNS, *TRAINING, *HELD_OUT}


def test_conversations_are_in_chat_form() -> None:
    row = to_row(built()["train"][0])
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    roles = [message["role"] for message in row["completion"]]
    assert roles == ["assistant", "tool"] * 3 + ["assistant"]
    (last,) = row["completion"][-1]["tool_calls"]
    assert last["function"]["name"] == "final_answer"
    assert json.loads(last["function"]["arguments"]) == {"answer": row["answer"]}


@pytest.mark.parametrize("hash_seed", ["1", pytest.param("4711", marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_bytes_in_another_process(
    data: Path, tmp_path: Path, hash_seed: str
) -> None:
    command = [sys.executable, "-m", "bylaw", "train", "data", "build", "-o", str(tmp_path)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    written = {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    assert written == {path.name: path.read_bytes() for path in data.iterdir()}
    assert len(written) == 5


def test_build_reports_the_baseline_of_doing_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "data", "build", "-o", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["split"]: row for row in told["summary"]["rows"]}
    assert {name: row["n"] for name, row in rows.items()} == {
        "train": 300,
        "unaugmented": 83,
        "augmented": 100,
        "unseen-pattern": 39,
        "diverse-tool": 39,
    }
    assert all(row["compliance"] == row["reward"] == 1.0 for row in rows.values())
    assert all(0 < row["nothing"] < 0.2 for row in rows.values())
    assert all(Path(path).exists() for path in told["files"].values())


def test_inspect_shows_an_example(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "inspect", str(data / "diverse-tool.jsonl"), "2"]) == 0
    shown = capsys.readouterr().out
    example = built()["diverse-tool"][1]
    assert example.name in shown
    assert f"final_answer(answer = {example.answer})" in shown
    assert "L4  pair and instance ordering" in shown
    assert example.gold[0].tool in shown


def test_inspect_prints_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "inspect", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == to_row(built()["train"][6])


@pytest.mark.parametrize("number", ["0", "301"])
def test_there_must_be_such_an_example(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "inspect", number]) == 2
    assert "Examples are numbered from 1 to 300." in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "{}\n", "[]\n", '{"name": "x"}\n'])
def test_a_file_of_something_else_is_named(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    assert main(["train", "data", "inspect", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


GOLD = {"tool": "x", "arguments": {}, "result": "1", "given": True, "instead": None}


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("gold", [{**GOLD, "arguments": 5}], "'arguments' must be an object"),
        ("gold", [{**GOLD, "given": 1}], "'given' must be true or false"),
        ("gold", [{**GOLD, "instead": {"tool": 5, "arguments": {}}}], "'tool' must be a string"),
        ("gold", 5, "not iterable"),
        ("prompt", [{"role": "user", "content": 5}], "'content' must be a string"),
        ("aliases", [{"tool": "no_such", "name": "x", "arguments": {}}], "no tool 'no_such'"),
        ("aliases", [{"tool": "{tool}", "name": "x", "arguments": {}}], "is missing"),
        ("aliases", [{"tool": "{tool}", "name": "x", "arguments": []}], "must be an object"),
        ("parameters", {}, "'seed' is missing"),
        ("answer", "7", "'answer' must be an integer"),
        ("difficulty", None, "'difficulty' must be an integer"),
        ("name", 5, "'name' must be a string"),
        ("transform", 5, "'transform' must be a string"),
    ],
)
def test_a_malformed_row_is_reported(
    column: str, value: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = to_row(built()["train"][0])
    written = json.dumps(value).replace("{tool}", built()["train"][0].tools[0].tool)
    in_text = column in ("gold", "aliases", "parameters")
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps(row | {column: written if in_text else value}) + "\n")
    for more in ([], ["--json"]):
        assert main(["train", "data", "inspect", str(path), *more]) == 2
        shown = capsys.readouterr().err
        assert "a row is not an example" in shown
        assert told in shown


def test_a_missing_file_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_rows(tmp_path / "none.jsonl")
    (tmp_path / "file").write_text("")
    assert main(["train", "data", "build", "-o", str(tmp_path / "file")]) == 2
