"""Templates: a procedural pattern with its parameters, its prompt and its execution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.bench.gold import Execution

Structure: TypeAlias = Literal["sequential", "fan-out", "nested loops", "multi-branch", "composite"]
Parameters: TypeAlias = Mapping[str, int]
"""The numbers of an instance: `seed`, `j`, and those that scale with difficulty."""

DIFFICULTIES: Final = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class PromptText:
    """The parts of a prompt."""

    procedure: Sequence[str]
    """The steps, without their numbers."""
    answer: str
    """A description of the answer that completes "where N is …"."""
    rules: Sequence[str] = ()
    """Rules in addition to those of every prompt."""


@dataclass(frozen=True, slots=True)
class Template:
    """A named procedural pattern that determines a procedure and its tools."""

    name: str
    structure: Structure
    failure: str
    """The failure that the template isolates."""
    tools: tuple[str, ...]
    scaling: Mapping[str, tuple[int, int, int, int, int]]
    """The parameters that scale with difficulty, and their values from D1 to D5."""
    text: Callable[[Parameters], PromptText]
    execute: Callable[[Execution, Parameters], int]
    """Carries out the procedure and returns the answer."""
    choices: tuple[str, ...]
    """Decisions on points that the paper leaves open."""
    shrinks: str | None = None
    """The parameter that is reduced if the trace would be too long."""

    def parameters(self, seed: int, difficulty: int) -> dict[str, int]:
        """The numbers of an instance."""
        scaled = {name: values[difficulty - 1] for name, values in self.scaling.items()}
        return {"seed": seed, "j": seed % 10 + 1} | scaled


_RULES: Final = (
    "Make one call at a time, and wait for its result before the next.",
    "Make the calls in the order of the procedure. Leave none out, repeat none, add none.",
    "Take every value from the result of a call; do not work results out yourself.",
)


def render_prompt(text: PromptText, tools: Sequence[str]) -> str:
    """The prompt that the agent reads. It states the numbers, never the difficulty."""
    steps = [f"{number}. {step}" for number, step in enumerate(text.procedure, 1)]
    offered = f"Use only these tools: {', '.join(tools)}, final_answer."
    rules = [f"- {rule}" for rule in (offered, *_RULES, *text.rules)]
    answer = f"Call final_answer(answer = N), where N is {text.answer}, an integer."
    return "\n".join(
        ["PROCEDURE", *steps, "", "RULES", *rules, "", "ANSWER FORMAT", answer],
    )
