"""Tools under other names. An alias computes the same as its tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bylaw.agents.protocol import ToolSpec
from bylaw.bench.tools import TOOLS, result_text, tool_result
from bylaw.values import Json

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Alias:
    """A tool of the benchmark under the name shown to an agent."""

    tool: str
    """The tool's own name."""
    name: str
    arguments: Mapping[str, str]
    """The new name of each argument."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is described to a model."""
        spec = TOOLS[self.tool].spec
        parameters = {self.arguments[key]: schema for key, schema in spec.parameters.items()}
        return ToolSpec(self.name, self._with_new_names(spec.description), parameters)

    def use(self, seed: int, difficulty: int, /, **arguments: Any) -> str:
        """Runs the tool and returns its result as JSON text. Errors use the alias's names."""
        if set(arguments) != set(self.arguments.values()):
            wanted = ", ".join(self.arguments.values())
            raise TypeError(
                f"{self.name} takes the arguments {wanted}; found {', '.join(arguments)}"
            )
        known = {key: arguments[shown] for key, shown in self.arguments.items()}
        try:
            return result_text(self.tool, tool_result(self.tool, seed, difficulty, known))
        except TypeError as error:
            raise TypeError(self._with_new_names(str(error))) from None

    def _with_new_names(self, text: str) -> str:
        words = {self.tool: self.name, **self.arguments}
        return _WORD.sub(lambda word: words.get(word[0], word[0]), text)

    def to_dict(self) -> dict[str, Json]:
        """The alias as JSON."""
        return {"tool": self.tool, "name": self.name, "arguments": dict(self.arguments)}


def unchanged(tool: str) -> Alias:
    """The tool under its own name."""
    return Alias(tool, tool, {key: key for key in TOOLS[tool].parameters})
