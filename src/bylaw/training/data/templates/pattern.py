"""Simplified templates: short procedures over four tools, worded as in the benchmark."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import Parameters, PromptText

POOL: Final = ("tool_a", "tool_b", "tool_c", "tool_d")
"""The tools of every simplified example, including those that it does not use."""
TRANSFORMS: Final = ("tool_a", "tool_c")
"""The interchangeable tools for a seed transform."""
SEEDS: Final = range(1, 51)


@dataclass(frozen=True, slots=True)
class TaskPattern:
    """A template with the tool for its seed transform."""

    name: str
    structure: str
    """The calls, as the paper sketches them."""
    ranges: Mapping[str, range]
    """The possible values of each parameter."""
    text: Callable[[Parameters], PromptText]
    """The task. Its steps refer to each other as #1, #2, …, as a prefix may shift their numbers."""
    execute: Callable[[Execution, Parameters], int]
    """Executes the procedure and returns the answer."""
    transform: str = "tool_a"
    calls: range = range(3, 8)
    """The possible numbers of calls of a core."""

    def sample_parameters(self, rng: random.Random) -> dict[str, int]:
        """Random parameters, usable or not."""
        return {name: rng.choice(values) for name, values in self.ranges.items()}


def b(i: int, j: int) -> BranchCall:
    """`tool_b(i, j)`, as one side of a branch."""
    return BranchCall("tool_b", {"i": i, "j": j})


def c(x: int) -> BranchCall:
    """`tool_c(x)`, as one side of a branch."""
    return BranchCall("tool_c", {"x": x})


def looped(p: Parameters, at: int, over: str, body: str) -> list[str]:
    """A loop over one call at step `at`: one sentence, or a step that refers to the next."""
    if apart(p):
        return [f"Do step #{at + 1} for {over}, in order.", body[0].upper() + body[1:]]
    return [f"For {over}, in order: {body}"]


def collected(at: int, over: str, body: str) -> list[str]:
    """A loop at step `at` over one call, whose results are collected in a list."""
    return [
        f"Do steps #{at + 1} and #{at + 2} for {over}, in order.",
        body[0].upper() + body[1:],
        "Put the result into the list.",
    ]


def fan_in(numbers: str = "the list") -> str:
    """The step that aggregates these numbers."""
    return f"Call tool_d(numbers = [...]) once, with {numbers}. Let y be its result."


def apart(p: Parameters) -> int:
    """1 if a loop and its call are separate steps, as in every other core, else 0."""
    return p["seed"] % 2


def seeds(p: Parameters) -> list[int]:
    """The consecutive seeds of a fan-out."""
    return [p["seed"] + k for k in range(p["k"])]
