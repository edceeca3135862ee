"""The demo runs as it is: agents work at a gate, and some of their calls are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="THE DEMO IS NOT TESTED: uvicorn is not installed")


def test_the_demo_runs_and_stops(examples: Path) -> None:
    command = [sys.executable, str(examples / "resident-gate" / "demo.py"), "--port", "0"]
    options = ["--seconds", "3", "--pause", "0.05", "--agents", "2"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=60, check=True
    )
    assert "/#token=" in done.stdout
    assert "The agents have stopped." in done.stdout
    assert done.stderr == ""
