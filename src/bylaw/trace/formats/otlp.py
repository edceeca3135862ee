"""Spans in OTLP's JSON encoding: `spans` inside `scopeSpans` inside `resourceSpans`.

OTLP's attributes are a list of keys and typed values; here they are an object. A span has failed
if its status says so, or if it has the attribute `error.type`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bylaw.values import Json, JsonError, kind_of, read_json

OPERATION: Final = "gen_ai.operation.name"
"""The attribute that names the operation of a GenAI span."""

_FAILED: Final = (2, "STATUS_CODE_ERROR")
_GROUPS: Final = (("resourceSpans",), ("scopeSpans", "instrumentationLibrarySpans"), ("spans",))
_IDS: Final = ("traceId", "spanId", "parentSpanId")
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")

Complain: TypeAlias = Callable[[str, str], None]
"""Reports a mistake: its place and a message."""


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """One span, with its path in the document."""

    trace: str
    id: str
    parent: str
    start: int
    """In nanoseconds; 0 if it is not recorded."""
    end: int
    attributes: Mapping[str, Json]
    error: str | None
    where: str

    def structured(self, name: str) -> Json:
        """An attribute that is a structure, perhaps as JSON text; None if it is neither."""
        value = self.attributes.get(name)
        if not isinstance(value, str):
            return value
        try:
            return read_json(value)
        except JsonError:
            return None


def spans_of(document: Any, complain: Complain) -> list[OtlpSpan]:
    """All spans, ordered by their start."""
    found = [_span(entry, where, complain) for entry, where in _entries(document, complain)]
    return sorted((span for span in found if span is not None), key=lambda span: span.start)


def traces_of(document: Any) -> list[object]:
    """A document for each trace with GenAI operations. A malformed document is returned whole."""
    damage: list[str] = []

    def complain(where: str, message: str) -> None:
        damage.append(where)

    entries: dict[str, list[Mapping[str, Any]]] = {}
    with_operations: set[str] = set()
    for entry, where in _entries(document, complain):
        if (found := _span(entry, where, complain)) is not None:
            entries.setdefault(found.trace, []).append(entry)
            if OPERATION in found.attributes:
                with_operations.add(found.trace)
    if damage:
        return [document]
    return [
        {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
        for trace, spans in entries.items()
        if trace in with_operations
    ]


def _entries(document: Any, complain: Complain) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every encoded span, with its path."""
    level = [(document, "")]
    for names in _GROUPS:
        below = []
        for value, where in level:
            key = next((name for name in names if name in value), names[0])
            listed = value.get(key) or ()
            if not isinstance(listed, list | tuple):
                complain(f"{where}{key}", f"expected a list, found {kind_of(listed)}")
                continue
            for index, entry in enumerate(listed):
                at = f"{where}{key}[{index}]"
                if isinstance(entry, Mapping):
                    below.append((entry, f"{at}."))
                else:
                    complain(at, f"expected an object, found {kind_of(entry)}")
        level = below
    for value, where in level:
        yield value, where.removesuffix(".")


def _span(entry: Mapping[str, Any], where: str, complain: Complain) -> OtlpSpan | None:
    """A span decoded; None if it is malformed."""
    trace, id, parent = (entry.get(key) or "" for key in _IDS)
    for key, text in zip(_IDS, (trace, id, parent), strict=True):
        if not isinstance(text, str):
            complain(f"{where}.{key}", f"expected a string, found {kind_of(text)}")
            return None
    times: list[int] = []
    for key in ("startTimeUnixNano", "endTimeUnixNano"):
        try:
            times.append(int(entry.get(key) or 0))
        except (TypeError, ValueError, OverflowError):
            complain(f"{where}.{key}", "expected a number of nanoseconds")
            return None
    own = _attributes(entry.get("attributes"))
    events = [e for e in _listed(entry.get("events")) if isinstance(e, Mapping)]
    for event in events:  # long contents may be recorded as events
        own = {**_attributes(event.get("attributes")), **own}
    error = _error(entry.get("status"), own)
    return OtlpSpan(trace, id, parent, times[0], times[1], own, error, where)


def _error(status: object, found: Mapping[str, Json]) -> str | None:
    """The most specific description of the error; None if there was none."""
    stated = status if isinstance(status, Mapping) else {}
    if stated.get("code") not in _FAILED and "error.type" not in found:
        return None
    words = (stated.get("message"), found.get("exception.message"), found.get("error.type"))
    return next((text for text in words if isinstance(text, str) and text), "")


def _attributes(listed: object) -> dict[str, Json]:
    """Encoded attributes as an object."""
    found = {}
    for entry in _listed(listed):
        key = entry.get("key") if isinstance(entry, Mapping) else None
        if isinstance(key, str):
            found[key] = _value(entry.get("value"))
    return found


def _value(typed: object) -> Json:
    """A decoded value: 7 for `{"intValue": "7"}`."""
    if not isinstance(typed, Mapping) or not typed:
        return None
    kind, value = next(iter(typed.items()))
    inside = value.get("values") if isinstance(value, Mapping) else None
    if kind == "arrayValue":
        return [_value(item) for item in _listed(inside)]
    if kind == "kvlistValue":
        return _attributes(inside)
    if kind == "intValue" and isinstance(value, str):
        return int(value) if _INTEGER.fullmatch(value) else value
    return value


def _listed(value: object) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else ()
