"""The conditions under which a run fails, and the baseline of known violations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ci_desk import call, json_report, report, write_procedure, write_runs

from bylaw.cli.main import main
from bylaw.values import Json

GOOD = [call("verify"), call("refund"), call("notify")]
HALF = [call("refund", id=1), call("notify")]
BAD = [call("refund", id=2)]
IDLE: list[Json] = [call("verify")]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_procedure(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("runs", "arguments", "code"),
    [
        ([GOOD], "", 0),
        ([GOOD, HALF], "", 1),
        ([GOOD, HALF], "--fail-under 0.5", 0),
        ([GOOD, HALF], "--fail-under 0.51", 1),
        ([GOOD, BAD], "--fail-under 0.5", 1),
        ([BAD], "--fail-under 0", 0),
        ([IDLE], "", 0),
        ([IDLE], "--fail-vacuous", 1),
        ([IDLE, GOOD], "--fail-vacuous", 0),
        ([IDLE, HALF], "--fail-vacuous --fail-under 0", 0),
        ([IDLE, IDLE], "--fail-vacuous --fail-under 0", 1),
    ],
)
def test_a_run_fails_as_the_options_say(runs: list[list[Json]], arguments: str, code: int) -> None:
    write_runs(Path("runs.jsonl"), *runs)
    command = ["verify", "-p", "p.json", "runs.jsonl", *arguments.split()]
    assert main(command) == code
    assert main([*command, "--jobs", "1"]) == code, "a corpus fails in the same cases"
    found = json_report("runs.jsonl", *arguments.split())
    assert (found[0], found[1]["summary"]["failed"]) == (code, code == 1)


def _baseline(*runs: list[Json], file: str = "runs.jsonl") -> None:
    write_runs(Path(file), *runs)
    main(["verify", "-p", "p.json", file, "--force", "--format", "jsonl=old.jsonl"])


@pytest.mark.parametrize(
    ("before", "after", "code", "new"),
    [
        ([BAD], [BAD], 0, 0),
        ([BAD], [GOOD, IDLE, BAD], 0, 0),  # it moved to another line
        ([BAD], [[call("search"), *BAD]], 0, 0),  # and to another position
        ([BAD], [HALF], 1, 1),  # the call has other arguments
        ([BAD], [BAD, BAD], 1, 2),  # one more of the same
        ([BAD, BAD], [BAD], 0, 0),
        ([HALF], [BAD], 1, 2),  # one rule more is broken
        ([GOOD], [BAD], 1, 2),
    ],
)
def test_only_what_is_not_in_the_baseline_fails(
    before: list[list[Json]], after: list[list[Json]], code: int, new: int
) -> None:
    _baseline(*before)
    write_runs(Path("runs.jsonl"), *after)
    found, written = json_report("runs.jsonl", "--baseline", "old.jsonl")
    assert (found, written["summary"]["baseline"]["new"]) == (code, new)


def test_the_baseline_is_by_file() -> None:
    _baseline(BAD)
    Path("runs.jsonl").rename("others.jsonl")
    assert json_report("others.jsonl", "--baseline", "old.jsonl")[0] == 1
    Path("others.jsonl").rename("runs.jsonl")
    assert json_report("./runs.jsonl", "--baseline", "old.jsonl")[0] == 0


def test_an_unusable_record_is_never_known() -> None:
    _baseline(BAD)
    Path("runs.jsonl").write_text(Path("runs.jsonl").read_text() + "{\n")
    assert json_report("runs.jsonl", "--baseline", "old.jsonl")[0] == 2


def test_reports_say_what_is_known() -> None:
    _baseline(BAD)
    write_runs(Path("runs.jsonl"), BAD, HALF)
    results = json.loads(report("sarif", "runs.jsonl", "--baseline", "old.jsonl")[1])["runs"][0]
    assert [each["baselineState"] for each in results["results"]] == [
        *("unchanged", "unchanged", "new")
    ]
    junit = report("junit", "runs.jsonl", "--baseline", "old.jsonl")[1]
    assert junit.count("<failure") == 1
    assert junit.count("<skipped message='known: in the baseline") == 2
    github = report("github", "runs.jsonl", "--baseline", "old.jsonl")[1]
    levels = [line.split(" ")[0] for line in github.splitlines()]
    assert levels == ["::notice", "::notice", "::error", "::notice"]
    assert (
        "1 new violation, 2 known." in report("markdown", "runs.jsonl", "--baseline=old.jsonl")[1]
    )


def test_a_violation_that_the_score_excuses_is_no_failure() -> None:
    write_runs(Path("runs.jsonl"), HALF, GOOD)
    junit = report("junit", "runs.jsonl", "--fail-under", "0.5")[1]
    assert "<failure" not in junit
    assert "tolerated: the score is not below 0.5" in junit


def test_an_untested_rule_is_a_failure_of_its_own() -> None:
    write_runs(Path("runs.jsonl"), IDLE, IDLE)
    junit = report("junit", "runs.jsonl", "--fail-vacuous")[1]
    assert junit.count('<failure message="vacuous in every trace"/>') == 2
    assert report("github", "runs.jsonl", "--fail-vacuous")[1].count("::error file=p.json") == 2
