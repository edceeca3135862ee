"""Questions have one right answer, and two methods that share nothing agree on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_repository import asked_about, write

from bylaw.errors import TraceError
from bylaw.groundstudy.questions.building import (
    problems,
    questions_about,
    tree_digest,
)
from bylaw.groundstudy.questions.questions import (
    read_questions,
    write_questions,
)
from bylaw.groundstudy.questions.symbols import Symbol, symbols
from bylaw.groundstudy.study import is_correct
from bylaw.values import Json


def test_symbols_that_can_be_asked_about(tmp_path: Path) -> None:
    assert symbols(write(tmp_path)) == [
        # `request` is a function in one file and a method in another: there are two answers
        Symbol("src/small/retry.py", "backoff", "function"),
        Symbol("src/small/retry.py", "Retry", "class"),
        Symbol("src/small/session.py", "Session", "class"),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/other.py", "class Session: ..."),
        ("tests/test_session.py", "class Session: ..."),
        ("_private.py", "    class Session: ..."),
        ("stubs/session.pyi", "class Session: ..."),
        ("fast.pyx", "cdef class Session:\n    pass"),
        ("broken.py", "class Session:\n)))"),
        ("text.py", '"""\nclass Session: ...\n"""'),
    ],
)
def test_a_second_file_that_seems_to_define_a_name_rules_it_out(
    tmp_path: Path, path: str, text: str
) -> None:
    repository = write(tmp_path)
    assert "Session" in {symbol.name for symbol in symbols(repository)}
    write(tmp_path, {path: text})
    assert "Session" not in {symbol.name for symbol in symbols(repository)}


@pytest.mark.parametrize(
    "path",
    [
        "tests/helpers.py",
        "test_helpers.py",
        "conftest.py",
        "docs/conf.py",
        "src/_compat.py",
        "_internal/tool.py",
        "vendored-meson/tool.py",
        "pkg/_vendor/tool.py",
        ".hidden/tool.py",
        "stub.pyi",
        "README",
    ],
)
def test_paths_that_are_not_asked_about(tmp_path: Path, path: str) -> None:
    assert symbols(write(tmp_path, {path: "def helper(): ..."})) == []


@pytest.mark.parametrize(
    "text",
    [
        "def _helper(): ...",
        "def ab(): ...",
        "def test_helper(): ...",
        "helper = 1",
        "class _C:\n    def helper(self): ...",
        "def outer_(",
        "x = '\0'",
    ],
)
def test_symbols_that_are_not_asked_about(tmp_path: Path, text: str) -> None:
    assert symbols(write(tmp_path, {"tool.py": text})) == []


def test_a_path_that_others_contain_would_make_wrong_answers_right(tmp_path: Path) -> None:
    repository = write(tmp_path, {"api.py": "def one(): ...", "src/api.py": "def two(): ..."})
    assert is_correct("It is in src/api.py.", ["api.py"])
    assert [symbol.name for symbol in symbols(repository)] == ["two"]


def test_a_link_is_not_asked_about(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"far.py": "def far_away(): ..."})
    repository = write(tmp_path / "inside")
    (repository.root / "link").symlink_to("../outside")
    assert "far_away" not in {symbol.name for symbol in symbols(repository)}


def test_the_same_seed_gives_the_same_questions(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"def one_{n}(): ...\n\n\ndef two_{n}(): ..." for n in range(20)}
    repository = write(tmp_path, files)
    first, again, other = (questions_about("r", repository, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 10
    assert len({question.file for question in first}) == 10  # spread over the files


def test_there_may_be_fewer(tmp_path: Path) -> None:
    assert {question.symbol for question in asked_about(tmp_path).questions} == {
        "Retry",
        "Session",
        "backoff",
    }


def test_how_a_question_reads(tmp_path: Path) -> None:
    (question,) = (each for each in asked_about(tmp_path).questions if each.symbol == "Retry")
    assert question.text == (
        "In the repository `small`, where is the class `Retry` defined? "
        "Give the exact path of the file."
    )
    assert question.truth == ("src/small/retry.py",)


def test_a_file_of_questions_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked, path = asked_about(tmp_path), tmp_path / "questions.json"
    write_questions(path, asked)
    assert read_questions(path) == asked
    assert list(problems(read_questions(path))) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"bylaw": 2}', '{"bylaw": 1, "seed": 1}', "\xff"]
)
def test_a_file_that_holds_no_questions(tmp_path: Path, text: str) -> None:
    path = tmp_path / "questions.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TraceError, match="not a question file"):
        read_questions(path)


def _document(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "questions.json"
    write_questions(path, asked_about(tmp_path))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize(
    ("part", "field", "value", "told"),
    [
        ("repositories", "root", 5, "'root' must be a string, not 5"),
        ("questions", "symbol", [1], r"'symbol' must be a string, not \[1\]"),
        ("questions", "kind", "macro", "unknown kind 'macro'"),
        ("questions", "repository", "other", "'other' is not listed"),
    ],
)
def test_a_field_that_cannot_be_right(
    tmp_path: Path, part: str, field: str, value: Json, told: str
) -> None:
    document = _document(tmp_path)
    document[part][0][field] = value
    (tmp_path / "questions.json").write_text(json.dumps(document))
    with pytest.raises(TraceError, match=f"not a question file: .*{told}"):
        read_questions(tmp_path / "questions.json")


@pytest.mark.parametrize("changed", [{"seed": "x"}, {"repositories": [5]}, {"questions": ["x"]}])
def test_a_part_that_cannot_be_right(tmp_path: Path, changed: dict[str, Json]) -> None:
    (tmp_path / "questions.json").write_text(json.dumps(_document(tmp_path) | changed))
    with pytest.raises(TraceError, match="not a question file"):
        read_questions(tmp_path / "questions.json")


def test_a_changed_tree_is_noticed(tmp_path: Path) -> None:
    asked = asked_about(tmp_path)
    (tmp_path / "small" / "README.md").write_text("changed")
    assert list(problems(asked)) == ["small: the files have changed since the questions were built"]


def test_a_missing_tree_is_noticed(tmp_path: Path) -> None:
    asked = asked_about(tmp_path)
    (tmp_path / "small").rename(tmp_path / "elsewhere")
    assert list(problems(asked)) == [f"small: no such folder: {tmp_path / 'small'}"]


def test_a_wrong_answer_is_noticed(tmp_path: Path) -> None:
    asked = asked_about(tmp_path)
    wrong = [replace(question, file="README.md") for question in asked.questions]
    found = list(problems(replace(asked, questions=wrong)))
    assert len(found) == len(wrong)
    assert found[0].endswith("not defined in exactly the file README.md")


def test_the_digest_of_a_tree_is_of_names_and_contents(tmp_path: Path) -> None:
    digests = {
        tree_digest(write(tmp_path / str(number), files))
        for number, files in enumerate([{"a": "x"}, {"b": "x"}, {"a": "y"}, {"a/b": "x"}])
    }
    assert len(digests) == 4


def test_files_written_by_a_study_are_not_part_of_a_tree(tmp_path: Path) -> None:
    asked = asked_about(tmp_path)
    root = tmp_path / "small"
    write_questions(root / "questions.json", asked)
    write(root, {"grounding.jsonl": '{"bylaw": 1, "study": "grounding"}\n{"by', "empty.jsonl": ""})
    assert list(problems(asked)) == []
    write(root, {"other.json": '{"name": "bylaw"}'})
    assert len(list(problems(asked))) == 1


def test_the_file_shows_the_question_to_people(tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    write_questions(path, asked_about(tmp_path))
    for each in json.loads(path.read_text())["questions"]:
        assert each["symbol"] in each["question"]
