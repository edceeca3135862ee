"""The executor: carries a procedure out and records the gold trace.

A template's `execute` makes its calls through an `Execution`, and says of each whether its
arguments follow from the prompt alone, and where it took one of two branches what the other
would have called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from bylaw.bench.tools import ToolValue, result_text, tool_result
from bylaw.values import Json

V = TypeVar("V", int, list[int])


@dataclass(frozen=True, slots=True)
class AlternativeCall:
    """The call that the other side of a branch would have made."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class GoldCall:
    """One call of the correct trajectory."""

    tool: str
    arguments: Mapping[str, Json]
    result: str
    """The JSON text that the tool returned."""
    given: bool
    """Do the arguments follow from the prompt alone: from its numbers, and by counting?"""
    instead: AlternativeCall | None = None

    def to_dict(self) -> dict[str, Json]:
        """The call as instances write it."""
        return {"tool_name": self.tool, "args": dict(self.arguments), "result": self.result}


@dataclass(slots=True)
class Execution:
    """A procedure while it is carried out with the tools of one run."""

    seed: int
    difficulty: int
    calls: list[GoldCall] = field(default_factory=list)
    taken: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """How often each side of a branch was taken; None is the side without a call."""
    iterations: Counter[str] = field(default_factory=Counter)
    """How often each loop was run through."""
    step: int = 0
    """Which step of the prompt is carried out, counted from 1; for templates that say so."""

    def call(
        self, tool: str, *, instead: AlternativeCall | None = None, **arguments: ToolValue
    ) -> int:
        """Makes a call whose arguments depend on results; its result, an integer."""
        return cast(int, self._call(tool, arguments, False, instead))

    def call_given(self, tool: str, **arguments: ToolValue) -> int:
        """Makes a call whose arguments follow from the prompt alone."""
        return cast(int, self._call(tool, arguments, True, None))

    def numbers(self, tool: str, *, given: bool, **arguments: ToolValue) -> list[int]:
        """Makes a call that returns a list."""
        return cast(list[int], self._call(tool, arguments, given, None))

    def let(self, name: str, value: V) -> V:
        """A value to begin with; `name` is what the prompt calls it."""
        return value

    def put(self, values: list[int], value: int) -> None:
        """Puts a value at the end of a list."""
        values.append(value)

    def each(self, name: str, values: Sequence[int], body: int | None = None) -> Iterator[int]:
        """The values of a loop that the present step speaks of, round by round.

        `body` is the step that a round begins with, where that is another one.
        """
        header = self.step
        for value in values:
            self.step = body or header
            yield value

    def answered(self, result: int, extras: Sequence[int]) -> int:
        """The answer: what the procedure came to, and what is added to it."""
        return sum(extras, result)

    def branch(self, taken: str, other: str | None) -> None:
        """Notes which of two tools a condition led to."""
        self.taken[taken, other] += 1

    def _call(
        self, tool: str, arguments: dict[str, Any], given: bool, instead: AlternativeCall | None
    ) -> ToolValue:
        value = tool_result(tool, self.seed, self.difficulty, arguments)
        self.calls.append(GoldCall(tool, arguments, result_text(tool, value), given, instead))
        if instead is not None:
            self.branch(tool, instead.tool)
        return value
