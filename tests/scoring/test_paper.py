"""The results that the AgentLTL paper prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bylaw import Call, Procedure, Trace, read_trace, verify_trace
from bylaw.cli.main import main


def test_the_listing_of_appendix_b(examples: Path) -> None:
    """Score, label, sequence, names, layers, weights and sentences as printed."""
    procedure = Procedure.load(examples / "paper-listing" / "procedure.yaml")
    record = json.loads((examples / "paper-listing" / "record.json").read_text())
    output = verify_trace(record, procedure).to_dict()
    assert output["compliance_score"] == 1.0
    assert output["compliance_label"] == "FULL"
    assert output["details"] == "All constraints satisfied."
    assert output["tool_sequence"] == ["tool_a", "tool_b", "tool_b", "tool_b", "tool_d"]
    printed = [
        ("tool_a_called", "L1", 2.0, '"tool_a" was called (call #1).'),
        ("tool_a_before_branches", "L4", 3.0, '"tool_a" (call #1) before "tool_d" (call #5).'),
        ("branch_call_count", "L5", 3.0, None),  # there a Python predicate, here a set of tools
        ("tool_b_for_even", "L5", 3.0, '"tool_b" called 3 time(s); expected >= 3.'),
        ("tool_b_before_tool_d", "L3", 4.0, '"tool_b" (call #2) before "tool_d" (call #5).'),
        ("tool_d_called", "L1", 2.0, '"tool_d" was called (call #5).'),
    ]
    for result, (name, layer, weight, detail) in zip(output["constraints"], printed, strict=True):
        assert (result["name"], result["layer"], result["weight"]) == (name, layer, weight)
        assert result["passed"] is True
        assert detail is None or result["detail"] == detail


def test_the_record_is_kept(examples: Path) -> None:
    """Its num_tool_calls says 6 with 5 calls: that is a metric, and accepted."""
    trace = read_trace(examples / "paper-listing" / "record.json")
    assert trace.metrics["num_tool_calls"] == 6
    assert len(trace) == 5
    assert [call.step for call in trace] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(("name", "label", "code"), [("a", "FULL", 0), ("b", "NONE", 1)])
def test_figure_1(
    name: str,
    label: str,
    code: int,
    examples: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One procedure, two traces with the same answer: one is FULL, the other NONE."""
    monkeypatch.chdir(examples / "figure-1")
    arguments = ["-p", "procedure.yaml", "--with", "grounding:vocabulary", "--json"]
    assert main(["verify", *arguments, f"trace-{name}.json"]) == code
    (output,) = json.loads(capsys.readouterr().out)["traces"]
    assert output["compliance_label"] == label
    assert {result["passed"] for result in output["constraints"]} == {code == 0}


@pytest.mark.parametrize(
    ("tools", "passed"),
    [("tool_a tool_d", True), ("tool_d tool_a", True), ("tool_a", False), ("tool_d", False)],
)
def test_the_worked_example_of_appendix_a(tools: str, passed: bool, examples: Path) -> None:
    procedure = Procedure.load(examples / "worked-example" / "procedure.yaml")
    report = verify_trace(Trace([Call(tool) for tool in tools.split()]), procedure)
    assert report.constraints[0].passed is passed
