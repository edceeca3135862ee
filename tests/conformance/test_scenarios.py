"""Every adapter, sync and async, in every scenario. What it declares it cannot do must fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from declared import Declared, declared
from scenarios import SCENARIOS, Scenario

ADAPTERS = declared()


def _case(adapter: Declared, mode: str, scenario: Scenario) -> Any:
    marks: list[Any] = [pytest.mark.frameworks] if adapter.package else []
    if adapter.package and scenario.name == "race":
        marks.append(pytest.mark.slow)
    reason = adapter.why_not(scenario.name, mode)
    if reason is not None:
        # Strict: a limit that is gone must also go from the docs.
        marks.append(pytest.mark.xfail(reason=reason, strict=True, raises=Exception))
    return pytest.param(
        adapter, mode, scenario, marks=marks, id=f"{adapter.name}-{mode}-{scenario.name}"
    )


CASES = [
    _case(adapter, mode, scenario)
    for adapter in ADAPTERS
    for mode in adapter.modes
    for scenario in SCENARIOS.values()
]


@pytest.mark.parametrize(("adapter", "mode", "scenario"), CASES)
def test_the_adapter_keeps_the_promise(
    adapter: Declared, mode: str, scenario: Scenario, tmp_path: Path
) -> None:
    if not adapter.is_installed:
        pytest.skip(f"NOT TESTED: {adapter.package} is not installed")
    scenario.check(adapter.make(mode), tmp_path)
