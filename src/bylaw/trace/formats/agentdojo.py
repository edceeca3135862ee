"""AgentDojo runs: an object with `messages`, `suite_name` and `user_task_id`.

    {"suite_name": "banking", "user_task_id": "user_task_0", "utility": true, "security": true,
     "messages": [{"role": "user", "content": [{"type": "text", "content": "Pay the bill."}]},
      {"role": "assistant", "content": null, "tool_calls": [{"function": "pay", "args": {}}]},
      {"role": "tool", "content": [{"type": "text", "content": ""}], "error": "ValueError: …"}]}

A tool message's `error` is the call's error. The fields that identify the run, and its two
verdicts, are labels; `duration` is a metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace

_CALLS: Final = CallFields(("function",), ("args",))
_LABELS: Final = (
    *("suite_name", "user_task_id", "injection_task_id", "attack_type", "pipeline_name"),
    *("utility", "security"),
)
_METRICS: Final = ("duration",)


def _detects(value: object) -> bool:
    wanted = {"messages", "suite_name", "user_task_id"}
    return isinstance(value, Mapping) and wanted <= value.keys()


def _read(value: Any, name: str | None) -> NotedTrace:
    reader = ConversationReader(_CALLS)
    reader.read(value["messages"], "messages")
    return reader.trace(name, scalars(value, _LABELS), scalars(value, _METRICS))


AGENTDOJO: Final = Format("AgentDojo", "messages, suite_name", _detects, _read)
