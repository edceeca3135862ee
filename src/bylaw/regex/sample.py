"""A text that a regular expression matches, for examples."""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from bylaw.regex.graph import Graph, GraphNode
from bylaw.regex.regex import compiled

_CANDIDATES: Final = "a1A .-_@/,:"
_WRITTEN: Final = r"\\U([0-9a-f]{8})"
_LONGEST: Final = 200


def sample_of(pattern: str) -> str | None:
    """A short text that the expression matches, or None if none was found."""
    expression = compiled(pattern)
    text = None if expression is None else _shortest(expression.graph)
    if expression is None or text is None or len(text) > _LONGEST:
        return None
    # Conditions such as `\b` were ignored so far.
    return text if expression.search(text) else None


def _shortest(graph: Graph) -> str | None:
    """The text along a shortest path."""
    texts: dict[GraphNode, str] = {}
    pending = deque([(graph.start, "")])
    while pending:
        node, text = pending.popleft()
        if node in texts:
            continue
        texts[node] = text
        if node is graph.accept:
            return text
        if node.reads is None:
            pending.extendleft((each, text) for each in reversed(node.after))
        elif character := _character(node.reads):
            pending.append((node.after[0], text + character))
    return None


def _character(reads: re.Pattern[str]) -> str | None:
    """A character that the class contains, a plain one if possible."""
    written = (chr(int(found, 16)) for found in re.findall(_WRITTEN, reads.pattern))
    return next((each for each in (*written, *_CANDIDATES) if reads.match(each)), None)
