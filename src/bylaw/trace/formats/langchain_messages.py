"""LangChain messages, serialised in any of three ways: a list, or an object with `messages`.

    [{"type": "human", "data": {"content": "Refund order 7."}},
     {"type": "ai", "data": {"content": "", "tool_calls": [
      {"name": "refund", "args": {"order": 7}, "id": "c1"}]}},
     {"type": "tool", "data": {"content": "no", "tool_call_id": "c1", "status": "error"}}]

That is `messages_to_dict`. `dumps` writes a constructor for each, with `lc`, `id` and `kwargs`;
`model_dump` and LangGraph's state have the fields beside the `type`. A tool message with the
status `error` is a failure. Calls that LangChain could not parse (`invalid_tool_calls`) follow
the others, their arguments kept as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.errors import shown
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import scalars
from bylaw.values import kind_of

_CALLS: Final = CallFields(("name",), ("args",))
_ROLES: Final = {
    "system": "system",
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_BOOKKEEPING: Final = ("remove",)  # says that a message is no longer shown, not that it never was
_CLASSES: Final = ("MessageChunk", "Message")


class _Messages(Conversation):
    def __init__(self) -> None:
        super().__init__(_CALLS)

    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            self.complain(where, f"expected a message, found {kind_of(message)}")
            return
        kind, fields, at = _opened(message, where)
        if kind in _BOOKKEEPING:
            return
        role = fields.get("role") if kind == "chat" else _ROLES.get(kind)
        if not isinstance(role, str):
            help = f"The types are: {', '.join(_ROLES)}, chat."
            self.complain(f"{at}.type", f"unknown type {shown(kind)}", help)
            return
        super().message({**fields, "role": role}, at)

    def calls(self, message: Mapping[str, Any], where: str) -> list[Call]:
        """The calls that were understood, then the others."""
        invalid = message.get("invalid_tool_calls") or ()
        found = super().calls(message, where)
        if not isinstance(invalid, list | tuple):
            invalid = ()
        return found + [
            self.call(entry, f"{where}.invalid_tool_calls[{index}]")
            for index, entry in enumerate(invalid)
        ]


def _opened(message: Mapping[str, Any], where: str) -> tuple[str, Mapping[str, Any], str]:
    """What kind of message this is, its fields, and where they stand."""
    kind = message.get("type")
    for key in ("data", "kwargs"):
        fields = message.get(key)
        if isinstance(fields, Mapping):
            named = message.get("id")
            if key == "kwargs" and isinstance(named, list | tuple) and named:
                kind = fields.get("type", named[-1])
            return _short(kind), fields, f"{where}.{key}"
    return _short(kind), message, where


def _short(kind: object) -> str:
    """`AIMessageChunk` is an `ai`."""
    if not isinstance(kind, str):
        return ""
    for ending in _CLASSES:
        if kind.endswith(ending):
            return kind.removesuffix(ending).lower()
    return kind


def detects(value: object) -> bool:
    """Is the first message one of LangChain's?"""
    messages = value.get("messages") if isinstance(value, Mapping) else value
    first = messages[0] if isinstance(messages, list | tuple) and messages else None
    if not isinstance(first, Mapping):
        return False
    if first.get("lc") == 1:
        return True
    kind, fields, _ = _opened(first, "")
    return (kind in _ROLES or kind == "chat") and "content" in fields and "role" not in first


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of a conversation."""
    around = value if isinstance(value, Mapping) else {}
    conversation = _Messages()
    conversation.read(around.get("messages", value), "messages")
    return conversation.reading(name, scalars(around), {})
