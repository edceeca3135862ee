"""The demo of the coding agent ends as it says."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "coding" / "demo.py"


@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed")
def test_the_agent_commits_once_and_only_what_was_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runpy.run_path(str(DEMO))["play"](tmp_path) == ["add", "start"]
    shown = capsys.readouterr().out
    assert shown.count("refused: ") == 8
    assert shown.count("held back: ") == 1
    assert shown.count("a person is asked: ") == 1
    assert max(map(len, shown.splitlines()[1:])) <= 80
