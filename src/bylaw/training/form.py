"""Transcripts that show only how calls and answers are written: no procedure, and no notes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bylaw.agents.protocol import ChatMessage, ToolSpec
from bylaw.bench.jobs import SYSTEM
from bylaw.trace.event import Call
from bylaw.training.example import Example, turns
from bylaw.values import Json

_CALLS: Final = (2, 6)
_LARGEST: Final = 99


def form(example: Example) -> tuple[Sequence[ChatMessage], Sequence[ChatMessage]]:
    """A conversation with the tools of an example, but without its procedure.

    The prompt asks for some number of arbitrary calls and states the answer. The calls and the
    answer are random, and depend on the example's name alone. Results are those of the tools.
    """
    rng = random.Random(f"form {example.name}")
    number, answer = rng.randint(*_CALLS), rng.randint(1, _LARGEST)
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
