"""What a chat model is to everything else: many conversations in, one assistant turn each out.

Messages are kept in the chat form that nearly every model and server reads:

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
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Json]
    """The schema of each argument, by name. All are required."""

    def to_dict(self) -> dict[str, Json]:
        """The tool in the form that chat models read."""
        schema = {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.parameters),
        }
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {"type": "function", "function": function}


@dataclass(slots=True)
class Conversation:
    """One conversation with a model."""

    key: str
    """Which run it is; runs are told apart by it."""
    tools: Sequence[ToolSpec]
    messages: list[ChatMessage] = field(default_factory=list)
    seed: str = ""
    """What sampling depends on; equal for runs that are to be compared."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant turn."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    """The tool calls that could be read."""
    malformed: tuple[str, ...] = ()
    """What looks like a tool call and cannot be read, and why: one sentence each."""
    input_tokens: int = 0
    output_tokens: int = 0
    full: bool = False
    """Is the conversation too long for the model, so that there can be no turn?"""
    failure: str | None = None
    """Why there is no turn: the model could not be reached, or broke. It may be tried again."""

    def to_message(self) -> ChatMessage:
        """The turn as a message of the conversation."""
        message: ChatMessage = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [_written(call) for call in self.calls]
        return message


def _written(call: Call) -> Json:
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
        """How results call it: `kind:which`."""
        ...

    @property
    def about(self) -> dict[str, Json]:
        """What a reader of results must know: versions, settings, that it is simulated."""
        ...

    @property
    def width(self) -> int:
        """How many conversations it is best given at once."""
        ...

    @property
    def batched(self) -> bool:
        """Are conversations best given together? Otherwise each is given alone, from a thread."""
        ...

    def reply(self, conversations: Sequence[Conversation]) -> list[Reply]:
        """The next turn of each conversation, in their order. Does not change them."""
        ...
