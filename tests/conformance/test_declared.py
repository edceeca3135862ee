"""The declarations of adapters are true: the suite ran them, the docs show them, extras match."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from declared import MODES, Declared, declared
from desk import Seen
from driver import Driver, Setup
from plain_drivers import Loop, PlainTurns
from scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
ADAPTERS = declared()
EACH = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)


@EACH
def test_a_declaration_names_scenarios_and_gives_reasons(adapter: Declared) -> None:
    for name, reason in adapter.cannot:
        scenario, _, mode = name.partition("/")
        assert scenario in SCENARIOS, name
        assert mode in ("", *adapter.modes), name
        assert reason.endswith("."), "a sentence"
    assert set(adapter.modes) <= set(MODES)
    if adapter.is_installed and adapter.why_not("race", adapter.modes[0]) is None:
        assert adapter.make(adapter.modes[0]).races == Driver.races


def test_the_suite_runs_what_the_docs_show() -> None:
    """Every adapter in every mode and scenario, and nothing is left out on the way."""
    listing = "tests/conformance/test_scenarios.py", "--collect-only", "-p", "no:cacheprovider"
    command = [sys.executable, "-m", "pytest", *listing]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    collected = {line.partition("[")[2].rstrip("]") for line in done.stdout.splitlines()} - {""}
    assert collected == {
        f"{adapter.name}-{mode}-{scenario}"
        for adapter in ADAPTERS
        for mode in adapter.modes
        for scenario in SCENARIOS
    }
    page = (ROOT / "docs" / "reference" / "adapters.md").read_text(encoding="utf-8")
    for adapter in ADAPTERS:
        assert f"[{adapter.title}](../how-to/{adapter.page})" in page
        for _, reason in adapter.cannot:
            assert f"{adapter.title}: {reason}" in page
    for scenario in SCENARIOS.values():
        assert f"| {scenario.promise} |" in page


@EACH
def test_the_extra_begins_with_the_oldest_version_that_was_tried(adapter: Declared) -> None:
    if adapter.extra is None:
        assert adapter.package is None
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = project["optional-dependencies"][adapter.extra]
    assert len(adapter.tried) == 2
    assert any(f">={adapter.tried[0]}," in each for each in requirements), requirements
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (installed,) = [line for line in makefile.splitlines() if line.startswith("FRAMEWORKS := ")]
    assert (adapter.extra in installed.split()) is adapter.in_ci


# ── the suite can fail ───────────────────────────────────────────────────────────────────────


class ScoredOnly(PlainTurns):
    """A loop whose gate refuses nothing."""

    def agent(self, setup: Setup) -> Loop:
        setup.options["setting"] = "baseline"
        return super().agent(setup)


class Forgetful(PlainTurns):
    """A loop that records nothing, shows the model no refusal, and says nothing of a stop."""

    async def turn(self, guard: Any, tools: Any, calls: Any, message: Any) -> list[Any]:
        shown = []
        for call, decision in zip(calls, guard.propose(calls), strict=True):
            result = "refused"
            if decision.allowed and call.tool in tools:
                try:
                    result = tools[call.tool](**call.args)
                except ValueError as error:
                    result = str(error)
                guard.record(decision, result)  # also if it failed
            shown.append({"role": "tool", "tool_call_id": call.id or "c", "content": result})
        return shown


class OneGuard(PlainTurns):
    """A loop with one guard for all runs."""

    def agent(self, setup: Setup) -> Loop:
        loop = super().agent(setup)
        shared = loop.guard()
        loop.guard = lambda: shared  # type: ignore[method-assign]  # that is the mistake
        return loop

    def run(self, agent: Loop, task: str) -> Seen:
        return super().run(agent, task)


MISTAKES: list[tuple[type[Driver], set[str]]] = [
    (
        ScoredOnly,
        {"refused", "hint", "together", "failed", "stop", "answer", "insist", "ask", "apart"}
        | {"helper", "race", "approval"},
    ),
    (Forgetful, {"hint", "failed", "stop", "answer", "insist", "cancelled", "transcript"}),
    (OneGuard, {"apart", "race"}),
]


@pytest.mark.parametrize(
    ("mistaken", "name"),
    [(driver, name) for driver, names in MISTAKES for name in sorted(names)],
)
def test_a_mistaken_adapter_fails(mistaken: type[Driver], name: str, tmp_path: Path) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever the mistake leads to
        SCENARIOS[name].check(mistaken(), tmp_path)
