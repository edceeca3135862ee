"""How far a trace is from the gold trace: a weighted edit distance over its calls.

To add a call or to leave one out costs 1, another tool costs 1, the right tool with other
arguments one half. Arguments compare as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.trace.event import Call
from bylaw.values import Json, canonical, identity

Key: TypeAlias = tuple[str, str]
"""A call by which others are told from it: the tool, and the arguments as one text."""

GAP: Final = 1.0
OTHER_TOOL: Final = 1.0
OTHER_ARGUMENTS: Final = 0.5

_FLOAT: Final = re.compile(r"\d[.e]")
"""The texts of equal values can differ only in numbers that have a point or an exponent."""


def distance(gold: Sequence[Call], made: Sequence[Call]) -> float:
    """The distance between two traces."""
    return between(keys(gold), keys(made))


def keys(calls: Iterable[Call]) -> list[Key]:
    """The keys of some calls; a trace that is compared often needs them only once."""
    return [(call.tool, arguments_key(call.args)) for call in calls]


def arguments_key(arguments: Mapping[str, Json]) -> str:
    """A text that two mappings of arguments share exactly when they are equal as JSON."""
    text = canonical(dict(arguments))
    return identity(dict(arguments)) if _FLOAT.search(text) else text


def between(gold: Sequence[Key], made: Sequence[Key]) -> float:
    """The distance between two traces by the keys of their calls."""
    row = [j * GAP for j in range(len(gold) + 1)]
    for i, call in enumerate(made, 1):
        tool = call[0]
        diagonal, left = row[0], i * GAP
        row[0] = left
        for j, wanted in enumerate(gold, 1):
            above = row[j]
            if call == wanted:
                best = diagonal
            elif tool == wanted[0]:
                best = diagonal + OTHER_ARGUMENTS
            else:
                best = diagonal + OTHER_TOOL
            if above + GAP < best:
                best = above + GAP
            if left + GAP < best:
                best = left + GAP
            diagonal, row[j], left = above, best, best
    return row[-1]
