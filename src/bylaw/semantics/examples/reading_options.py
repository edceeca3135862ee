"""The settings under which a formula reads traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bylaw.trace.trace import Events, Trace
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The settings under which a formula reads traces."""

    order: Order = "position"
    events: Events = "calls"
    vocabulary: Vocabulary = EMPTY
    marked: Callable[[Trace], Trace] | None = field(default=None, compare=False)
    """Marks the failed calls of a trace, if a procedure defines failure."""
    tools: tuple[str, ...] = field(default=(), compare=False)
    """The tools that a procedure lists; examples use their names where a rule has a glob."""

    run_functions: bool = field(default=False, compare=False)
    """May registered functions be run on generated traces?"""

    def seen(self, trace: Trace) -> Trace:
        """The trace as the formula sees it."""
        return trace if self.marked is None else self.marked(trace)


PLAIN: Final = ReadingOptions()
"""The settings of a formula without a procedure."""
