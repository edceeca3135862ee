"""An entrance for one caller at a time: who comes while another one is inside is turned away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from bylaw.errors import Diagnostic, UsageError

_INSIDE: Final[ContextVar[object]] = ContextVar("inside", default=None)
"""The latest visit of this thread or task, or of the one that started it."""


class SingleEntrance:
    """Lets one call in at a time. A call that was let in may make another one."""

    def __init__(self) -> None:
        self._visits: Final[list[object]] = []
        """The visits under way, each made by the one before it."""
        self._lock: Final = threading.Lock()

    @contextmanager
    def entered(self, tool: str) -> Iterator[None]:
        """For the time of one call; an error while another one is inside."""
        visit = object()
        with self._lock:
            if self._visits and _INSIDE.get() is not self._visits[-1]:
                message = f"{tool} is called while another call of a wrapped tool runs"
                help = "Every call of a wrapped tool is a turn. Use `run_turn` for several at once."
                raise UsageError(Diagnostic("E413", message, help))
            self._visits.append(visit)
        outer = _INSIDE.set(visit)
        try:
            yield
        finally:
            _INSIDE.reset(outer)
            with self._lock:
                self._visits.remove(visit)
