"""The public namespace is what it says, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import bylaw


def test_every_public_name_resolves() -> None:
    for name in bylaw.__all__:
        assert getattr(bylaw, name).__module__.startswith("bylaw.")


def test_the_names_are_sorted_and_listed_once() -> None:
    assert list(bylaw.__all__) == sorted(bylaw.__all__)
    assert set(bylaw.__all__) == set(bylaw._HOMES)
    assert set(bylaw.__all__) <= set(dir(bylaw))


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("asyncio", "logging", "numpy", "ssl")
    code = f"from bylaw import Guard, Procedure; import sys; print({{*{heavy}}} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
