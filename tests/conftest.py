"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def examples() -> Path:
    """The folder of shipped examples."""
    return ROOT / "examples"
