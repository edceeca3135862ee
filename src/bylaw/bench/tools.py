"""The eight tools: pure integer arithmetic under meaningless names.

An agent passes only the arguments listed here; a run supplies its seed and difficulty. Results are
JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from bylaw.agents.protocol import ToolSpec
from bylaw.names import FINAL_ANSWER
from bylaw.values import Json

ParameterType: TypeAlias = Literal["integer", "integers"]
ToolValue: TypeAlias = int | list[int]

_SCHEMAS: Final[Mapping[ParameterType, Json]] = {
    "integer": {"type": "integer"},
    "integers": {"type": "array", "items": {"type": "integer"}},
}


@dataclass(frozen=True, slots=True)
class BenchTool:
    """A tool of the benchmark."""

    name: str
    parameters: Mapping[str, ParameterType]
    result: Literal["result", "numbers"]
    """The key under which the result is returned."""
    description: str
    formula: str
    """The result as a formula; `s` and `d` are the run's seed and difficulty."""
    compute: Callable[..., ToolValue]
    """A function of the seed, the difficulty and the arguments."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        schemas = {name: _SCHEMAS[kind] for name, kind in self.parameters.items()}
        return ToolSpec(self.name, self.description, schemas)


def _expand(seed: int, difficulty: int, node: int) -> list[int]:
    children = range(1, min(difficulty, 3) + 1)
    return [(node * seed + 7 * k + 3) % (20 * difficulty) + 1 for k in children]


def _a_list(seed: int, difficulty: int, s: int) -> list[int]:
    return [(s * k * 7 + 13) % 50 + 1 for k in range(1, difficulty + 3)]


TOOLS: Final = {
    tool.name: tool
    for tool in (
        BenchTool(
            "tool_a",
            {"i": "integer"},
            "result",
            "Returns an integer for i.",
            "(3i + 5) mod 7 + 1",
            lambda _s, _d, i: (3 * i + 5) % 7 + 1,
        ),
        BenchTool(
            "tool_b",
            {"i": "integer", "j": "integer"},
            "result",
            "Returns an integer for i and j.",
            "(i·j + 11) mod 100",
            lambda _s, _d, i, j: (i * j + 11) % 100,
        ),
        BenchTool(
            "tool_c",
            {"x": "integer"},
            "result",
            "Returns an integer for x.",
            "3x + 1",
            lambda _s, _d, x: 3 * x + 1,
        ),
        BenchTool(
            "tool_d",
            {"numbers": "integers"},
            "result",
            "Returns an integer for a list of integers.",
            "the sum of numbers",
            lambda _s, _d, numbers: sum(numbers),
        ),
        BenchTool(
            "tool_a_list",
            {"seed": "integer"},
            "numbers",
            "Returns a list of integers for a seed.",
            "((seed·k·7 + 13) mod 50) + 1 for k = 1 … d + 2",
            _a_list,
        ),
        BenchTool(
            "tool_iterations",
            {"seed": "integer"},
            "result",
            "Returns how many iterations to make for a seed.",
            "(seed mod 5) + d + 2",
            lambda _s, d, seed: seed % 5 + d + 2,
        ),
        BenchTool(
            "tool_expand",
            {"node": "integer"},
            "numbers",
            "Returns the children of a node.",
            "(node·s + 7k + 3) mod 20d + 1 for k = 1 … min(d, 3)",
            _expand,
        ),
        BenchTool(
            "tool_value",
            {"node": "integer"},
            "result",
            "Returns the value of a node.",
            "(13·node + 3) mod 50",
            lambda _s, _d, node: (13 * node + 3) % 50,
        ),
    )
}

ANSWER: Final = ToolSpec(
    FINAL_ANSWER, "Gives the final answer and ends the task.", {"answer": {"type": "integer"}}
)


def tool_result(name: str, seed: int, difficulty: int, arguments: Mapping[str, Any]) -> ToolValue:
    """The result of a tool in a run with this seed and difficulty."""
    tool = TOOLS[name]
    if set(arguments) != set(tool.parameters):
        wanted = ", ".join(tool.parameters)
        raise TypeError(f"{name} takes the arguments {wanted}; found {', '.join(arguments)}")
    for key, kind in tool.parameters.items():
        if not _TYPE_CHECKS[kind](arguments[key]):
            raise TypeError(f"{name}: {key} must be {_TYPE_NAMES[kind]}")
    return tool.compute(seed, difficulty, *(arguments[key] for key in tool.parameters))


_TYPE_NAMES: Final[Mapping[ParameterType, str]] = {
    "integer": "an integer",
    "integers": "a list of integers",
}
_TYPE_CHECKS: Final[Mapping[ParameterType, Callable[[object], bool]]] = {
    "integer": lambda value: type(value) is int,
    "integers": lambda value: isinstance(value, list) and all(type(n) is int for n in value),
}


def result_text(name: str, value: ToolValue) -> str:
    """A result as JSON text: `{"result": 11}`, `{"numbers": [8, 2, 46]}`."""
    return json.dumps({TOOLS[name].result: value})
