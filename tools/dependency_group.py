"""Prints the requirements of a dependency group of pyproject.toml, one a line.

pip reads groups itself from 25.1 on; this keeps older ones working.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def requirements(groups: dict[str, list[Any]], name: str) -> list[str]:
    """The requirements of a group and of the groups that it includes."""
    found: list[str] = []
    for entry in groups[name]:
        if isinstance(entry, str):
            found.append(entry)
        else:
            found += requirements(groups, entry["include-group"])
    return found


if __name__ == "__main__":
    groups = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["dependency-groups"]
    print("\n".join(requirements(groups, sys.argv[1])))
