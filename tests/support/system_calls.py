"""System calls that fail, stop half-way or are counted: faults where the log meets the system."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

CALLS: Final = ("stat", "write", "fdatasync", "ftruncate")
"""The system calls of the writing path, in the order of their use."""


@contextmanager
def intercepted(before: Callable[[str, tuple[Any, ...]], None]) -> Iterator[list[str]]:
    """Calls `before` at each system call of the writing path, with its name and arguments."""
    made: list[str] = []

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            made.append(name)
            before(name, arguments)
            return real(*arguments, **options)

        return call

    real_ones = {name: getattr(os, name) for name in CALLS}
    for name, real in real_ones.items():
        setattr(os, name, wrapped(name, real))
    try:
        yield made
    finally:
        for name, real in real_ones.items():
            setattr(os, name, real)
