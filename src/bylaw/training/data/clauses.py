"""Clauses: the words of a prompt that describe a call, as `tool_b(i = v, j = 4), v = 7`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.values import Json

_CALL: Final = re.compile(r"(\w+)\(([^()]+)\)")
_ARGUMENT: Final = re.compile(r"(\w+) = (\[[^\]]*\]|\w+)")
_NAME: Final = re.compile(r"[a-z]\w*")
_OPEN: Final = "[...]"
"""A list that the rest of the sentence describes."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A call as a prompt words it, with names for arguments that are not known yet."""

    text: str
    tool: str
    worded: Mapping[str, str]
    """The text of each argument: a number, a name, or a list in brackets."""

    def fits(self, tool: str, arguments: Mapping[str, Json]) -> bool:
        """Can the clause describe this call?"""
        return tool == self.tool and all(
            str(arguments[name]) == worded
            for name, worded in self.worded.items()
            if worded.isdigit()
        )

    @property
    def literal(self) -> bool:
        """Are all arguments given as numbers?"""
        return all(worded.isdigit() for worded in self.worded.values())

    def with_values(self, arguments: Mapping[str, Json]) -> str:
        """The clause, followed by the values of its names."""
        known = [
            f"{name} = {value}"
            for argument, worded in self.worded.items()
            for name, value in _known(argument, worded, arguments[argument])
        ]
        return ", ".join([self.text, *dict.fromkeys(known)])


def clauses(sentence: str) -> Iterator[Clause]:
    """The calls in a sentence."""
    for found in _CALL.finditer(sentence):
        yield Clause(found[0], found[1], dict(_ARGUMENT.findall(found[2])))


def clause_of(
    tool: str, arguments: Mapping[str, Json], sentence: str, prompt: Sequence[str]
) -> Clause:
    """The clause for a call: one with its literal arguments, or else one of the sentence."""
    said = [each for each in clauses(sentence) if each.fits(tool, arguments)]
    named = [each for part in prompt for each in clauses(part)]
    literal = [each for each in named if each.literal and each.fits(tool, arguments)]
    return (literal or said)[0]


def _known(argument: str, worded: str, value: Json) -> Iterator[tuple[str, Json]]:
    """The names in an argument with their values; for `[...]`, the argument's own name."""
    if worded == _OPEN:
        yield argument, value
    else:
        yield from zip(
            _NAME.findall(worded), value if isinstance(value, list) else [value], strict=False
        )
