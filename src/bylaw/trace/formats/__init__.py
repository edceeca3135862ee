"""The trace formats, and detection of the format of a value.

A format is one file and one row of `FORMATS`. The first row that detects a value reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.trace.formats.agentdojo import AGENTDOJO
from bylaw.trace.formats.anthropic_messages import ANTHROPIC
from bylaw.trace.formats.claude_code import CLAUDE_CODE
from bylaw.trace.formats.format import Format, NotedTrace, without_refused
from bylaw.trace.formats.gate_log import GATE_LOG
from bylaw.trace.formats.inspect_log import INSPECT
from bylaw.trace.formats.langchain_messages import LANGCHAIN
from bylaw.trace.formats.openai_chat import OPENAI_CHAT
from bylaw.trace.formats.openai_responses import OPENAI_RESPONSES
from bylaw.trace.formats.otel_genai import OPENTELEMETRY
from bylaw.trace.formats.pydantic_ai_messages import PYDANTIC_AI
from bylaw.trace.formats.smolagents_memory import SMOLAGENTS
from bylaw.trace.formats.tau2_bench import TAU2_BENCH
from bylaw.trace.formats.tau_bench import TAU_BENCH
from bylaw.trace.record import read_record
from bylaw.trace.trace import trace_with
from bylaw.values import problem


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping) and ("tool_calls" in value or "bylaw" in value)


def _read_record(value: object, name: str | None) -> NotedTrace:
    contents = read_record(value, checked=True)
    if isinstance(value, Mapping) and "refusals" in value:  # its calls are those that ran
        return NotedTrace(trace_with(contents, name))
    return without_refused(contents, "tool_calls", name)


RECORD: Final = Format("record", "tool_calls", _is_record, _read_record)
FORMATS: Final = (
    RECORD,
    GATE_LOG,
    TAU_BENCH,
    AGENTDOJO,
    TAU2_BENCH,
    INSPECT,
    OPENTELEMETRY,
    SMOLAGENTS,
    CLAUDE_CODE,
    LANGCHAIN,
    PYDANTIC_AI,
    OPENAI_RESPONSES,
    ANTHROPIC,
    OPENAI_CHAT,
)
LIST_FIELDS: Final = tuple(known.list_field for known in FORMATS if known.list_field)
"""The fields in which an object may list records."""


def format_of(value: object) -> Format | None:
    """The format of a value, or None if no format detects it."""
    return next((known for known in FORMATS if known.detects(value)), None)


def read(value: object, *, name: str | None = None, checked: bool = False) -> NotedTrace:
    """The trace in a value of any known format. Raises all its mistakes as one TraceError.

    `checked` promises that the value is JSON, because `read_json` returned it.
    """
    if not checked and (reason := problem(value)):
        raise TraceError(Diagnostic("E303", f"not a JSON value: {reason}", where="record"))
    known = format_of(value)
    if known is not None:
        return known.read(value, name)
    if isinstance(value, Mapping) and not _PROCEDURE_FIELDS.isdisjoint(value):
        message = "this is a procedure, not a trace: it has constraints"
        help = "A procedure is named with -p: bylaw verify -p PROCEDURE TRACE."
        raise TraceError(Diagnostic("E301", message, help, where="record"))
    try:
        return RECORD.read(value, name)
    except TraceError as error:
        raise TraceError(_helped(each, value) for each in error.diagnostics) from None


_PROCEDURE_FIELDS: Final = frozenset({"constraints", "rules"})
_CALL_FIELDS: Final = frozenset({"tool", "tool_name", "name", "function"})
_ONE_CALL: Final = (
    'If this is one call, a run is a list of them: {"tool_calls": [{"tool_name": "search", '
    '"arguments": {}}]}.'
)
_PARTIAL: Final = (
    "This is a response of the OpenAI API, which is only part of a run. Save all messages: those "
    "sent, then choices[0].message, then the results of its calls."
)


def _helped(diagnostic: Diagnostic, value: object) -> Diagnostic:
    """The diagnostic with the data to save instead, or with the formats that are read."""
    listed = "; ".join(f"{known.name} ({known.shape})" for known in FORMATS)
    partial = isinstance(value, Mapping) and "choices" in value
    advice = _PARTIAL if partial else f"The formats read are: {listed}."
    if isinstance(value, Mapping) and not _CALL_FIELDS.isdisjoint(value):
        advice = _ONE_CALL
    return replace(diagnostic, help=" ".join(filter(None, (diagnostic.help, advice))))


def records_in(document: object) -> Sequence[object] | None:
    """The records in a document that holds several; None if the document is a single record.

    Several records are a list of them, an object with such a list in one of `LIST_FIELDS`, or the
    spans of several traces. A list of messages, items or steps is a single record.
    """
    known = format_of(document)
    if isinstance(document, list):
        return None if known is not None else document
    if known is not None and known.several is not None:
        runs = known.several(document)
        return None if len(runs) == 1 else runs
    if not isinstance(document, dict) or known is not None:
        return None
    for listed in map(document.get, LIST_FIELDS):
        if isinstance(listed, list) and (not listed or format_of(listed[0]) is not None):
            return listed
    return None
