"""Anthropic messages: a list of them, or an object with `messages` and perhaps `system`.

    {"system": "You work at the refund desk.", "messages": [
     {"role": "user", "content": "Refund order 7."},
     {"role": "assistant", "content": [{"type": "text", "text": "Let me look."},
      {"type": "tool_use", "id": "t1", "name": "lookup", "input": {"order": 7}}]},
     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true,
      "content": "no such order"}]}]}

Results come in messages of the user. Anything else in such a message is said by the user after
the results. A tool that runs on the server has its result in the assistant's own message. The
strings, numbers and booleans of an object around the messages are labels; `system` is a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.details import start_of
from bylaw.trace.formats.format import Format, NotedTrace

_CALLS: Final = CallFields(("name",), ("input",))


class BlockReader(ConversationReader):
    """Reads a conversation whose messages have content in blocks."""

    def __init__(self) -> None:
        super().__init__(_CALLS)

    def message(self, message: object, where: str) -> None:
        """Reads one message, with the calls and the results among its blocks."""
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(message, Mapping) and isinstance(content, list | tuple):
            placed = [(block, f"{where}.content[{i}]") for i, block in enumerate(content)]
            self.blocks(message, placed, where)
        else:
            super().message(message, where)

    def blocks(
        self, message: Mapping[str, Any], placed: Sequence[tuple[Any, str]], where: str
    ) -> None:
        """Reads a message that has these blocks, each with its place."""
        content = [block for block, _ in placed]
        results = [(block, at) for block, at in placed if _kind(block).endswith("tool_result")]
        if message.get("role") == "assistant":
            uses = [(block, at) for block, at in placed if _kind(block).endswith("tool_use")]
            calls = [self.call(block, at) for block, at in uses]
            self.turn(self.text(content, f"{where}.content"), calls)
        for block, at in results:
            written = {} if (time := start_of(message)) is None else {"timestamp": time}
            self.returned({**_result(block), **written}, at)
        if message.get("role") != "assistant" and (not results or len(results) < len(placed)):
            super().message({**message, "content": content}, where)


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    """A result as a tool message. Server tools report an error as an object."""
    content = block.get("content")
    failed = block.get("is_error") or _kind(content).endswith("_error")
    return {"tool_call_id": block.get("tool_use_id"), "content": content, "is_error": failed}


def _kind(block: object) -> str:
    """The type of a block, or an empty string."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _has_role(message: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(message, Mapping) and "role" in message


def _blocks(value: object) -> Iterator[object]:
    """All blocks of a list of messages."""
    for message in value if isinstance(value, list | tuple) else ():
        content = message.get("content") if _has_role(message) else None
        yield from content if isinstance(content, list | tuple) else ()


def _detects(value: object) -> bool:
    """Are there calls or results as blocks, or plain messages and a separate `system`?"""
    messages = value.get("messages") if isinstance(value, Mapping) else value
    if any(_kind(block).endswith(("tool_use", "tool_result")) for block in _blocks(messages)):
        return True
    if not isinstance(value, Mapping) or "system" not in value:
        return False
    return isinstance(messages, list | tuple) and all(map(_is_plain, messages))


def _is_plain(message: object) -> bool:
    """Can this be a message of a conversation with a separate system prompt?"""
    return (
        _has_role(message)
        and message["role"] in ("user", "assistant")
        and not message.get("tool_calls")
    )


def _read(value: Any, name: str | None) -> NotedTrace:
    around = value if isinstance(value, Mapping) else {}
    reader = BlockReader()
    if (system := around.get("system")) is not None:
        reader.said("system", reader.text(system, "system"))
    reader.read(around.get("messages", value), "messages")
    return reader.trace(name, {k: v for k, v in scalars(around).items() if k != "system"})


ANTHROPIC: Final = Format("Anthropic", "messages with blocks", _detects, _read)
