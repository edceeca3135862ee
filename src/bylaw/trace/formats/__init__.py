"""The trace formats that are read, and how each is told from the others.

A format is one file and one row of `FORMATS`. The first row that detects a value reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.trace.formats import agentdojo, openai_chat, tau_bench
from bylaw.trace.formats.conversation import RAW_ARGUMENTS, Reading
from bylaw.trace.trace import Trace
from bylaw.values import problem

__all__ = ["FORMATS", "RAW_ARGUMENTS", "Format", "Reading", "format_of", "read", "records_in"]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to record a run as a JSON value."""

    name: str
    shape: str
    """What a value of this format looks like, for people."""
    detects: Callable[[object], bool]
    read: Callable[[Any, str | None], Reading]
    """The trace of a JSON value, under a name; raises a TraceError."""


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping) and ("tool_calls" in value or "bylaw" in value)


def _read_record(value: object, name: str | None) -> Reading:
    return Reading(Trace.from_record(value, name=name, checked=True))


_RECORD: Final = Format("record", "an object with tool_calls", _is_record, _read_record)
FORMATS: Final = (
    _RECORD,
    Format("τ-bench", "an object with traj", tau_bench.detects, tau_bench.read),
    Format(
        "AgentDojo",
        "an object with messages, suite_name and user_task_id",
        agentdojo.detects,
        agentdojo.read,
    ),
    Format(
        "OpenAI chat",
        "a list of messages, or an object with messages",
        openai_chat.detects,
        openai_chat.read,
    ),
)


def format_of(value: object) -> Format | None:
    """The format of a value, if it is a known one."""
    return next((known for known in FORMATS if known.detects(value)), None)


def read(value: object, *, name: str | None = None, checked: bool = False) -> Reading:
    """The trace that a value of any known format holds; all its mistakes at once as a TraceError.

    `checked` promises that the value was read by `read_json`, so that it is JSON.
    """
    if not checked and (reason := problem(value)):
        raise TraceError(Diagnostic("E303", f"not a JSON value: {reason}", where="record"))
    known = format_of(value)
    if known is not None:
        return known.read(value, name)
    try:
        return _RECORD.read(value, name)
    except TraceError as error:
        raise TraceError(map(_with_formats, error.diagnostics)) from None


def _with_formats(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic, with a list of what could be read."""
    listed = "; ".join(f"{known.name}, {known.shape}" for known in FORMATS)
    help = " ".join(filter(None, (diagnostic.help, f"The formats read are: {listed}.")))
    return replace(diagnostic, help=help)


def records_in(document: object) -> Sequence[object] | None:
    """The records of a document that holds several; None if the document is one record.

    Several are a list of records, or an object with such a list in `results`. A list of chat
    messages is one.
    """
    if isinstance(document, list):
        return None if openai_chat.is_conversation(document) else document
    if not isinstance(document, dict) or format_of(document) is not None:
        return None
    results = document.get("results")
    if isinstance(results, list) and (not results or format_of(results[0]) is not None):
        return results
    return None
