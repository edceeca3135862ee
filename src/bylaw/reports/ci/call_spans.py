"""The calls of a trace in the JSON text that it was read from.

Formats write calls in different ways, and a reader does not keep their places. So whatever looks
like a call is collected in the order of the text. Only if tools and arguments are then exactly
those of the trace, call by call, are these their places; otherwise no place is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bylaw.errors import Span
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.document import Located
from bylaw.trace.event import Call
from bylaw.values import Json, decoded, equal

_TYPES: Final = frozenset({"tool_use", "function_call", "tool_call"})
_ARGUMENTS: Final = ("arguments", "args", "input")
_NOT_RUN: Final = "refusals"
"""The field of a record that holds calls which did not run."""


def call_spans(nodes: Sequence[Located], calls: Sequence[Call]) -> list[Span] | None:
    """The place of each call; one more place is that of the answer. None if they do not agree."""
    found = [each for node in nodes for each in _written_calls(node)]
    if len(found) not in (len(calls), len(calls) + 1):
        return None
    if len(found) > len(calls) and found[-1][0] != FINAL_ANSWER:
        return None
    for (tool, arguments, _), call in zip(found, calls, strict=False):
        if tool != call.tool or not equal(decoded(arguments) or {}, dict(call.args)):
            return None
    return [span for _, _, span in found]


def _written_calls(node: Located) -> Iterator[tuple[str, Json, Span]]:
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each.value, list):
            pending += reversed(each.value)
        elif isinstance(each.value, dict):
            if (call := _as_call(each.value)) is not None:
                yield *call, each.span
            else:
                inner = [value for key, value in each.value.items() if key != _NOT_RUN]
                pending += reversed(inner)


def _as_call(fields: Mapping[str, Located]) -> tuple[str, Json] | None:
    """The tool and the arguments of a mapping that looks like a call."""
    if "tool_name" in fields:
        return _named(fields, "tool_name")
    if "function" in fields and isinstance(fields["function"].value, dict):
        return _named(fields["function"].value, "name")
    kind = _text(fields, "kind")
    if kind == "decision" and _text(fields, "action") == "allow":
        return _named(fields, "tool")
    if _text(fields, "type") in _TYPES or ("args" in fields and kind is None):
        return _named(fields, "name")
    return None


def _named(fields: Mapping[str, Located], key: str) -> tuple[str, Json] | None:
    tool = _text(fields, key)
    if tool is None:
        return None
    given = next((fields[name].plain() for name in _ARGUMENTS if name in fields), None)
    return tool, given


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields[key].value if key in fields else None
    return value if isinstance(value, str) else None
