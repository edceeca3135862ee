"""The source stays easy to follow: a refusal and a corpus pass through few files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("walk", ["refused", "corpus"])
def test_a_walk_passes_through_few_files(walk: str) -> None:
    pytest.importorskip("msgspec", reason="NOT TESTED: msgspec is not installed")
    command = [sys.executable, "benchmarks/walks.py", "--list", "--only", walk]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
