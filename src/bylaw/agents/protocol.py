"""The interface of a chat model: many conversations in, one assistant turn each out.

Messages are in the chat format that nearly every model and server reads:

    {"role": "system" | "user", "content": text}
    {"role": "assistant", "content": text, "tool_calls": [{"id", "type": "function",
        "function": {"name", "arguments": JSON text}}]}
    {"role": "tool", "tool_call_id": id, "name": tool, "content": text}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from bylaw.trace.event import Call
from bylaw.values import Json

ChatMessage: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is described to a model."""

    name: str
    description: str
    parameters: dict[str, Json]
    """The schema of each argument, by name. All are required."""

    def to_dict(self) -> dict[str, Json]:
        """The tool in the OpenAI function format."""
        schema = {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.parameters),
        }
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}


@dataclass(slots=True)
class Chat:
    """One conversation with a model."""

    key: str
    """Identifies the run."""
    tools: Sequence[ToolSpec]
    messages: list[ChatMessage] = field(default_factory=list)
    seed: str = ""
    """The seed for sampling; equal for runs that are compared with each other."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant turn."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    """The well-formed tool calls."""
    malformed: tuple[str, ...] = ()
    """For each malformed attempt at a tool call, one sentence on why it cannot be parsed."""
    input_tokens: int = 0
    output_tokens: int = 0
    full: bool = False
    """Is the conversation too long for another turn?"""
    failure: str | None = None
    """The reason there is no turn: the model was unreachable or failed. The caller may retry."""

    def to_message(self) -> ChatMessage:
        """The turn as a message of the conversation."""
        message: ChatMessage = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [_to_dict(call) for call in self.calls]
        return message


def _to_dict(call: Call) -> Json:
    arguments = json.dumps(dict(call.args), ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.tool, "arguments": arguments},
    }


class ChatModel(Protocol):
    """A model that takes part in conversations."""

    @property
    def name(self) -> str:
        """Its name in results: `kind:which`."""
        ...

    @property
    def about(self) -> dict[str, Json]:
        """Facts for readers of results: versions, settings, `simulated`."""
        ...

    @property
    def width(self) -> int:
        """The best number of concurrent conversations."""
        ...

    @property
    def batched(self) -> bool:
        """Does one call of `reply` serve a batch? Otherwise each conversation gets a thread."""
        ...

    def reply(self, conversations: Sequence[Chat]) -> list[Reply]:
        """The next turn of each conversation, in order. Does not change the conversations."""
        ...
