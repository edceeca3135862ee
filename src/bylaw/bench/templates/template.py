"""What a template is: a procedural pattern, its parameters, its prompt, and how it is executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bylaw.bench.gold import Execution

Structure: TypeAlias = Literal["sequential", "fan-out", "nested loops", "multi-branch", "composite"]
Parameters: TypeAlias = Mapping[str, int]
"""The numbers of an instance: `seed`, `j`, and what difficulty scales."""

DIFFICULTIES: Final = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt in its parts."""

    procedure: Sequence[str]
    """The steps, without their numbers."""
    answer: str
    """What the answer is, as the end of "where N is …"."""
    rules: Sequence[str] = ()
    """Rules beyond those that every prompt has."""


@dataclass(frozen=True, slots=True)
class Template:
    """A named procedural pattern that fixes a procedure and its tools."""

    name: str
    structure: Structure
    failure: str
    """The failure that it isolates."""
    tools: tuple[str, ...]
    scaling: Mapping[str, tuple[int, int, int, int, int]]
    """The parameters that difficulty scales: their values from D1 to D5."""
    text: Callable[[Parameters], PromptText]
    execute: Callable[[Execution, Parameters], int]
    """Carries the procedure out; the answer."""
    choices: tuple[str, ...]
    """What the paper leaves open and how it was settled."""
    shrinks: str | None = None
    """The parameter that is made smaller where the trace would be too long."""

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
    """The task as an agent reads it. It names numbers, never the difficulty."""
    steps = [f"{number}. {step}" for number, step in enumerate(text.procedure, 1)]
    offered = f"Use only these tools: {', '.join(tools)}, final_answer."
    rules = [f"- {rule}" for rule in (offered, *_RULES, *text.rules)]
    answer = f"Call final_answer(answer = N), where N is {text.answer}, an integer."
    return "\n".join(
        ["PROCEDURE", *steps, "", "RULES", *rules, "", "ANSWER FORMAT", answer],
    )
