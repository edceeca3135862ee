"""Gold transcripts to imitate: what an agent that makes no mistakes says and does, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.training.example import Example
from bylaw.training.notes import notes


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation that went well."""

    opening: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    rest: Sequence[ChatMessage]
    """Turns of the agent, each followed by the result of its call; the last one answers."""


def transcript(example: Example, *, with_notes: bool = False) -> Transcript:
    """The gold transcript of an example, on request with a note of what leads to each call."""
    return Transcript(
        example.opening,
        example.specs,
        list(_noted(example)) if with_notes else example.transcript,
    )


def _noted(example: Example) -> Iterator[ChatMessage]:
    jotted = iter(notes(example))
    for message in example.transcript:
        said = message["role"] == "assistant"
        yield {**message, "content": next(jotted)} if said else message
