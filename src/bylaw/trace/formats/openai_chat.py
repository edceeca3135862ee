r"""OpenAI chat messages: a list of them, or an object with `messages`.

    [{"role": "user", "content": "Refund order 7."},
     {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "refund", "arguments": "{\"order\": 7}"}}]},
     {"role": "tool", "tool_call_id": "c1", "content": "done"}]

The older `function_call`, answered by the role `function`, is read too. Of an object around the
messages, strings, numbers and booleans are labels. The format has no flag for failed calls: a
procedure says how its tools report failure, for example `failed: text ~ /^Error/`. Tool messages
that carry `error`, `is_error` or `"status": "error"` all the same are failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import scalars

CALLS: Final = CallFields(("function", "name"), ("function", "arguments"))


def is_conversation(value: object) -> bool:
    """Is this a list of messages, and not a list of records?"""
    if not isinstance(value, list | tuple) or not value:
        return False
    return isinstance(value[0], Mapping) and "role" in value[0]


def detects(value: object) -> bool:
    """Is this a list of messages, or an object with `messages`?"""
    return is_conversation(value) or (isinstance(value, Mapping) and "messages" in value)


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of a conversation."""
    around = value if isinstance(value, Mapping) else {}
    conversation = Conversation(CALLS)
    conversation.read(around.get("messages", value), "messages")
    labels = {key: found for key, found in scalars(around).items() if key != "messages"}
    return conversation.reading(name, labels, {})
