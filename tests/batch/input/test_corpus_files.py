"""The files that paths, folders, patterns and `-` stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bylaw.batch.input.files import (
    MAX_GROUP,
    CorpusFile,
    find_files,
    fingerprint,
    group_files,
    total_size,
)

FILES = ("a.json", "b.jsonl", "c.jsonl.gz", "deep/d.parquet", "deep/e.txt", "deep/f.ndjson.zst")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        path = tmp_path / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _names(*paths: str, without: str | None = None) -> list[str]:
    return [file.name.removeprefix("runs/") for file in find_files(paths, without)]


def test_a_folder_is_the_traces_below_it(folder: Path) -> None:
    assert _names("runs") == [name for name in FILES if not name.endswith(".txt")]


def test_a_file_is_itself_whatever_it_is_called(folder: Path) -> None:
    assert _names("runs/deep/e.txt", "-", "runs/a.json") == [
        "deep/e.txt",
        "standard input",
        "a.json",
    ]


def test_a_pattern_is_what_fits_it(folder: Path) -> None:
    assert _names("runs/*.js*") == ["a.json", "b.jsonl", "c.jsonl.gz"]
    assert _names("runs/**/*.zst") == ["deep/f.ndjson.zst"]
    (folder / "runs" / "[odd].json").write_bytes(b"{}")
    assert _names("runs/[odd].json") == ["[odd].json"], "a file that is there is meant"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.jsonl", "No such file"),
        ("*.nothing", "No such file"),
        ("empty", "the folder holds no .json"),
    ],
)
def test_a_missing_file_is_reported_and_the_others_are_found(
    folder: Path, path: str, message: str
) -> None:
    (folder / "empty").mkdir()
    missing, there = find_files([path, "runs/a.json"])
    assert missing.problem is not None
    assert message in missing.problem.message
    assert there.problem is None


def test_a_run_does_not_read_the_files_that_it_writes(folder: Path) -> None:
    (folder / "runs" / "scores.jsonl").write_bytes(b"")
    parts = folder / "runs" / "scores.jsonl.parts"
    parts.mkdir()
    (parts / "journal.json").write_bytes(b"{}")
    assert "scores.jsonl" not in _names("runs", without="runs/scores.jsonl")
    assert not any("journal" in name for name in _names("runs"))


def test_addresses_are_read_by_arrows_file_systems(folder: Path) -> None:
    root = (folder / "runs").as_uri()
    found = find_files([f"{root}/"])
    assert [each.path for each in found] == [
        f"{root}/{name}" for name in FILES if not name.endswith(".txt")
    ]
    assert all(each.size == 4 for each in found)
    assert [each.path for each in find_files([f"{root}/*.json"])] == [f"{root}/a.json"]
    (missing,) = find_files([f"{root}/missing.json"])
    assert missing.problem is not None


def test_small_files_are_grouped() -> None:
    sizes = [1, 2, 3, 100, 4, 5, 6, 7, None, 0, 1]
    found = group_files([CorpusFile(str(n), size) for n, size in enumerate(sizes)], chunk_size=10)
    assert [[file.size for file in group] for group in found] == [
        [1, 2, 3],
        [100],
        [4, 5],
        [6],
        [7],
        [None],
        [0, 1],
    ]
    assert [len(group) for group in group_files([CorpusFile("a", 0)] * 600)] == [
        MAX_GROUP,
        MAX_GROUP,
        600 - 2 * MAX_GROUP,
    ]


def test_sizes_and_fingerprints(folder: Path) -> None:
    before = find_files(["runs"])
    assert total_size(before) == 20
    assert total_size(find_files(["runs", "-"])) is None
    assert fingerprint(before) == fingerprint(find_files(["runs"]))
    assert fingerprint(find_files(["runs", "-"])) is None, "it cannot be read again"
    (folder / "runs" / "a.json").write_bytes(b"12345")
    assert fingerprint(before) != fingerprint(find_files(["runs"]))
