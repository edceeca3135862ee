"""The metrics record, the paper's JSON for one run: reading and writing it.

    {"bylaw": 1, "tool_calls": [{"step": 0, "tool_name": "search",
     "arguments": {"q": "x"}, "tool_result": "…"}], "answer": "…", "num_steps": 7}

`bylaw` (the format version), `answer`, `answered` (its time), `messages`, `refusals` and `labels`
are optional; every other field is a metric. A call may also have `error`, `id`, `start` and `end`
(seconds since 1970), `agent` and `usage`; of these, a message may have `start`, `agent` and
`usage`. The field `before` of a message is the index in `tool_calls` of the next call. `refusals`
are the calls that a gate refused: they did not run. Each has the fields of a call, the `action`,
the `message` to the agent, the `decision`'s id, and `events_before`, the number of calls and
messages that precede it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from bylaw.errors import MAX_DIAGNOSTICS, Diagnostic, TraceError, closest, shown
from bylaw.frozen import frozen
from bylaw.trace.event import MISSING, ROLES, Call, Event, Message
from bylaw.trace.refusal import REFUSAL_ACTIONS, Refusal
from bylaw.trace.refusal_mark import refusal_of
from bylaw.values import LARGEST, Json, kind_of, problem

VERSION: Final = 1

OWN_FIELDS: Final = (
    *("bylaw", "tool_calls", "answer", "answered", "final_answer"),
    *("messages", "refusals", "labels"),
)
"""The fields of a record that are not metrics."""
_TIME: Final = "a number of seconds since 1970"
_Item = TypeVar("_Item")


@frozen
class Contents:
    """The contents of a record, field by field."""

    events: Sequence[Event]
    answer: str | None
    metrics: Mapping[str, Json]
    labels: Mapping[str, Json]
    refusals: Sequence[Refusal] = ()
    answered: float | None = None
    """The time of the answer."""


@frozen
class _CallField:
    """A field of a call in a record."""

    attribute: str
    expected: str
    fits: Callable[[Any], bool]
    null_is_absent: bool = True


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and problem(value) is None


def _is_time(value: object) -> bool:
    return _is_number(value) and abs(value) <= LARGEST  # type: ignore[arg-type]  # a number


_CALL_FIELDS: Final = {
    "tool_name": _CallField("tool", "a non-empty string", lambda v: _is_text(v) and v != "", False),
    "arguments": _CallField("args", "an object", lambda v: isinstance(v, Mapping)),
    "tool_result": _CallField("result", "a JSON value", lambda v: True, False),
    "step": _CallField("step", "a whole number, 0 or more", _is_whole),
    "error": _CallField("error", "a string", _is_text),
    "id": _CallField("id", "a string", _is_text),
    "start": _CallField("start", _TIME, _is_time),
    "end": _CallField("end", _TIME, _is_time),
    "agent": _CallField("agent", "a string", _is_text),
    "usage": _CallField("usage", "an object", lambda v: isinstance(v, Mapping)),
}
MESSAGE_DETAILS: Final = ("start", "agent", "usage")
"""The fields that messages have as calls do."""


_CALL_ADVICE: Final = {
    "arguments": 'Arguments have names: {"amount": 5}. A text is decoded first: json.loads(…).',
    "step": "Write it without quotes, or leave the steps out.",
}
"""Advice for fields of the wrong kind."""
_CALL_WORDS: Final = {
    **dict.fromkeys(("args", "params", "parameters", "kwargs"), "arguments"),
    **dict.fromkeys(("result", "output", "response"), "tool_result"),
}
"""Words for the fields of a call. Without its arguments, a call would pass for one without any."""


def read_record(record: object, *, checked: bool = False) -> Contents:
    """The contents of a record. Raises all its mistakes as one TraceError.

    `checked` promises that the record's values are JSON, because `read_json` returned it.
    """
    reader = _RecordReader(checked)
    contents = reader.record(record)
    if contents is None:
        raise TraceError(reader.problems)
    return contents


class _RecordReader:
    """Reads one record and collects its mistakes."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self.problems: list[Diagnostic] = []

    def complain(self, code: str, where: str, message: str, help: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, help, where=where))
        if len(self.problems) >= MAX_DIAGNOSTICS:
            raise TraceError(self.problems)

    def record(self, record: object) -> Contents | None:
        if not isinstance(record, Mapping):
            message = f"a trace record is an object, not {kind_of(record)}"
            encoded = isinstance(record, str) and record.lstrip().startswith(("{", "["))
            help = "A text is decoded first: json.loads(…)." if encoded else None
            self.complain("E301", "record", message, help)
            return None
        version = record.get("bylaw", VERSION)
        if type(version) is not int or version != VERSION:
            self.complain(
                "E307",
                "bylaw",
                f"unknown format version {shown(version)}",
                f"This release reads version {VERSION}: upgrade bylaw, or convert the record.",
            )
            return None
        if "tool_calls" not in record:
            self.missing(record, "tool_calls", "record")
            return None
        calls = self.items(record["tool_calls"], "tool_calls", self.call)
        messages = self.items(record.get("messages") or [], "messages", self.message)
        refusals = self.items(record.get("refusals") or [], "refusals", self.refusal)
        labels = record.get("labels") or {}
        if not isinstance(labels, Mapping):
            self.complain("E303", "labels", f"expected an object, found {kind_of(labels)}")
        metrics = {key: value for key, value in record.items() if key not in OWN_FIELDS}
        answer, answered = self.answer(record), record.get("answered")
        if answered is not None and not _is_time(answered):
            self.complain("E303", "answered", f"expected {_TIME}, found {kind_of(answered)}")
        for where, value in (("labels", labels), *metrics.items()):
            self.json(value, str(where))
        if self.problems:
            return None
        return Contents(_merged(calls, messages), answer, metrics, labels, refusals, answered)

    def missing(self, data: Mapping[str, Any], field: str, where: str) -> None:
        keys = [key for key in islice(data, 100) if isinstance(key, str)]
        close = closest(field, keys)
        help = f"Should '{close}' be '{field}'?" if close else None
        self.complain("E302", where, f"the field '{field}' is missing", help)

    def items(
        self, values: object, where: str, read: Callable[[Mapping[str, Any], str], _Item]
    ) -> list[_Item]:
        if not isinstance(values, list | tuple):
            message = f"expected a list, found {kind_of(values)}"
            self.complain("E303", where, message, "Put brackets around it: […].")
            return []
        items = []
        for index, value in enumerate(values):
            if isinstance(value, Mapping):
                items.append(read(value, f"{where}[{index}]"))
            else:
                help = f'Write {{"tool_name": "{value}"}}.' if isinstance(value, str) else None
                message = f"expected an object, found {kind_of(value)}"
                self.complain("E303", f"{where}[{index}]", message, help)
        return items

    def call(self, entry: Mapping[str, Any], where: str) -> Call:
        values: dict[str, Any] = {"tool": "?", **self.fields(entry, where, _CALL_FIELDS)}
        if "tool_name" not in entry:
            self.missing(entry, "tool_name", where)
        for name in _CALL_WORDS.keys() & entry.keys():
            if (meant := _CALL_WORDS[name]) not in entry:
                message = f"a call has no field '{name}', which would be passed over"
                self.complain("E302", f"{where}.{name}", message, f"This field is called {meant}.")
        self.json(values.get("args"), f"{where}.arguments")
        self.json(entry.get("tool_result"), f"{where}.tool_result")
        return Call(**values)

    def fields(
        self, entry: Mapping[str, Any], where: str, names: Collection[str]
    ) -> dict[str, Any]:
        """The values of an entry's fields, by attribute."""
        values: dict[str, Any] = {}
        for name, value in entry.items():
            field = _CALL_FIELDS.get(name) if name in names else None
            if field is None or (value is None and field.null_is_absent):
                continue
            if field.fits(value):
                values[field.attribute] = value
            else:
                message = f"expected {field.expected}, found {kind_of(value)}"
                self.complain("E303", f"{where}.{name}", message, _CALL_ADVICE.get(name))
        self.json(values.get("usage"), f"{where}.usage")
        return values

    def message(self, entry: Mapping[str, Any], where: str) -> tuple[int, Message]:
        role, text = entry.get("role"), entry.get("text")
        before, step = entry.get("before"), entry.get("step")
        if role not in ROLES:
            self.complain("E303", f"{where}.role", f"expected one of {', '.join(ROLES)}")
        if not isinstance(text, str):
            self.complain("E303", f"{where}.text", f"expected a string, found {kind_of(text)}")
        if not _is_whole(before):
            self.complain(
                "E303", f"{where}.before", "expected the index of the call that follows it"
            )
        if step is not None and not _is_whole(step):
            self.complain("E303", f"{where}.step", "expected a whole number, 0 or more")
        # Complaints are raised together, before anybody reads what is wrong.
        details = self.fields(entry, where, MESSAGE_DETAILS)
        message = Message(role, text, step, **details)  # type: ignore[arg-type]  # see above
        return before if _is_whole(before) else 0, message  # type: ignore[return-value]  # whole

    def refusal(self, entry: Mapping[str, Any], where: str) -> Refusal:
        action, message = entry.get("action"), entry.get("message", "")
        decision, place = entry.get("decision"), entry.get("events_before", 0)
        if action not in REFUSAL_ACTIONS:
            self.complain(
                "E303", f"{where}.action", f"expected one of {', '.join(REFUSAL_ACTIONS)}"
            )
        if not isinstance(message, str):
            self.complain("E303", f"{where}.message", "expected a string")
        if decision is not None and not isinstance(decision, str):
            self.complain("E303", f"{where}.decision", "expected a string")
        if not _is_whole(place):
            self.complain("E303", f"{where}.events_before", "expected a whole number, 0 or more")
        return Refusal(self.call(entry, where), action, message, decision, place)  # type: ignore[arg-type]  # as above

    def answer(self, record: Mapping[str, Any]) -> str | None:
        answer = record.get("answer", record.get("final_answer"))
        if answer is not None and not isinstance(answer, str):
            self.complain("E303", "answer", f"expected a string, found {kind_of(answer)}")
            return None
        return answer

    def json(self, value: object, where: str) -> None:
        if not self.checked and (reason := problem(value)):
            self.complain("E303", where, f"not a JSON value: {reason}")


def _merged(calls: Sequence[Call], messages: Iterable[tuple[int, Message]]) -> list[Event]:
    """Calls and messages in one order, each message before the call at its index."""
    before: dict[int, list[Event]] = {}
    for index, message in messages:
        before.setdefault(min(index, len(calls)), []).append(message)
    merged: list[Event] = []
    for index, call in enumerate(calls):
        merged += (*before.get(index, ()), call)
    return merged + before.get(len(calls), [])


def write_record(contents: Contents) -> dict[str, Json]:
    """The record of the contents; `read_record` reads it back."""
    calls: list[dict[str, Json]] = []
    messages: list[dict[str, Json]] = []
    for event in contents.events:
        if isinstance(event, Call):
            calls.append(_call_entry(event))
        else:
            entry = {"role": event.role, "text": event.text}
            messages.append(entry | {"before": len(calls), "step": event.step} | _details(event))
    record: dict[str, Json] = {"bylaw": VERSION, **contents.metrics, "tool_calls": calls}
    optional = {
        "answer": contents.answer,
        "answered": contents.answered,
        "messages": messages,
        "labels": dict(contents.labels),
    }
    record |= {key: value for key, value in optional.items() if value not in (None, [], {})}
    if contents.refusals or any(_looks_refused(event) for event in contents.events):
        record["refusals"] = [_refusal_entry(refusal) for refusal in contents.refusals]
    return record


def _details(message: Message) -> dict[str, Json]:
    found = ((name, getattr(message, name)) for name in MESSAGE_DETAILS)
    return {name: value for name, value in found if value is not None}


def _looks_refused(event: Event) -> bool:
    """Would a reader take this call, which ran, for a refused one if the record listed none?"""
    return isinstance(event, Call) and refusal_of(event) is not None


def _refusal_entry(refusal: Refusal) -> dict[str, Json]:
    about = {"action": refusal.action, "message": refusal.message, "decision": refusal.decision}
    return _call_entry(refusal.call) | about | {"events_before": refusal.events_before}


def _call_entry(call: Call) -> dict[str, Json]:
    entry: dict[str, Json] = {}
    for name, field in _CALL_FIELDS.items():
        value = getattr(call, field.attribute)
        if value is MISSING or (value is None and field.null_is_absent):
            continue
        entry[name] = dict(value) if name == "arguments" else value
    return entry
