"""τ²-bench simulations: an object with `messages`, `task_id` and `termination_reason`.

    {"id": "…", "task_id": "7", "trial": 0, "termination_reason": "user_stop",
     "reward_info": {"reward": 1.0}, "messages": [
     {"role": "assistant", "content": null, "tool_calls": [
      {"id": "c1", "name": "refund", "arguments": {"order": 7}, "requestor": "assistant"}]},
     {"role": "tool", "id": "c1", "content": "Error: …", "error": true, "requestor": "assistant"}]}

A tool message's `id` is that of its call, and `error` says whether the call failed. In some domains
the user has tools, too. What the user does with them is not the agent's doing and is left out;
what the user says is kept. `reward`, `task_id`, `trial`, `seed` and `termination_reason` are
labels; `duration`, `agent_cost` and `user_cost` are metrics.

A file of results has the simulations in `simulations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import CallFields, Conversation, Reading
from bylaw.trace.formats.fields import scalars

_CALLS: Final = CallFields(("name",), ("arguments",))
_LABELS: Final = ("task_id", "trial", "seed", "termination_reason")
_METRICS: Final = ("duration", "agent_cost", "user_cost")


class _Simulation(Conversation):
    def message(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            super().message(message, where)
        elif isinstance(several := message.get("tool_messages"), list | tuple):
            self.take(several, f"{where}.tool_messages")
        elif message.get("role") == "tool":
            if message.get("requestor") != "user":
                self.returned({**message, "tool_call_id": message.get("id")}, where)
        elif message.get("role") != "user" or message.get("content") or not _acts(message):
            super().message(message, where)


def _acts(message: Mapping[str, Any]) -> bool:
    """Does the user do something here?"""
    return bool(message.get("tool_calls"))


def detects(value: object) -> bool:
    """Is this an object with `messages` that says how a task ended?"""
    wanted = {"messages", "task_id", "termination_reason"}
    return isinstance(value, Mapping) and wanted <= value.keys()


def read(value: Any, name: str | None = None) -> Reading:
    """The trace of one simulation."""
    conversation = _Simulation(_CALLS)
    conversation.read(value["messages"], "messages")
    labels = scalars(value, _LABELS) | scalars(value.get("reward_info"), ("reward",))
    return conversation.reading(name, labels, scalars(value, _METRICS))
