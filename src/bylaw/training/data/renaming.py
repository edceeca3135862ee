"""Renames the tools of an example: in its prompt, tools, gold trace and rules."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bylaw.bench.gold import BranchCall, GoldCall
from bylaw.trace.event import Call
from bylaw.training.data.alias import Alias
from bylaw.training.data.alias_pools import POOLS
from bylaw.training.data.example import Example, rules_of
from bylaw.values import Json

_ARGUMENT: Final = re.compile(r"\w+(?= = )")


class Renaming:
    """A mapping from tools to aliases."""

    def __init__(self, tools: Sequence[Alias], aliases: Mapping[str, Alias]) -> None:
        self._new: Final = {tool.name: aliases.get(tool.tool, tool) for tool in tools}
        self._arguments: Final = {
            old.name: {old.arguments[key]: shown for key, shown in new.arguments.items()}
            for old, new in ((tool, self._new[tool.name]) for tool in tools)
        }
        names = "|".join(map(re.escape, self._new))
        self._mention: Final = re.compile(rf"\b({names})\b(?:\(([^()]*)\))?")

    @property
    def tools(self) -> tuple[Alias, ...]:
        """The tools under their new names."""
        return tuple(self._new.values())

    def name(self, tool: str) -> str:
        """The new name of a tool; unknown tools keep their names."""
        return self._new[tool].name if tool in self._new else tool

    def arguments(self, tool: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments of a call under their new names."""
        known = self._arguments.get(tool, {})
        return {known.get(key, key): value for key, value in arguments.items()}

    def text(self, text: str) -> str:
        """Renames the tools that a text mentions, as `tool_a` or as `tool_a(i = 5)`."""
        return self._mention.sub(self._mentioned, text)

    def _mentioned(self, found: re.Match[str]) -> str:
        tool, arguments = found.groups()
        if arguments is None:
            return self.name(tool)
        known = self._arguments[tool]
        renamed = _ARGUMENT.sub(lambda key: known.get(key[0], key[0]), arguments)
        return f"{self.name(tool)}({renamed})"

    def call(self, call: Call) -> Call:
        """Renames a call of a trace."""
        return replace(call, tool=self.name(call.tool), args=self.arguments(call.tool, call.args))

    def gold(self, call: GoldCall) -> GoldCall:
        """Renames a call of a gold trace, and the alternative call of a branch."""
        other = call.instead
        if other is not None:
            other = BranchCall(self.name(other.tool), self.arguments(other.tool, other.arguments))
        return replace(
            call,
            tool=self.name(call.tool),
            arguments=self.arguments(call.tool, call.arguments),
            instead=other,
        )


def renamed(example: Example, aliases: Mapping[str, Alias]) -> Example:
    """The example with other names for its tools and their arguments.

    `aliases` is keyed by the names of the benchmark; other tools keep their names.
    """
    renaming = Renaming(example.tools, aliases)
    gold = tuple(map(renaming.gold, example.gold))
    names = [tool.name for tool in renaming.tools]
    return replace(
        example,
        prompt=renaming.text(example.prompt),
        tools=renaming.tools,
        gold=gold,
        procedure=rules_of(gold, names, example.procedure.name),
    )


def rotated(tools: Sequence[str], rng: random.Random) -> Iterator[dict[str, Alias]]:
    """An endless stream of aliases for these tools; each pool is cycled through."""
    shuffled = {tool: rng.sample(POOLS[tool], len(POOLS[tool])) for tool in tools}
    number = 0
    while True:
        yield {tool: pool[number % len(pool)] for tool, pool in shuffled.items()}
        number += 1
