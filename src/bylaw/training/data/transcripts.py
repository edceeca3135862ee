"""Transcripts for a warm-up, by what they teach: the format, the procedure, or notes as well."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.bench.jobs import SYSTEM
from bylaw.trace.event import Call
from bylaw.training.data.example import Example, turns
from bylaw.training.data.notes import notes
from bylaw.values import Json

Teaching: TypeAlias = Literal["form", "procedure", "notes"]
"""`form` shows how calls and answers are written, without any procedure. `procedure` shows the gold
run of the example. `notes` adds a line of reasoning before each of its calls."""
TEACHINGS: Final[tuple[Teaching, ...]] = ("form", "procedure", "notes")

_FORM_CALLS: Final = (2, 6)
_LARGEST: Final = 99


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
        opening, rest = _form(example)
        return Transcript(opening, example.specs, rest)
    rest = list(_with_notes(example)) if teach == "notes" else example.transcript
    return Transcript(example.opening, example.specs, rest)


def _with_notes(example: Example) -> Iterator[ChatMessage]:
    texts = iter(notes(example))
    for message in example.transcript:
        own = message["role"] == "assistant"
        yield {**message, "content": next(texts)} if own else message


def _form(example: Example) -> tuple[Sequence[ChatMessage], Sequence[ChatMessage]]:
    """A conversation with the tools of an example, but without its procedure.

    The prompt asks for some number of arbitrary calls and states the answer. The calls and the
    answer are random, and depend on the example's name alone. Results are those of the tools.
    """
    rng = random.Random(f"form {example.name}")
    number, answer = rng.randint(*_FORM_CALLS), rng.randint(1, _LARGEST)
    prompt = f"Make {number} calls: any tools, with any arguments. Then answer {answer}."
    opening = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    *tools, _ = example.specs  # the last one answers
    calls = [_arbitrary(rng.choice(tools), rng) for _ in range(number)]
    functions = example.functions
    executed = [Call(each.tool, each.args, functions[each.tool](**each.args)) for each in calls]
    return opening, turns(executed, answer)


def _arbitrary(tool: ToolSpec, rng: random.Random) -> Call:
    schemas: Mapping[str, Any] = tool.parameters
    return Call(tool.name, {name: _value(schema, rng) for name, schema in schemas.items()})


def _value(schema: Mapping[str, Any], rng: random.Random) -> Json:
    if schema["type"] == "array":
        return [_value(schema["items"], rng) for _ in range(rng.randint(2, 4))]
    return rng.randint(1, _LARGEST)
