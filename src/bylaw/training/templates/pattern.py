"""What a simplified template is: a short procedure over four tools, told as the benchmark does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from bylaw.bench.gold import BranchCall, Execution
from bylaw.bench.templates.template import PromptText

Parameters: TypeAlias = Mapping[str, int]
"""The numbers of one core: those that its prompt names."""

POOL: Final = ("tool_a", "tool_b", "tool_c", "tool_d")
"""The tools that every simplified example offers, whichever of them it uses."""
TRANSFORMS: Final = ("tool_a", "tool_c")
"""The tools that can perform a seed transform, and are interchangeable there."""
SEEDS: Final = range(1, 51)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template, with the tool that performs its seed transform."""

    name: str
    structure: str
    """The calls, as the paper sketches them."""
    ranges: Mapping[str, range]
    """What each parameter may be."""
    text: Callable[[Parameters], PromptText]
    """The task. Its steps refer to each other as #1, #2 and so on: others may come before them."""
    execute: Callable[[Execution, Parameters], int]
    """Carries the procedure out; the answer."""
    transform: str = "tool_a"
    calls: range = range(3, 8)
    """How many calls a core may make."""

    def drawn(self, rng: random.Random) -> dict[str, int]:
        """Parameters by chance, whatever they lead to."""
        return {name: rng.choice(values) for name, values in self.ranges.items()}


def b(i: int, j: int) -> BranchCall:
    """`tool_b(i, j)`, as one side of a branch."""
    return BranchCall("tool_b", {"i": i, "j": j})


def c(x: int) -> BranchCall:
    """`tool_c(x)`, as one side of a branch."""
    return BranchCall("tool_c", {"x": x})


def looped(p: Parameters, at: int, over: str, body: str) -> list[str]:
    """A loop around one call, `at` this step: a sentence, or a step that speaks of the next."""
    if apart(p):
        return [f"Do step #{at + 1} for {over}, in order.", body[0].upper() + body[1:]]
    return [f"For {over}, in order: {body}"]


def collected(at: int, over: str, body: str) -> list[str]:
    """A loop around one call whose results make a list, `at` this step."""
    return [
        f"Do steps #{at + 1} and #{at + 2} for {over}, in order.",
        body[0].upper() + body[1:],
        "Put the result into the list.",
    ]


def fan_in(numbers: str = "the list") -> str:
    """The step that hands these numbers over."""
    return f"Call tool_d(numbers = [...]) once, with {numbers}. Let y be its result."


def apart(p: Parameters) -> int:
    """By how many steps a loop is apart from its only call: 0, or 1 in every other core."""
    return p["seed"] % 2


def seeds(p: Parameters) -> list[int]:
    """The seeds of a fan-out: one call after another, counting from the first."""
    return [p["seed"] + k for k in range(p["k"])]
