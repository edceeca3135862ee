"""Settings and fixtures that all tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings
from random_cases import share

ROOT = Path(__file__).parent.parent

os.environ["BYLAW_TRACEBACK"] = "1"  # an exception that a command does not expect is shown

# The same examples on every run, and no deadline: a busy machine fails no test.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=share(100))
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Twelve thousand tests were collected: no collection of garbage need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def examples() -> Path:
    """The folder of shipped examples."""
    return ROOT / "examples"
