"""The adapters carry out the gate's own table, with the frameworks' real agents."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from case_script import CaseDriver, Script, decided, expected, steps_of, with_results
from gate_notation import Scenario, scenarios

from bylaw.audit.log import AuditLog
from bylaw.names import FINAL_ANSWER

TABLE = list(scenarios(Path(__file__).parents[1] / "enforcement" / "decisions.cases"))
_NEEDS = {"smolagents_cases": "smolagents", "inspect_cases": "inspect-ai"}
_DRIVERS = {
    "plain_cases": ("TurnCases", "AsyncTurnCases", "WrapCases", "LoopCases"),
    "smolagents_cases": ("ToolCallingCases", "CodeCases"),
    "inspect_cases": ("InspectCases",),
}


def _param(module: str, name: str) -> Any:
    marks = [pytest.mark.frameworks] if module in _NEEDS else []
    return pytest.param((module, name), marks=marks, id=name)


@pytest.fixture(params=[_param(module, name) for module in _DRIVERS for name in _DRIVERS[module]])
def driver(request: pytest.FixtureRequest) -> CaseDriver:
    module, name = request.param
    if module in _NEEDS:
        framework = _NEEDS[module]
        package = framework.replace("-", "_")
        pytest.importorskip(package, reason=f"NOT TESTED: {framework} is not installed")
    made: CaseDriver = getattr(import_module(module), name)()
    return made


@cache
def _why_not(scenario: Scenario) -> str | None:
    """The reason why no framework can express a scenario."""
    steps = steps_of(scenario)
    if scenario.options.get("events") == "all" or any(step.act == "message" for step in steps):
        return "the messages are the framework's own"
    if any(step.act == "!abandon" for step in steps):
        return "frameworks give no call up whose tool is still running"
    if scenario.options.get("outstanding") == "wait":
        return "only `run_turn` waits for the results of a turn"
    answered = [
        number
        for number, step in enumerate(steps)
        for call, word in zip(step.calls, step.words, strict=False)
        if call.tool == FINAL_ANSWER and word.startswith("allow")
    ]
    if answered and any(step.calls for step in steps[answered[0] + 1 :]):
        return "the agent ends with an answer that is accepted"
    with TemporaryDirectory() as folder:
        path = Path(folder, "alone.jsonl")
        with AuditLog(path, durable=False) as log:
            with_results(scenario, log)
        if _agree(decided(path), expected(scenario)):
            return None
    return "a call has no result in it, and frameworks run calls to their end"


def _agree(
    found: tuple[list[list[str]], list[str]], wanted: tuple[list[list[str]], list[str]]
) -> bool:
    """The same decisions; frameworks propose nothing any more once the run is over."""
    (turns, lost), (expected_turns, expected_lost) = found, wanted
    rest = expected_turns[len(turns) :]
    over = {word for turn in rest for word in turn} <= {"stop"}
    return turns == expected_turns[: len(turns)] and over and lost == expected_lost


@pytest.mark.parametrize("scenario", TABLE, ids=lambda scenario: scenario.title)
def test_the_framework_decides_as_the_table_says(
    driver: CaseDriver, scenario: Scenario, tmp_path: Path
) -> None:
    reason = _why_not(scenario) or driver.why_not(scenario)
    if reason is not None:
        pytest.skip(f"{type(driver).__name__} cannot express it: {reason}")
    path = tmp_path / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        driver(Script(scenario, log))
    assert _agree(decided(path), expected(scenario)), (decided(path), expected(scenario))
