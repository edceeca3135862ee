"""AgentDojo runs: an object with `messages`, `suite_name` and `user_task_id`.

    {"suite_name": "banking", "user_task_id": "user_task_0", "utility": true, "security": true,
     "messages": [{"role": "user", "content": [{"type": "text", "content": "Pay the bill."}]},
      {"role": "assistant", "content": null, "tool_calls": [{"function": "pay", "args": {}}]},
      {"role": "tool", "content": [{"type": "text", "content": ""}], "error": "ValueError: …"}]}

A tool message's `error` is the call's error. What names the run and its two verdicts are labels,
`duration` is a metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import scalars

_CALLS: Final = CallFields(("function",), ("args",))
_LABELS: Final = (
    "suite_name",
    "user_task_id",
    "injection_task_id",
    "attack_type",
    "pipeline_name",
    "utility",
    "security",
)
_METRICS: Final = ("duration",)


def detects(value: object) -> bool:
    """Is this an object with `messages` that names a task of a suite?"""
    wanted = {"messages", "suite_name", "user_task_id"}
    return isinstance(value, Mapping) and wanted <= value.keys()


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of one run."""
    conversation = Conversation(_CALLS)
    conversation.read(value["messages"], "messages")
    return conversation.reading(name, scalars(value, _LABELS), scalars(value, _METRICS))
