"""What a simplified template is: a short procedure over four tools, told in a few sentences."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bylaw.bench.gold import Alternative, Execution

Parameters: TypeAlias = Mapping[str, int]
"""The numbers of one core: those that its prompt names."""

POOL: Final = ("tool_a", "tool_b", "tool_c", "tool_d")
"""The tools that every simplified example offers, whichever of them it uses."""
TRANSFORMS: Final = ("tool_a", "tool_c")
"""The tools that can perform a seed transform, and are interchangeable there."""
SEEDS: Final = range(1, 51)


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt in its parts."""

    steps: Sequence[str]
    answer: str
    """What the answer is, as the end of "where N is …"."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template, with the tool that performs its seed transform."""

    name: str
    structure: str
    """The calls, as the paper sketches them."""
    ranges: Mapping[str, range]
    """What each parameter may be."""
    text: Callable[[Parameters], Text]
    execute: Callable[[Execution, Parameters], int]
    """Carries the procedure out; the answer."""
    transform: str = "tool_a"
    calls: range = range(3, 8)
    """How many calls a core may make."""

    def drawn(self, rng: random.Random) -> dict[str, int]:
        """Parameters by chance, whatever they lead to."""
        return {name: rng.choice(values) for name, values in self.ranges.items()}


def b(i: int, j: int) -> Alternative:
    """`tool_b(i, j)`, as one side of a branch."""
    return Alternative("tool_b", {"i": i, "j": j})


def c(x: int) -> Alternative:
    """`tool_c(x)`, as one side of a branch."""
    return Alternative("tool_c", {"x": x})


def branch(run: Execution, condition: bool, then: Alternative, otherwise: Alternative) -> int:
    """Makes the call that a condition leads to; its result."""
    taken, other = (then, otherwise) if condition else (otherwise, then)
    return run.call(taken.tool, instead=other, **taken.arguments)


def seeds(p: Parameters) -> list[int]:
    """The seeds of a fan-out: one call after another, counting from the first."""
    return [p["seed"] + k for k in range(p["k"])]


def enumerated(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
