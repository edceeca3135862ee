"""Settings and fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

os.environ["BYLAW_TRACEBACK"] = "1"  # an exception that a command does not expect is shown

# The same examples on every run, and no deadline: a busy machine fails no test.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture
def examples() -> Path:
    """The folder of shipped examples."""
    return ROOT / "examples"
