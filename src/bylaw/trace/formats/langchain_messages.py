"""LangChain messages, serialised in any of three ways: a list, or an object with `messages`.

    [{"type": "human", "data": {"content": "Refund order 7."}},
     {"type": "ai", "data": {"content": "", "tool_calls": [
      {"name": "refund", "args": {"order": 7}, "id": "c1"}]}},
     {"type": "tool", "data": {"content": "no", "tool_call_id": "c1", "status": "error"}}]

That is `messages_to_dict`. `dumps` writes a constructor for each message, with `lc`, `id` and
`kwargs`; `model_dump` and LangGraph's state have the fields next to the `type`. A tool message with
the status `error` is a failure. Calls that LangChain could not parse (`invalid_tool_calls`) follow
the others, with their arguments as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.errors import shown
from bylaw.trace.event import Call
from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace
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
_BOOKKEEPING: Final = ("remove",)  # the removed message is hidden from now on, but it was sent
_CLASSES: Final = ("MessageChunk", "Message")


class _MessageReader(ConversationReader):
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
        """The calls that LangChain could parse, then the others."""
        invalid = message.get("invalid_tool_calls") or ()
        found = super().calls(message, where)
        if not isinstance(invalid, list | tuple):
            invalid = ()
        return found + [
            self.call(entry, f"{where}.invalid_tool_calls[{index}]")
            for index, entry in enumerate(invalid)
        ]


def _opened(message: Mapping[str, Any], where: str) -> tuple[str, Mapping[str, Any], str]:
    """The kind of a message, its fields, and the path to them."""
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
    """The kind in a class name: `AIMessageChunk` is `ai`."""
    if not isinstance(kind, str):
        return ""
    for ending in _CLASSES:
        if kind.endswith(ending):
            return kind.removesuffix(ending).lower()
    return kind


def _detects(value: object) -> bool:
    messages = value.get("messages") if isinstance(value, Mapping) else value
    first = messages[0] if isinstance(messages, list | tuple) and messages else None
    if not isinstance(first, Mapping):
        return False
    if first.get("lc") == 1:
        return True
    kind, fields, _ = _opened(first, "")
    return (kind in _ROLES or kind == "chat") and "content" in fields and "role" not in first


def _read(value: Any, name: str | None) -> NotedTrace:
    around = value if isinstance(value, Mapping) else {}
    reader = _MessageReader()
    reader.read(around.get("messages", value), "messages")
    return reader.trace(name, scalars(around))


LANGCHAIN: Final = Format("LangChain", "messages with a type", _detects, _read)
