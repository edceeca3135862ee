"""`bylaw verify` and `bylaw diff` on corpora, as people type them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpora
import pytest

from bylaw.batch.optional import SCORING
from bylaw.cli import verify as corpus_command
from bylaw.cli.main import main
from bylaw.terminal import ProgressLine

PROCEDURE = json.dumps(corpora.DESK.to_dict())


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.json").write_text(PROCEDURE)
    (tmp_path / "runs").mkdir()
    corpora.jsonl(tmp_path / "runs" / "a.jsonl", 120, 1)
    corpora.jsonl(tmp_path / "runs" / "b.jsonl.gz", 120, 4)
    rows = [{"record": line} for line in corpora.lines(120, 3)]
    corpora.table(tmp_path / "runs" / "c.parquet", rows)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_summary_says_what_the_corpus_comes_to(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(capsys, "verify", "-p", "p.json", "runs", "--summary")
    assert code == 2, "some records could not be used"
    assert "mean score 0." in out
    for word in ("Rules", "pass rate", "vacuous", "Layers", "Worst traces", "runs/c.parquet"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    assert "runs/a.jsonl:8" in err
    assert "runs/b.jsonl.gz:8" in err


def test_every_way_to_store_and_to_score_a_corpus_prints_the_same(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [
        _run(capsys, "verify", "-p", "p.json", "runs", "--json", *options)
        for options in (["--summary"], ["--jobs", "1"], ["--jobs", "2"], ["--out", "s.parquet"])
    ]
    printed = [json.loads(out) for _, out, _ in shown]
    assert len({json.dumps(each["summary"]) for each in printed}) == 1
    assert all(each["traces"] is None for each in printed)
    summary = printed[0]["summary"]
    by_trace = json.loads(_run(capsys, "verify", "-p", "p.json", "runs", "--json")[1])
    traces = by_trace["traces"]
    scores = [each["compliance_score"] for each in traces if "tool_sequence" in each]
    assert summary["traces"] == len(scores)
    assert summary["mean_score"] == pytest.approx(sum(scores) / len(scores))
    assert sum(summary["unusable"].values()) == len(traces) - len(scores)
    same = by_trace["summary"].keys() & summary.keys()
    assert same >= {"procedure", "traces", "calls", "mean_score", "labels", "layers", "constraints"}
    assert {key: by_trace["summary"][key] for key in same} == {key: summary[key] for key in same}


def test_small_inputs_print_a_line_each_whatever_they_are_stored_in(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = _run(capsys, "verify", "-p", "p.json", "runs/*")
    assert "runs/b.jsonl.gz:1" in out
    assert "runs/c.parquet:1" in out


def test_rows_are_written_where_they_are_wanted(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = _run(capsys, "verify", "-p", "p.json", "runs", "--out", "runs/s.jsonl")
    assert "scores written to runs/s.jsonl" in out
    rows = [json.loads(line) for line in (desk / "runs" / "s.jsonl").read_text().splitlines()]
    again = _run(capsys, "verify", "-p", "p.json", "runs", "--out", "runs/s.jsonl")[1]
    assert again == out, "its own rows are no traces"
    assert len(rows) > 350


def test_a_page_is_written_where_it_is_wanted(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = _run(capsys, "verify", "-p", "p.json", "runs", "--report", "r.html")
    assert "report written to r.html" in out
    assert "runs/b.jsonl.gz:" in (desk / "r.html").read_text()


def test_an_unfinished_run_is_finished_or_given_up(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("verify", "-p", "p.json", "runs", "--out", "s.jsonl", "--jobs", "1")
    whole = _run(capsys, *command)[1]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("bylaw.batch.output.formats.JsonlFormat.join", interrupted)
        assert main([*command]) == 130
    _edited(desk, "CalledN(refund, <= 2)")
    other = ("verify", "-p", "new.json", *command[3:])
    code, _, err = _run(capsys, *other)
    assert code == 2
    assert "error[E431]" in err
    _, out, err = _run(capsys, *command)
    assert out == whole
    assert "resuming the run in s.jsonl.parts" in err
    with monkeypatch.context() as patched:
        patched.setattr("bylaw.batch.output.formats.JsonlFormat.join", interrupted)
        assert main([*command]) == 130
    assert _run(capsys, *other, "--restart")[0] == 2
    assert _run(capsys, *other)[1] != whole


@pytest.mark.parametrize("journal", ["", "[]", "{}", '{"key": 1, "cursor": 2}'])
def test_a_damaged_journal_is_explained(
    desk: Path, capsys: pytest.CaptureFixture[str], journal: str
) -> None:
    command = ("verify", "-p", "p.json", "runs", "--out", "s.jsonl", "--jobs", "1")
    (desk / "s.jsonl.parts").mkdir()
    (desk / "s.jsonl.parts" / "journal.json").write_text(journal)
    code, _, err = _run(capsys, *command)
    assert code == 2
    assert "the unfinished run in s.jsonl.parts is damaged" in err
    assert "--restart" in err
    assert "scores written to s.jsonl" in _run(capsys, *command, "--restart")[1]


def test_large_inputs_print_only_the_summary(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_command, "LARGE", 1_000)
    out = _run(capsys, "verify", "-p", "p.json", "runs")[1]
    assert out.startswith("35")
    assert "Worst traces" in out


def test_standard_input_is_a_corpus_too(desk: Path) -> None:
    command = [sys.executable, "-m", "bylaw", "verify", "-p", "p.json", "-", "--out", "s.jsonl"]
    text = (desk / "runs" / "b.jsonl.gz").read_bytes()
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert done.returncode == 2
    first = json.loads((desk / "s.jsonl").read_text().splitlines()[0])
    assert first["trace"] == "standard input:1"


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--out", "scores.csv"], "error[E402]: 'scores.csv' does not name a format"),
        (["--out", "missing/s.jsonl"], "error[E403]: cannot write"),
        (["--report", "missing/r.html"], "error[E403]: cannot write"),
        (["--jobs", "0"], "error[E402]: --jobs must be 1 or more"),
        (["--repair"], "error[E402]: --repair works on one trace, and there are several"),
        (["--repair", "--summary"], "error[E402]: --repair works on one trace, and only a summary"),
    ],
)
def test_impossible_options_are_explained(
    desk: Path, capsys: pytest.CaptureFixture[str], options: list[str], shown: str
) -> None:
    code, _, err = _run(capsys, "verify", "-p", "p.json", "runs/a.jsonl", *options)
    assert code == 2
    assert shown in err


WITHOUT = """
import sys
for name in sys.argv[1].split():
    sys.modules[name] = None
from bylaw.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def _without(modules: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, modules, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _without("msgspec numpy pyarrow zstandard", *arguments)


def test_without_the_extra_traces_are_scored_one_by_one(desk: Path) -> None:
    done = _without_extras("verify", "-p", "p.json", "runs/a.jsonl", "runs/b.jsonl.gz")
    assert "runs/b.jsonl.gz:120" in done.stdout
    for options in (["--summary", "runs/a.jsonl"], ["runs/c.parquet"]):
        done = _without_extras("verify", "-p", "p.json", *options)
        assert done.returncode == 2
        assert "pip install 'bylaw[corpus]'" in done.stderr


@pytest.mark.parametrize("module", SCORING)
@pytest.mark.parametrize(
    "command",
    [
        ["verify", "-p", "p.json", "runs/a.jsonl", "--summary"],
        ["verify", "-p", "p.json", "runs/a.jsonl", "--report", "r.html"],
        ["diff", "p.json", "p.json", "--corpus", "runs/a.jsonl"],
    ],
)
def test_a_part_of_the_extra_that_is_missing_is_named(
    desk: Path, module: str, command: list[str]
) -> None:
    done = _without(module, *command)
    assert done.returncode == 2
    assert f"error[E402]: scoring a corpus needs {module}, which is not installed" in done.stderr
    assert "pip install 'bylaw[corpus]'" in done.stderr
    assert "Traceback" not in done.stderr


# ── diff ─────────────────────────────────────────────────────────────────────────────────────


def _edited(desk: Path, rule: str) -> None:
    (desk / "new.json").write_text(PROCEDURE.replace("CalledN(refund, <= 1)", rule))


def test_diff_shows_which_traces_an_edit_changes(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _edited(desk, "CalledN(refund, <= 2)")
    (desk / "good.jsonl").write_text("\n".join(map(json.dumps, corpora.records(200))))
    command = ("diff", "p.json", "new.json", "--corpus", "good.jsonl")
    code, out, _ = _run(capsys, *command)
    assert code == 1
    assert "score higher" not in out
    assert "-one-refund" in out
    assert max(map(len, out.splitlines())) <= 80
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in _run(capsys, *command, "--json")[1].splitlines()
    ]
    summary = lines.pop()["summary"]
    assert summary["changed"] == len(lines) > 0
    assert all(line["mended"] == ["one-refund"] for line in lines)
    assert _run(capsys, "diff", "p.json", "p.json", "--corpus", "good.jsonl")[0] == 0
    assert _run(capsys, "diff", "p.json", "p.json", "--corpus", "runs")[0] == 2


# ── progress ─────────────────────────────────────────────────────────────────────────────────


def test_progress_tells_rate_and_time_left() -> None:
    line = ProgressLine("traces", size=1_000_000)
    line.resume(100, 500_000)
    line.step(1_000, 100_000)
    assert line._line(10.0) == "60%, 1,100 traces, 100/s, 0:40 left"
    assert ProgressLine("traces", size=None)._line(1.0) == "0 traces, 0.0/s"
    line.step(1, 10_000_000)
    assert "100%" in line._line(10.0)
    long = ProgressLine("traces", size=1_000_000)
    long.step(10, 1_000)
    assert long._line(10.0).endswith("2:46:30 left")


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_what_is_read_is_not_overwritten(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = tmp_path / "in.jsonl"
    traces.write_text('{"tool_calls": []}\n')
    rules = tmp_path / "rules.json"
    rules.write_text('{"constraints": [{"name": "r", "rule": "F a"}]}')
    there = str(tmp_path / "." / "in.jsonl")
    assert main(["verify", "-p", str(rules), str(traces), option, there]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert traces.read_text() == '{"tool_calls": []}\n'
