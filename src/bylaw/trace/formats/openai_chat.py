r"""OpenAI chat messages: a list of them, or an object with `messages`.

    [{"role": "user", "content": "Refund order 7."},
     {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "refund", "arguments": "{\"order\": 7}"}}]},
     {"role": "tool", "tool_call_id": "c1", "content": "done"}]

The older `function_call`, answered by the role `function`, is read too. The strings, numbers and
booleans of an object around the messages are labels. The format has no flag for failed calls: a
procedure says how its tools report failure, for example `failed: text ~ /^Error/`. Tool messages
that carry `error`, `is_error` or `"status": "error"` nevertheless are failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace

CALLS: Final = CallFields(("function", "name"), ("function", "arguments"))


def _is_conversation(value: object) -> bool:
    """Is this a list of messages, not a list of records?"""
    if not isinstance(value, list | tuple) or not value:
        return False
    return isinstance(value[0], Mapping) and "role" in value[0]


def _detects(value: object) -> bool:
    return _is_conversation(value) or (isinstance(value, Mapping) and "messages" in value)


def _read(value: Any, name: str | None) -> NotedTrace:
    around = value if isinstance(value, Mapping) else {}
    reader = ConversationReader(CALLS)
    reader.read(around.get("messages", value), "messages")
    return reader.trace(name, scalars(around))


OPENAI_CHAT: Final = Format("OpenAI chat", "messages", _detects, _read)
