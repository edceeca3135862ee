"""Expressions that `re` may search, because its backtracking takes linear time.

An expression without unbounded repetition gives `re` only a few ways to try at each position.

An expression with repetition is safe in ASCII texts if two things hold. Wherever `re` has a choice,
the next character leaves at most one way that is long. And no character that can begin a match can
be read later in it: so attempts that begin at different positions never read the same text twice.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from itertools import combinations
from operator import or_
from typing import Final

from bylaw.regex.graph import Graph, GraphNode, ParsedRegex

MAX_TRIED: Final = 64
"""The most nodes that `re` may try at a position besides the long way."""
MAX_COMPARED: Final = 200
"""The number of nodes above which ways are not compared: that takes quadratic time."""


def means_the_same(read: ParsedRegex) -> bool:
    r"""Does `re` give the expression the same meaning in every version of Python?

    Before Python 3.14, `\B` did not match in the empty text; `(?a:…)` is ignored by some searches.
    """
    ascii_only = read.flags & re.ASCII
    return not any(
        (node.looks is not None and node.looks[0] == "no boundary")
        or (node.reads is not None and node.reads.flags & re.ASCII != ascii_only)
        for node in read.graph.nodes
    )


def tried_from(start: GraphNode, accept: GraphNode) -> int | None:
    """The number of nodes on all paths together; None if that is more than MAX_TRIED."""
    paths: dict[GraphNode, int] = {accept: 1}
    visits: dict[GraphNode, int] = {accept: 1}
    entered: set[GraphNode] = set()
    pending = [start]
    while pending:
        node = pending[-1]
        if node in visits:
            pending.pop()
        elif node not in entered:
            entered.add(node)
            unknown = [each for each in node.after if each not in visits]
            if any(each in entered for each in unknown):
                return None  # a loop: its nodes are entered before they are left
            pending += unknown
        else:
            paths[node] = sum(paths[each] for each in node.after)
            visits[node] = paths[node] + sum(visits[each] for each in node.after)
            if visits[node] > MAX_TRIED:
                return None
            pending.pop()
    return visits[start]


def longest_path(graph: Graph) -> int:
    """The number of characters in the longest match of an expression without loops."""
    lengths: dict[GraphNode, int] = {graph.accept: 0}
    pending = [graph.start]
    while pending:
        node = pending[-1]
        unknown = [each for each in node.after if each not in lengths]
        if unknown:
            pending += unknown
        else:
            pending.pop()
            rest = max((lengths[each] for each in node.after), default=0)
            lengths[node] = rest + (node.reads is not None)
    return lengths[graph.start]


def is_safe_in_ascii(graph: Graph) -> bool:
    """Does `re` search every ASCII text in linear time?"""
    if len(graph.nodes) > MAX_COMPARED:
        return False
    first = _readable(graph.start)
    if graph.accept in first:
        return False  # it matches the empty text, at every position
    begins = _characters(first)
    later = {node for each in graph.nodes if each.reads for node in _readable(each.after[0])}
    if begins & _characters(later):
        return False
    choices = (node.after for node in graph.nodes if len(node.after) > 1)
    return not any(
        _characters(_readable(one)) & _characters(_readable(other))
        and tried_from(one, graph.accept) is None
        and tried_from(other, graph.accept) is None
        for ways in choices
        for one, other in combinations(ways, 2)
    )


def _readable(start: GraphNode) -> set[GraphNode]:
    """The nodes that can read the next character, and the accepting one if it can be next."""
    found: set[GraphNode] = set()
    seen: set[GraphNode] = set()
    pending = [start]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.reads is not None or not node.after:
            found.add(node)
        else:
            pending += node.after
    return found


def _characters(nodes: set[GraphNode]) -> int:
    """The ASCII characters that these nodes read, a bit each."""
    return reduce(or_, (_ascii(node.reads) for node in nodes if node.reads is not None), 0)


@lru_cache(maxsize=4096)
def _ascii(kind: re.Pattern[str]) -> int:
    return sum(1 << point for point in range(128) if kind.match(chr(point)))
