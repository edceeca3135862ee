"""τ²-bench simulations: an object with `messages`, `task_id` and `termination_reason`.

    {"id": "…", "task_id": "7", "trial": 0, "termination_reason": "user_stop",
     "reward_info": {"reward": 1.0}, "messages": [
     {"role": "assistant", "content": null, "tool_calls": [
      {"id": "c1", "name": "refund", "arguments": {"order": 7}, "requestor": "assistant"}]},
     {"role": "tool", "id": "c1", "content": "Error: …", "error": true, "requestor": "assistant"}]}

A tool message has the `id` of its call, and `error` says whether the call failed. In some domains
the user has tools too. The user's calls are not the agent's and are left out; the user's words are
kept. `reward`, `task_id`, `trial`, `seed` and `termination_reason` are labels; `duration`,
`agent_cost` and `user_cost` are metrics.

A results file has the simulations in `simulations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace

_CALLS: Final = CallFields(("name",), ("arguments",))
_LABELS: Final = ("task_id", "trial", "seed", "termination_reason")
_METRICS: Final = ("duration", "agent_cost", "user_cost")


class _SimulationReader(ConversationReader):
    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            super().message(message, where)
        elif isinstance(several := message.get("tool_messages"), list | tuple):
            self.take(several, f"{where}.tool_messages")
        elif message.get("role") == "tool":
            if message.get("requestor") != "user":
                self.returned({**message, "tool_call_id": message.get("id")}, where)
        elif (
            message.get("role") != "user" or message.get("content") or not message.get("tool_calls")
        ):
            super().message(message, where)


def _detects(value: object) -> bool:
    wanted = {"messages", "task_id", "termination_reason"}
    return isinstance(value, Mapping) and wanted <= value.keys()


def _read(value: Any, name: str | None) -> NotedTrace:
    reader = _SimulationReader(_CALLS)
    reader.read(value["messages"], "messages")
    labels = scalars(value, _LABELS) | scalars(value.get("reward_info"), ("reward",))
    return reader.trace(name, labels, scalars(value, _METRICS))


TAU2_BENCH: Final = Format(
    "τ²-bench", "messages, termination_reason", _detects, _read, list_field="simulations"
)
