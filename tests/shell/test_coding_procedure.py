"""The packaged rules for coding agents, at a gate: evasions are not let pass, and work is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from shell_notation import told_calls

from bylaw import Guard, Procedure
from bylaw.enforcement.decision import Decision
from bylaw.procedure.packaged import packaged_file

FOLDER = Path(__file__).parent


def rows(name: str) -> list[tuple[str, str]]:
    """The rows of a table: what is expected, and a run."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    found = [line.partition(" | ") for line in lines if line and not line.startswith("#")]
    return [(expected, run) for expected, _, run in found]


EVASIONS = rows("evasions.cases")
WORK = rows("work.cases")


@cache
def coding() -> Procedure:
    return Procedure.load(packaged_file("coding"))


def decided(run: str) -> list[Decision]:
    """The decisions on the calls of a run, each in a turn of its own."""
    guard = Guard(coding())
    decisions = []
    for call in told_calls(run):
        (decision,) = guard.propose([call])
        decisions.append(decision)
        if decision.action == "allow":
            guard.record(decision, call.result)
    return decisions


def test_there_are_many_evasions() -> None:
    assert len(set(EVASIONS)) == len(EVASIONS) >= 60
    named = {rule for rule, _ in EVASIONS}
    assert named == {rule.name for rule in coding().constraints} - {"tests-before-finishing"}


@pytest.mark.parametrize(("rule", "run"), EVASIONS, ids=[run for _, run in EVASIONS])
def test_an_evasion_is_refused_or_asked_about(rule: str, run: str) -> None:
    *before, last = decided(run)
    assert [decision.action for decision in before] == ["allow"] * len(before)
    assert last.action in ("block", "ask", "stop")
    assert rule in {each.constraint.name for each in last.violations}


@pytest.mark.parametrize(("action", "run"), WORK, ids=[run for _, run in WORK])
def test_ordinary_work_passes(action: str, run: str) -> None:
    assert {decision.action for decision in decided(run)} == {action}
