"""A trace format: one row of the table in `bylaw.trace.formats`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bylaw.errors import Diagnostic
from bylaw.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class NotedTrace:
    """A trace, with notes on oddities of the value that it was read from."""

    trace: Trace
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One way to record a run as a JSON value."""

    name: str
    shape: str
    """The fields that identify it, in a few words, for error messages."""
    detects: Callable[[object], bool]
    """Is the value in this format? Formats that come earlier in the table have first choice."""
    read: Callable[[Any, str | None], NotedTrace]
    """The trace in a JSON value, under a name; raises a TraceError."""
    several: Callable[[Any], Sequence[object]] | None = None
    """The runs in a value that may hold several, each as a value of its own."""
    list_field: str | None = None
    """The field in which a results file of this format lists its runs."""
    opens_session: Callable[[object], bool] | None = None
    """For files whose lines are together one run: can this value be on the first line?"""
