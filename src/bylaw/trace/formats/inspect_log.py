"""Inspect samples: an object with `messages`, `epoch` and `input`.

    {"id": 1, "epoch": 1, "input": "Refund order 7.", "target": "done", "messages": [
     {"role": "user", "content": "Refund order 7."},
     {"role": "assistant", "content": "", "tool_calls": [
      {"id": "c1", "function": "refund", "arguments": {"order": 7}}]},
     {"role": "tool", "tool_call_id": "c1", "function": "refund", "content": "",
      "error": {"type": "permission", "message": "not allowed"}}],
     "scores": {"match": {"value": "C"}}}

A tool message's `error` is the call's error. `id`, `epoch` and the values of the `scores` are
labels; `total_time` and `working_time` are metrics. Contents that the log stores once, as
attachments, are inserted where they are used. An approver that ends a sample leaves no tool
message: its explanation is taken from the approval among the sample's `events`.

A log has its samples in `samples`. It is read as JSON (`inspect log convert --to json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.details import start_of, time_of
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.values import Json

_CALLS: Final = CallFields(("function",), ("arguments",))
_LABELS: Final = ("id", "epoch")
_METRICS: Final = ("total_time", "working_time")
_ATTACHMENT: Final = "attachment://"


class _SampleReader(ConversationReader):
    def __init__(self, attachments: Mapping[str, Json], events: object) -> None:
        super().__init__(_CALLS)
        self.attachments = attachments
        self.events_of_sample = events if isinstance(events, list | tuple) else ()

    def end(self) -> None:
        answered = {message.get("tool_call_id") for message, _ in self.results}
        ended = {call.id for call in self.waiting.values()} - answered
        for index, event in enumerate(self.events_of_sample):
            if isinstance(event, Mapping) and event.get("decision") == "terminate":
                call, why = event.get("call"), self.attached(event.get("explanation"))
                id = call.get("id") if isinstance(call, Mapping) else None
                if isinstance(id, str) and id in ended and isinstance(why, str):
                    self.returned({"tool_call_id": id, "error": why}, f"events[{index}]")
        super().end()
        self.time_calls()

    def time_calls(self) -> None:
        """Gives calls the times of the tool events of the sample."""
        timed = {
            event.get("id"): event
            for event in self.events_of_sample
            if isinstance(event, Mapping) and event.get("event") == "tool"
        }
        for position, event in enumerate(self.events):
            if isinstance(event, Call) and event.id in timed:
                found = timed[event.id]
                start, end = start_of(found), time_of(found.get("completed"))
                self.events[position] = replace(event, start=start, end=end)

    def message(self, message: object, where: str) -> None:
        super().message(self.attached(message), where)

    def returned(self, result: Mapping[str, Any], where: str) -> None:
        error = result.get("error")
        if isinstance(error, Mapping) and isinstance(error.get("message"), str):
            result = {**result, "error": error["message"] or error.get("type", True)}
        super().returned(result, where)

    def attached(self, value: Any) -> Any:
        """The value with its attachments inserted."""
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            return self.attachments.get(value.removeprefix(_ATTACHMENT), value)
        if isinstance(value, Mapping):
            return {key: self.attached(found) for key, found in value.items()}
        if isinstance(value, list | tuple):
            return [self.attached(found) for found in value]
        return value


def _detects(value: object) -> bool:
    return isinstance(value, Mapping) and {"messages", "epoch", "input"} <= value.keys()


def _read(value: Any, name: str | None) -> NotedTrace:
    attachments, scores = value.get("attachments"), value.get("scores")
    attached = attachments if isinstance(attachments, Mapping) else {}
    reader = _SampleReader(attached, value.get("events"))
    reader.read(value["messages"], "messages")
    scored = scores if isinstance(scores, Mapping) else {}
    values = {key: s.get("value") for key, s in scored.items() if isinstance(s, Mapping)}
    return reader.trace(name, scalars(values) | scalars(value, _LABELS), scalars(value, _METRICS))


INSPECT: Final = Format("Inspect", "messages, epoch", _detects, _read, list_field="samples")
