"""The lines and columns of calls, in every way that traces are stored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from ci_desk import call, report, write_procedure

from bylaw.values import Json

CALLS: list[Json] = [call("search", q="é\n"), call("refund", id=1), call("refund", id=2)]
MESSAGES: list[Json] = [
    {"role": "user", "content": "Refund it."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": str(n), "type": "function", "function": each}
            for n, each in enumerate(
                {"name": made["tool_name"], "arguments": json.dumps(made["arguments"])}
                for made in CALLS
            )
        ],
    },
]
ANTHROPIC: list[Json] = [
    {"role": "user", "content": "Refund it."},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": str(n), "name": m["tool_name"], "input": m["arguments"]}
            for n, m in enumerate(CALLS)
        ],
    },
]
RECORD: Json = {"tool_calls": CALLS}


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_procedure(tmp_path, [{"name": "verify-first", "rule": "G(refund -> O verify)"}])
    return tmp_path


def _regions(*arguments: str) -> list[dict[str, int]]:
    (run,) = json.loads(report("sarif", *arguments)[1])["runs"]
    return [each["locations"][0]["physicalLocation"].get("region", {}) for each in run["results"]]


def _text(lines: list[str], region: dict[str, int]) -> str:
    """The characters that a region covers."""
    first, last = region["startLine"] - 1, region["endLine"] - 1
    covered = lines[first : last + 1]
    covered[-1] = covered[-1][: region["endColumn"] - 1]
    covered[0] = covered[0][region["startColumn"] - 1 :]
    return "\n".join(covered)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("record", [RECORD, {"messages": MESSAGES}, MESSAGES, ANTHROPIC], ids=str)
def test_the_region_of_a_call_is_its_text(record: Json, indent: int | None) -> None:
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    Path("run.json").write_text(text, encoding="utf-8")
    shown = [json.loads(_text(text.split("\n"), each)) for each in _regions("run.json")]
    assert ["2" in json.dumps(each) for each in shown] == [False, True]
    assert all("refund" in json.dumps(each) for each in shown)


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_each_record_of_a_file_has_its_line(name: str) -> None:
    lines = [json.dumps(RECORD), "", json.dumps({"tool_calls": []}), json.dumps(RECORD)]
    content = "\n".join(lines).encode()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = _regions(name)
    assert [each["startLine"] for each in found] == [1, 1, 4, 4]
    assert {json.loads(_text(lines, each))["tool_name"] for each in found} == {"refund"}


def test_each_record_of_a_document_has_its_region() -> None:
    text = json.dumps([RECORD, RECORD], indent=1)
    Path("runs.json").write_text(text)
    found = _regions("runs.json")
    shown = [json.loads(_text(text.split("\n"), each))["arguments"]["id"] for each in found]
    assert shown == [1, 2, 1, 2]
    assert found[2]["startLine"] > found[1]["startLine"]


def test_a_place_that_is_not_certain_is_that_of_the_record() -> None:
    refused = call("refund", id=0) | {"tool_result": "no"}
    odd: dict[str, Any] = {"tool_calls": CALLS, "extra": [refused]}
    Path("runs.jsonl").write_text(json.dumps(odd))
    first, second = _regions("runs.jsonl")
    assert (
        first
        == second
        == {
            "startLine": 1,
            "startColumn": 1,
            "endLine": 1,
            "endColumn": len(json.dumps(odd)) + 1,
        }
    )


def test_the_lines_of_a_session_are_found(desk: Path) -> None:
    from bylaw import AuditLog, Call, Guard, Procedure

    procedure = Procedure.load("p.json")
    with AuditLog("gate.jsonl") as log, Guard(procedure, "baseline", log=log) as guard:
        guard.propose([Call("search"), Call("refund", {"id": 1})])
    (region,) = _regions("gate.jsonl")
    line = Path("gate.jsonl").read_text().splitlines()[region["startLine"] - 1]
    assert json.loads(line)["tool"] == "refund"


def test_standard_input_has_the_line_only(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    lines = f"{json.dumps(RECORD)}\n{json.dumps(RECORD)}\n"

    class _Input:
        buffer = io.BufferedReader(io.BytesIO(lines.encode()))

    monkeypatch.setattr("sys.stdin", _Input())
    assert _regions("-") == [{"startLine": 1}, {"startLine": 1}, {"startLine": 2}, {"startLine": 2}]
