"""Characters that every match of an expression contains.

Every match follows a path through the graph. If no path leads around a node, then each match reads
one of the characters of that node, so a text without any of them has no match.
"""

from __future__ import annotations

import re
from typing import Final

from bylaw.regex.graph import Graph, GraphNode

MAX_SEARCHED: Final = 200
"""The number of nodes above which a graph is not searched: that takes quadratic time."""
MAX_NEEDED: Final = 2
_COMMON: Final = " etaoinsrhldcum"
"""Characters that nearly every text contains, so that looking for them is no use."""


def needed_characters(graph: Graph) -> tuple[re.Pattern[str], ...]:
    """Some kinds of characters of which each match contains one; rare ones only."""
    if len(graph.nodes) > MAX_SEARCHED:
        return ()
    found: dict[str, re.Pattern[str]] = {}
    for node in graph.nodes:
        kind = node.reads
        if kind is None or any(kind.match(common) for common in _COMMON):
            continue
        if kind.pattern not in found and not _avoidable(graph, node):
            found[kind.pattern] = kind
            if len(found) == MAX_NEEDED:
                break
    return tuple(found.values())


def _avoidable(graph: Graph, avoided: GraphNode) -> bool:
    """Does a path lead from the start to the end around a node?"""
    seen = {avoided}
    pending = [graph.start]
    while pending:
        node = pending.pop()
        if node is graph.accept:
            return True
        if node not in seen:
            seen.add(node)
            pending += node.after
    return False
