"""τ-bench results: an object with the messages in `traj`.

    {"task_id": 3, "trial": 0, "reward": 1.0, "info": {"source": "user"},
     "traj": [{"role": "user", "content": "Refund order 7."}, …]}

The messages are OpenAI chat messages. `task_id`, `trial`, `reward` and the strings, numbers and
booleans in `info` are labels. τ-bench's tools report failure as plain text, which is kept as the
result: a procedure for them says `failed: text ~ /^Error/`. Most conversations end with the user
and have no answer.

A file holds a list of results, or an object with the list in `results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bylaw.trace.formats.conversation import ConversationReader, scalars
from bylaw.trace.formats.format import Format, NotedTrace
from bylaw.trace.formats.openai_chat import CALLS

_LABELS: Final = ("task_id", "trial", "reward")


def _detects(value: object) -> bool:
    return isinstance(value, Mapping) and "traj" in value


def _read(value: Any, name: str | None) -> NotedTrace:
    reader = ConversationReader(CALLS)
    reader.read(value["traj"], "traj")
    return reader.trace(name, scalars(value.get("info")) | scalars(value, _LABELS))


TAU_BENCH: Final = Format("τ-bench", "traj", _detects, _read, list_field="results")
