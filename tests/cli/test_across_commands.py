"""Rules across runs in `verify`, `replay`, `lint`, `diff`, `explain` and `view`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bylaw.cli.main import main

LIMIT = {
    "name": "limit",
    "rule": "G(refund -> sum(sofar(refund, 24 h).args.amount) <= 500)",
    "across": "labels.customer",
}
LOOK = {"name": "look", "rule": "G(refund -> O lookup)"}


def _record(customer: Any, *calls: tuple[str, int, float | None]) -> str:
    events = [
        {"tool_name": tool, "arguments": {"amount": amount}, "step": step}
        | ({} if start is None else {"start": start})
        for step, (tool, amount, start) in enumerate(calls)
    ]
    labels = {} if customer is None else {"labels": {"customer": customer}}
    return json.dumps({"tool_calls": events, **labels})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text(json.dumps({"name": "desk", "constraints": [LIMIT, LOOK]}))
    Path("only.json").write_text(json.dumps({"name": "desk", "constraints": [LIMIT]}))
    late = _record("c7", ("lookup", 0, 1), ("refund", 300, 9))
    early = _record("c7", ("lookup", 0, 2), ("refund", 300, 4))
    other = _record("c8", ("lookup", 0, 3), ("refund", 300, 5))
    nobody = _record(None, ("lookup", 0, 3), ("refund", 300, 5))
    Path("kept.jsonl").write_text(f"{late}\n{other}\n{nobody}\n")
    Path("broken.jsonl").write_text(f"{late}\n{early}\n{other}\n")
    Path("one.json").write_text(late)
    untimed = [_record("c7", ("lookup", 0, None), ("lookup", 0, None)) for _ in range(2)]
    Path("untimed.jsonl").write_text("\n".join(untimed))
    return tmp_path


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main([*arguments])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("procedure", ["p.json", "only.json"])
@pytest.mark.parametrize(
    ("traces", "code"), [("kept.jsonl", 0), ("broken.jsonl", 1), ("one.json", 0)]
)
def test_verify_exits_by_what_the_runs_did_together(
    desk: Path, capsys: pytest.CaptureFixture[str], procedure: str, traces: str, code: int
) -> None:
    for more in ([], ["--json"]):
        assert _run(capsys, "verify", "-p", procedure, traces, *more)[0] == code


def test_verify_judges_each_value_once(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = _run(capsys, "verify", "-p", "p.json", "broken.jsonl", "--json")
    found = json.loads(shown)
    assert [each["compliance_score"] for each in found["traces"]] == [1.0, 1.0, 1.0]
    assert [each["constraints"][0]["name"] for each in found["traces"]] == ["look"] * 3
    across = found["summary"]["across"]
    assert [(each["value"], each["passed"], len(each["traces"])) for each in across] == [
        ("c7", False, 2),
        ("c8", True, 1),
    ]
    # The earlier refund stands in the second trace, and the later one broke the limit.
    assert across[0]["witness"] == [
        {"trace": "broken.jsonl:2", "call": 1},
        {"trace": "broken.jsonl:1", "call": 1},
    ]


def test_a_summary_has_them_too(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy")
    code, shown = _run(capsys, "verify", "-p", "p.json", "broken.jsonl", "--summary", "--json")
    summary = json.loads(shown)["summary"]
    assert code == 1
    assert [rule["name"] for rule in summary["constraints"]] == ["look"]
    assert [(each["value"], each["passed"]) for each in summary["across"]] == [
        ("c7", False),
        ("c8", True),
    ]
    code, _ = _run(capsys, "verify", "-p", "only.json", "broken.jsonl", "--summary")
    assert code == 2, "there is nothing to summarise about single traces"


def test_traces_without_the_label_are_noted(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = _run(capsys, "verify", "-p", "p.json", "kept.jsonl")
    assert "W528" in shown
    assert "3 values of customer" in shown


def test_runs_without_times_are_noted(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = _run(capsys, "verify", "-p", "p.json", "untimed.jsonl")
    assert "taken in the order of the corpus" in shown


def test_replay_shares_the_state_among_traces(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--setting", "as-written", "--json"]
    _, shown = _run(capsys, "replay", "-p", "p.json", "broken.jsonl", *options)
    refused = [json.loads(line)["replays"][0]["refusals"] for line in shown.splitlines()]
    # The refund in the second trace was the first.
    assert [[each["constraints"] for each in found] for found in refused] == [[["limit"]], [], []]
    _, shown = _run(capsys, "replay", "-p", "p.json", "kept.jsonl", *options)
    assert all(not json.loads(line)["replays"][0]["refusals"] for line in shown.splitlines())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["lint", "p.json"], "It judges all runs with the same customer together."),
        (["explain", "limit", "-p", "p.json"], "It judges all runs with the same customer"),
        (["diff", "p.json", "moved.json"], "`across` was labels.customer and is now labels.shop."),
        (["diff", "p.json", "alone.json"], "`across` was labels.customer"),
    ],
)
def test_commands_say_so(
    desk: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    moved, alone = {**LIMIT, "across": "labels.shop"}, {k: LIMIT[k] for k in ("name", "rule")}
    for name, rule in (("moved.json", moved), ("alone.json", alone)):
        Path(name).write_text(json.dumps({"name": "desk", "constraints": [rule, LOOK]}))
    _, shown = _run(capsys, *arguments)
    assert expected in " ".join(shown.split())


def test_the_viewer_shows_them(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["view", "-p", "p.json", "one.json", "-o", "page.html"])
    assert "judges all runs with one customer together" in Path("page.html").read_text()
