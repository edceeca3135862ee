"""For tests that need torch: skipped with a note without it, on one thread with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def torch_and(*libraries: str) -> Iterator[None]:
    """For the time of a fixture: torch and other libraries, on one thread."""
    torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")
    for library in libraries:
        pytest.importorskip(library, reason=f"NOT TESTED: {library} is not installed")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a tiny model is slower with more
    yield
    torch.set_num_threads(threads)
