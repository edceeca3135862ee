"""Every kind of store, for suites that all of them pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import private_postgresql
import pytest

KINDS = ("memory", "sqlite", "postgresql")
SHARED = ("sqlite", "postgresql")
"""Those that several processes can share."""
NewAddress: TypeAlias = Callable[[str], str]


@pytest.fixture(scope="session")
def cluster() -> Iterator[private_postgresql.PrivateCluster]:
    yield from private_postgresql.cluster()


@pytest.fixture
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> NewAddress:
    """The address of an empty store of a kind."""

    def made(kind: str) -> str:
        if kind == "postgresql":
            found: private_postgresql.PrivateCluster = request.getfixturevalue("cluster")
            return found.database()
        return f"sqlite:{tmp_path / 'gate.db'}" if kind == "sqlite" else "memory"

    return made
