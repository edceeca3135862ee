r"""Pydantic AI's messages: `result.all_messages_json()`, or an object with them in `messages`.

    [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Refund order 7."}]},
     {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "refund",
                                     "args": {"order": 7}, "tool_call_id": "c1"}]},
     {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "refund",
                                    "content": "done", "tool_call_id": "c1"}]},
     {"kind": "response", "parts": [{"part_kind": "text", "content": "OK."}]}]

A response is one turn. A result finds its call by the id. A call has failed if the `outcome` of its
result is `failed`, or if a retry of it is requested; a retry of anything else is a message of the
user, as the model reads it. `instructions` are a system message, unless they are those of the
request before. Thoughts, files and calls of tools that the provider runs are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.event import Role
from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.values import kind_of

_CALLS: Final = CallFields(("tool_name",), ("args",), "tool_call_id")
_KINDS: Final = ("request", "response")
_SPOKEN: Final[dict[str, Role]] = {"user-prompt": "user", "system-prompt": "system"}
_RETRIES: Final = ("retry-prompt", "retry-feedback")


class _MessagePartReader(ConversationReader):
    def __init__(self) -> None:
        super().__init__(_CALLS)
        self.instructions: object = None

    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping) or message.get("kind") not in _KINDS:
            self.complain(where, "expected a request or a response")
            return
        parts = self.parts(message.get("parts"), f"{where}.parts")
        if message["kind"] == "response":
            texts = [self.text(p.get("content"), f"{at}.content") for p, at in _of(parts, "text")]
            calls = [self.call(part, at) for part, at in _of(parts, "tool-call")]
            self.turn("\n".join(texts), calls)
            return
        told = message.get("instructions")
        if isinstance(told, str) and told != self.instructions:
            self.instructions = told
            self.said("system", told)
        for part, at in parts:
            self.part(part, at)

    def part(self, part: Mapping[str, Any], where: str) -> None:
        """Reads a part of a request: a message, or a result."""
        kind = part.get("part_kind")
        if isinstance(kind, str) and kind in _SPOKEN:
            self.said(_SPOKEN[kind], self.text(part.get("content"), f"{where}.content"))
        elif kind == "tool-return":
            failed = part.get("outcome") == "failed"
            self.returned({**part, "error": failed}, where)
        elif kind in _RETRIES and isinstance(part.get("tool_name"), str):
            self.returned({**part, "error": True}, where)
        elif kind in _RETRIES:
            self.said("user", self.text(part.get("content"), f"{where}.content"))

    def parts(self, listed: object, where: str) -> list[tuple[Mapping[str, Any], str]]:
        """The parts of a message, each with its place."""
        if not isinstance(listed, list | tuple):
            self.complain(where, f"expected a list, found {kind_of(listed)}")
            return []
        found = [(part, f"{where}[{number}]") for number, part in enumerate(listed)]
        for part, at in found:
            if not isinstance(part, Mapping):
                self.complain(at, f"expected a part, found {kind_of(part)}")
        return [(part, at) for part, at in found if isinstance(part, Mapping)]


def _of(
    parts: list[tuple[Mapping[str, Any], str]], kind: str
) -> list[tuple[Mapping[str, Any], str]]:
    return [(part, at) for part, at in parts if part.get("part_kind") == kind]


def _detects(value: object) -> bool:
    messages = value.get("messages") if isinstance(value, Mapping) else value
    first = messages[0] if isinstance(messages, list | tuple) and messages else None
    return isinstance(first, Mapping) and first.get("kind") in _KINDS and "parts" in first


def _read(value: Any, name: str | None) -> NotedTrace:
    around = value if isinstance(value, Mapping) else {}
    reader = _MessagePartReader()
    reader.read(around.get("messages", value), "messages")
    return reader.trace(name, scalars(around))


PYDANTIC_AI: Final = Format("Pydantic AI", "kind, parts", _detects, _read)
