"""The executor: carries out a procedure and records the gold trace.

A template's `execute` makes its calls through an `Execution`. It states for each call whether the
arguments follow from the prompt alone and, at a branch, which call the other side would have made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

from bylaw.bench.tools import ToolValue, result_text, tool_result
from bylaw.values import Json

V = TypeVar("V", int, list[int])


@dataclass(frozen=True, slots=True)
class BranchCall:
    """The call on one side of a branch."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class GoldCall:
    """One call of a gold trace."""

    tool: str
    arguments: Mapping[str, Json]
    result: str
    """The JSON text returned by the tool."""
    given: bool
    """True if the arguments follow from the prompt alone: from its numbers, and by counting."""
    instead: BranchCall | None = None

    def to_dict(self) -> dict[str, Json]:
        """The call as JSON."""
        return {"tool_name": self.tool, "args": dict(self.arguments), "result": self.result}


@dataclass(slots=True)
class Execution:
    """A procedure being carried out with the tools of one run."""

    seed: int
    difficulty: int
    calls: list[GoldCall] = field(default_factory=list)
    taken: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """The number of times each side of a branch was taken; None is a side without a call."""
    iterations: Counter[str] = field(default_factory=Counter)
    """The number of iterations of each loop."""
    step: int = 0
    """The current step of the prompt, counted from 1, in templates that track it."""

    def at(self, step: int) -> Self:
        """Moves on to a step of the prompt."""
        self.step = step
        return self

    def call(self, tool: str, *, instead: BranchCall | None = None, **arguments: ToolValue) -> int:
        """Makes a call whose arguments depend on results, and returns an integer."""
        return cast(int, self._call(tool, arguments, False, instead))

    def call_given(self, tool: str, **arguments: ToolValue) -> int:
        """Makes a call whose arguments follow from the prompt alone."""
        return cast(int, self._call(tool, arguments, True, None))

    def numbers(self, tool: str, *, given: bool, **arguments: ToolValue) -> list[int]:
        """Makes a call that returns a list."""
        return cast(list[int], self._call(tool, arguments, given, None))

    def let(self, name: str, value: V) -> V:
        """An initial value; `name` is its name in the prompt."""
        return value

    def put(self, values: list[int], value: int) -> None:
        """Appends a value to a list."""
        values.append(value)

    def each(self, name: str, values: Sequence[int], body: int | None = None) -> Iterator[int]:
        """The values of the loop that the current step describes, one per iteration.

        `body` is the first step of an iteration, if it is not the current one.
        """
        header = self.step
        for value in values:
            self.step = body or header
            yield value

    def answered(self, result: int, extras: Sequence[int]) -> int:
        """The answer: the result of the procedure plus the extras."""
        return sum(extras, result)

    def choose(self, condition: bool, then: BranchCall, otherwise: BranchCall) -> int:
        """Makes the call on one side of a branch, and returns an integer."""
        taken, other = (then, otherwise) if condition else (otherwise, then)
        return self.call(taken.tool, instead=other, **taken.arguments)

    def branch(self, taken: str, other: str | None) -> None:
        """Records which of two tools a condition selected."""
        self.taken[taken, other] += 1

    def _call(
        self, tool: str, arguments: dict[str, Any], given: bool, instead: BranchCall | None
    ) -> ToolValue:
        value = tool_result(tool, self.seed, self.difficulty, arguments)
        self.calls.append(GoldCall(tool, arguments, result_text(tool, value), given, instead))
        if instead is not None:
            self.branch(tool, instead.tool)
        return value
