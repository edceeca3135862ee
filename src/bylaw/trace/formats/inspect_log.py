"""Inspect samples: an object with `messages`, `epoch` and `input`.

    {"id": 1, "epoch": 1, "input": "Refund order 7.", "target": "done", "messages": [
     {"role": "user", "content": "Refund order 7."},
     {"role": "assistant", "content": "", "tool_calls": [
      {"id": "c1", "function": "refund", "arguments": {"order": 7}}]},
     {"role": "tool", "tool_call_id": "c1", "function": "refund", "content": "",
      "error": {"type": "permission", "message": "not allowed"}}],
     "scores": {"match": {"value": "C"}}}

A tool message's `error` is the call's error. `id`, `epoch` and the values of the `scores` are
labels; `total_time` and `working_time` are metrics. Contents that the log keeps once, as
attachments, are put back where they belong.

A log has its samples in `samples`. It is read as JSON (`inspect log convert --to json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import scalars
from bylaw.values import Json

_CALLS: Final = CallFields(("function",), ("arguments",))
_LABELS: Final = ("id", "epoch")
_METRICS: Final = ("total_time", "working_time")
_ATTACHMENT: Final = "attachment://"


class _Sample(Conversation):
    def __init__(self, attachments: Mapping[str, Json]) -> None:
        super().__init__(_CALLS)
        self.attachments = attachments

    def message(self, message: object, where: str) -> None:
        super().message(self.attached(message), where)

    def returned(self, result: Mapping[str, Any], where: str) -> None:
        error = result.get("error")
        if isinstance(error, Mapping) and isinstance(error.get("message"), str):
            result = {**result, "error": error["message"] or error.get("type", True)}
        super().returned(result, where)

    def attached(self, value: Any) -> Any:
        """The value with its attachments."""
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            return self.attachments.get(value.removeprefix(_ATTACHMENT), value)
        if isinstance(value, Mapping):
            return {key: self.attached(found) for key, found in value.items()}
        if isinstance(value, list | tuple):
            return [self.attached(found) for found in value]
        return value


def detects(value: object) -> bool:
    """Is this an object with `messages`, `epoch` and `input`?"""
    return isinstance(value, Mapping) and {"messages", "epoch", "input"} <= value.keys()


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of one sample."""
    attachments = value.get("attachments")
    conversation = _Sample(attachments if isinstance(attachments, Mapping) else {})
    conversation.read(value["messages"], "messages")
    labels = scalars(_scores(value.get("scores"))) | scalars(value, _LABELS)
    return conversation.reading(name, labels, scalars(value, _METRICS))


def _scores(scores: object) -> dict[str, Json]:
    """The value of each score."""
    if not isinstance(scores, Mapping):
        return {}
    return {key: s.get("value") for key, s in scores.items() if isinstance(s, Mapping)}
