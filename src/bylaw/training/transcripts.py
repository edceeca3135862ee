"""Transcripts to imitate in a warm-up, by what they teach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.training.example import Example
from bylaw.training.form import form
from bylaw.training.notes import notes

Teaching: TypeAlias = Literal["form", "procedure", "notes"]
"""`form` shows how calls and answers are written, without any procedure. `procedure` shows the gold
run of the example. `notes` adds a line of reasoning before each of its calls."""
TEACHINGS: Final[tuple[Teaching, ...]] = ("form", "procedure", "notes")


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation to imitate."""

    opening: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    rest: Sequence[ChatMessage]
    """Turns of the agent, each followed by the result of its call; the last one answers."""


def transcript(example: Example, teach: Teaching = "procedure") -> Transcript:
    """A transcript with the tools of an example."""
    if teach == "form":
        opening, rest = form(example)
        return Transcript(opening, example.specs, rest)
    rest = list(_noted(example)) if teach == "notes" else example.transcript
    return Transcript(example.opening, example.specs, rest)


def _noted(example: Example) -> Iterator[ChatMessage]:
    jotted = iter(notes(example))
    for message in example.transcript:
        said = message["role"] == "assistant"
        yield {**message, "content": next(jotted)} if said else message
