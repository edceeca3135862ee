"""Settings and fixtures that all tests share."""

from __future__ import annotations

import gc
import os
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from random_cases import share

ROOT = Path(__file__).parent.parent

os.environ["BYLAW_TRACEBACK"] = "1"  # an exception that a command does not expect is shown

# The same examples on every run, and no deadline: a busy machine fails no test.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=share(100))
settings.load_profile("repeatable")


_finished = count(1)
_FREEZE_EVERY = 250


def pytest_collection_finish() -> None:
    """Twenty thousand tests were collected: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """Nor at the millions of objects that caches keep, which took it a fifth of the time."""
    if next(_finished) % _FREEZE_EVERY == 0:
        gc.freeze()


@pytest.fixture
def examples() -> Path:
    """The folder of shipped examples."""
    return ROOT / "examples"
