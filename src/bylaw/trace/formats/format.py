"""A trace format: one row of the table in `bylaw.trace.formats`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bylaw.errors import Diagnostic
from bylaw.trace.record import Contents
from bylaw.trace.refusal_mark import ends_the_run, set_aside
from bylaw.trace.trace import Trace, trace_with


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


def without_refused(contents: Contents, where: str, name: str | None) -> NotedTrace:
    """The trace of what ran, with the calls that a gate refused kept apart.

    They are recognised by the gate's mark, which a reader has to trust: a note says so.
    """
    events, refusals = set_aside(contents.events)
    if contents.answer is not None and ends_the_run(contents.answer):
        contents = replace(contents, answer=None, events=events)
    if not refusals:
        return NotedTrace(trace_with(contents, name))
    number = "1 call counts" if len(refusals) == 1 else f"{len(refusals)} calls count"
    note = Diagnostic(
        "W523",
        f"{number} as refused by a gate, because the result says so",
        "A tool can imitate a refusal. The gate's own report and log are certain.",
        where=where,
    )
    kept = replace(contents, events=events, refusals=(*contents.refusals, *refusals))
    return NotedTrace(trace_with(kept, name), (note,))
