"""The distance between a trace and the gold trace: a weighted edit distance over calls.

An added call, a missing call and a different tool cost 1 each; the right tool with other arguments
costs one half. Arguments are compared as JSON.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeAlias

from bylaw.trace.event import Call
from bylaw.values import arguments_key

CallKey: TypeAlias = tuple[str, Hashable]
"""A call's identity: its tool and the key of its arguments."""

GAP: Final = 1.0
OTHER_TOOL: Final = 1.0
OTHER_ARGUMENTS: Final = 0.5


def distance(gold: Sequence[Call], made: Sequence[Call]) -> float:
    """The distance between two traces."""
    return between(keys(gold), keys(made))


def keys(calls: Iterable[Call]) -> list[CallKey]:
    """The keys of calls, computed once for a trace that is compared often."""
    return [(call.tool, arguments_key(call.args)) for call in calls]


def between(gold: Sequence[CallKey], made: Sequence[CallKey]) -> float:
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
