"""Published results can be recomputed from the published runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_tables_figure_and_page_agree_with_the_runs() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "form_only.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (
        0,
        "all tables, the figure and the page agree with the runs\n",
        "",
    )
