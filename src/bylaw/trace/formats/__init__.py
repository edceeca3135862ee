"""The trace formats that are read, and how each is told from the others.

A format is one file and one row of `FORMATS`. The first row that detects a value reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.trace.formats import (
    agentdojo,
    anthropic_messages,
    claude_code,
    inspect_log,
    langchain_messages,
    openai_chat,
    openai_responses,
    otel_genai,
    smolagents_memory,
    tau2_bench,
    tau_bench,
)
from bylaw.trace.formats.claude_code import opens as opens_session
from bylaw.trace.formats.conversation import RAW_ARGUMENTS, Reading
from bylaw.trace.formats.otlp import traces_of
from bylaw.trace.trace import Trace
from bylaw.values import problem

__all__ = [
    "FORMATS",
    "LISTS",
    "RAW_ARGUMENTS",
    "Format",
    "Reading",
    "format_of",
    "opens_session",
    "read",
    "records_in",
]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to record a run as a JSON value."""

    name: str
    shape: str
    """What an object of this format has, or what a list of it holds, for people."""
    detects: Callable[[object], bool]
    read: Callable[[Any, str | None], Reading]
    """The trace of a JSON value, under a name; raises a TraceError."""
    several: Callable[[Any], Sequence[object]] | None = None
    """The runs in a value that may hold several, each as a value of its own."""


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping) and ("tool_calls" in value or "bylaw" in value)


def _read_record(value: object, name: str | None) -> Reading:
    return Reading(Trace.from_record(value, name=name, checked=True))


_RECORD: Final = Format("record", "tool_calls", _is_record, _read_record)
FORMATS: Final = (
    _RECORD,
    Format("τ-bench", "traj", tau_bench.detects, tau_bench.read),
    Format(
        "AgentDojo",
        "messages and suite_name",
        agentdojo.detects,
        agentdojo.read,
    ),
    Format(
        "τ²-bench",
        "messages and termination_reason",
        tau2_bench.detects,
        tau2_bench.read,
    ),
    Format(
        "Inspect",
        "messages and epoch",
        inspect_log.detects,
        inspect_log.read,
    ),
    Format(
        "OpenTelemetry",
        "resourceSpans",
        otel_genai.detects,
        otel_genai.read,
        traces_of,
    ),
    Format(
        "smolagents",
        "steps, or a list of them",
        smolagents_memory.detects,
        smolagents_memory.read,
    ),
    Format(
        "Claude Code",
        "a list of lines of a session",
        claude_code.detects,
        claude_code.read,
    ),
    Format(
        "LangChain",
        "messages with a type, or a list of them",
        langchain_messages.detects,
        langchain_messages.read,
    ),
    Format(
        "OpenAI Responses",
        "output, or a list of items",
        openai_responses.detects,
        openai_responses.read,
    ),
    Format(
        "Anthropic",
        "messages with blocks, or a list of them",
        anthropic_messages.detects,
        anthropic_messages.read,
    ),
    Format(
        "OpenAI chat",
        "messages, or a list of them",
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
        advice = _advice(value)
        raise TraceError(_helped(each, advice) for each in error.diagnostics) from None


_NEARLY: Final = {
    "choices": "This is a response of the OpenAI API, and a part of a run. Save the messages: "
    "those that were sent, then choices[0].message, with the results of its calls behind it.",
}
"""What to do with an object that is no trace, by a field that tells what it is."""


def _advice(value: object) -> str:
    """What to save instead, where that is known; else what could be read."""
    if isinstance(value, Mapping):
        for field, advice in _NEARLY.items():
            if field in value:
                return advice
    listed = "; ".join(f"{known.name} ({known.shape})" for known in FORMATS)
    return f"The formats read are: {listed}."


def _helped(diagnostic: Diagnostic, advice: str) -> Diagnostic:
    return replace(diagnostic, help=" ".join(filter(None, (diagnostic.help, advice))))


LISTS: Final = ("results", "simulations", "samples")
"""Where an object keeps a list of records."""


def records_in(document: object) -> Sequence[object] | None:
    """The records of a document that holds several; None if the document is one record.

    Several are a list of records, an object with such a list in `results`, `simulations` or
    `samples`, or spans of several traces. A list of messages, items or steps is one.
    """
    known = format_of(document)
    if isinstance(document, list):
        return None if known is not None else document
    if known is not None and known.several is not None:
        runs = known.several(document)
        return None if len(runs) == 1 else runs
    if not isinstance(document, dict) or known is not None:
        return None
    for listed in map(document.get, LISTS):
        if isinstance(listed, list) and (not listed or format_of(listed[0]) is not None):
            return listed
    return None
