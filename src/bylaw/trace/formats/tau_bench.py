"""τ-bench results: an object with the messages in `traj`.

    {"task_id": 3, "trial": 0, "reward": 1.0, "info": {"source": "user"},
     "traj": [{"role": "user", "content": "Refund order 7."}, …]}

The messages are OpenAI chat messages. `task_id`, `trial`, `reward` and the strings, numbers and
booleans in `info` are labels. τ-bench's tools report failure as plain text, which is kept as the
result it is: a procedure for them says `failed: text ~ /^Error/`. A conversation mostly ends with
the user, and then there is no answer.

A file holds a list of results, or an object with the list in `results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import Conversation, Reading
from bylaw.trace.formats.fields import scalars
from bylaw.trace.formats.openai_chat import CALLS

_LABELS: Final = ("task_id", "trial", "reward")


def detects(value: object) -> bool:
    """Is this an object with `traj`?"""
    return isinstance(value, Mapping) and "traj" in value


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of one result."""
    conversation = Conversation(CALLS)
    conversation.read(value["traj"], "traj")
    labels = scalars(value.get("info")) | scalars(value, _LABELS)
    return conversation.reading(name, labels, {})
