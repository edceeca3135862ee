"""Procedures that come with the package, for `bylaw init --from`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGED: Final = {
    "coding": "coding agents: tests, git, files, secrets, dependencies, shell commands",
}
"""The names of the procedures, and their subjects."""


def packaged_file(name: str) -> Path:
    """The file of a procedure that comes with the package."""
    return Path(__file__).parent / f"{name}.yaml"
