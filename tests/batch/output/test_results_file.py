"""A run can be killed at any moment; when it is resumed, the results are the same."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import corpora
import pytest

from bylaw import verify_trace
from bylaw.batch.corpus import LocalEngine, score_corpus
from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files
from bylaw.batch.output.results_file import ResultsFile
from bylaw.batch.output.summary import Summary
from bylaw.errors import UsageError
from bylaw.trace.files import read_traces

SCRIPT = Path(__file__).parents[2] / "support" / "score_corpus.py"
LIMITS = Limits(chunk=5_000)


def _score(out: Path, corpus: Path, **options: Any) -> Summary:
    found = find_files([str(corpus)])
    output = ResultsFile(str(out), corpora.DESK, found, LIMITS, **options)
    return score_corpus(corpora.DESK, found, engine=LocalEngine(1), limits=LIMITS, output=output)


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        from pyarrow import parquet

        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
        return rows
    if path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes())
    elif path.suffix == ".zst":
        import zstandard

        text = (
            zstandard.ZstdDecompressor()
            .stream_reader(path.read_bytes(), read_across_frames=True)
            .read()
        )
    else:
        text = path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.jsonl(tmp_path_factory.mktemp("corpus") / "runs.jsonl", 900)


# ── rows ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz", "s.jsonl.zst", "s.parquet"])
def test_there_is_a_row_for_each_record(tmp_path: Path, corpus: Path, name: str) -> None:
    _score(tmp_path / name, corpus, seconds=0)
    rows = {row["trace"]: row for row in _rows(tmp_path / name)}
    entries = list(read_traces(corpus))
    assert len(rows) == len(entries)
    for entry in entries:
        row = rows[entry.name]
        if entry.trace is None:
            assert row["error"]
            assert row.get("score") is None
            continue
        report = verify_trace(entry.trace, corpora.DESK)
        assert row["score"] == report.score, "to the last bit"
        assert row["label"] == report.label
        assert row["calls"] == len(entry.trace.calls)
        assert row["violated"] == [result.name for result in report.violated]
        assert row["vacuous"] == [
            result.name for result in report.constraints if result.outcome.value == "vacuous"
        ]
        assert row["undecided"] == []
        assert row.get("error") is None
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing else is left"


def test_an_unknown_format_is_an_error(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(UsageError, match=r"End the name in \.jsonl"):
        _score(tmp_path / "scores.csv", corpus)


# ── interruptions ────────────────────────────────────────────────────────────────────────────


def _begin(out: Path, corpus: Path, jobs: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(jobs), str(out), str(corpus)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _killed(out: Path, corpus: Path, jobs: int, chance: random.Random) -> bool:
    """Lets a run work for a moment, then kills it; was it still running?"""
    with _begin(out, corpus, jobs) as run:
        assert run.stdout is not None
        for _ in range(chance.randrange(5, 9)):  # it makes progress
            run.stdout.readline()
        time.sleep(chance.random() * 0.02)
        run.kill()
        run.stdout.read()
        return run.wait() != 0


@pytest.mark.parametrize(
    ("jobs", "name"),
    [
        (1, "s.jsonl"),
        pytest.param(2, "s.jsonl", marks=pytest.mark.slow),
        pytest.param(1, "s.parquet", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_again_and_again_loses_and_repeats_nothing(
    tmp_path: Path, corpus: Path, jobs: int, name: str
) -> None:
    whole = tmp_path / f"whole-{name}"
    _score(whole, corpus)
    out = tmp_path / name
    chance = random.Random(jobs)
    kills = 0
    while _killed(out, corpus, jobs, chance):
        assert not out.exists() or _rows(out) == _rows(whole), "half a file is never seen"
        kills += 1
    assert kills >= 3
    assert _rows(out) == _rows(whole)
    assert not out.with_name(f"{name}.parts").exists()


def test_the_summary_is_resumed_with_the_rows(tmp_path: Path, corpus: Path) -> None:
    whole = _score(tmp_path / "whole.jsonl", corpus)
    out = tmp_path / "s.jsonl"
    assert _killed(out, corpus, 1, random.Random(0))
    assert _score(out, corpus).state() == whole.state()


@pytest.mark.parametrize("left", ["000999.part", "journal.draft", "whole"])
def test_half_written_files_of_a_killed_run_are_not_used(
    tmp_path: Path, corpus: Path, left: str
) -> None:
    _score(tmp_path / "whole.jsonl", corpus)
    out = tmp_path / "s.jsonl"
    assert _killed(out, corpus, 1, random.Random(1))
    (tmp_path / "s.jsonl.parts" / left).write_text("rubbish")
    _score(out, corpus)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_run_with_other_rules_or_files_is_not_resumed(tmp_path: Path, corpus: Path) -> None:
    out = tmp_path / "s.jsonl"
    assert _killed(out, corpus, 1, random.Random(2))
    other = corpora.jsonl(tmp_path / "other.jsonl", 100)
    with pytest.raises(UsageError, match="has other rules, inputs or options"):
        _score(out, other)
    _score(out, other, restart=True)
    assert [row["trace"] for row in _rows(out)][:3] == [f"{other}:{line}" for line in (1, 2, 3)]


def test_two_runs_do_not_write_one_file(tmp_path: Path, corpus: Path) -> None:
    out = tmp_path / "s.jsonl"
    output = ResultsFile(str(out), corpora.DESK, find_files([str(corpus)]), LIMITS)
    with pytest.raises(UsageError, match="another run is writing"):
        _score(out, corpus)
    output.close()
    _score(out, corpus)


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        _score(tmp_path / "missing" / "s.jsonl", corpus)
