"""A text that a regular expression matches, for examples; or that there is none."""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias

from bylaw.regex.graph import Graph, GraphNode
from bylaw.regex.regex import compiled

_CANDIDATES: Final = "a1A .-_@/,:"
_WRITTEN: Final = r"\\U([0-9a-f]{8})"
_LONGEST: Final = 200
_End: TypeAlias = Literal["open", "newline", "closed"]
"""The characters that may follow: any, one newline after `$`, or none."""


def sample_of(pattern: str) -> str | None:
    """A short text that the expression matches, or None if none was found."""
    expression = compiled(pattern)
    text = None if expression is None else _shortest(expression.graph)
    if expression is None or text is None or len(text) > _LONGEST:
        return None
    # Other conditions than word boundaries were ignored so far.
    return text if expression.search(text) else None


def _shortest(graph: Graph) -> str | None:
    """The text along a shortest path. At a word boundary, a letter follows another character."""
    seen: set[tuple[GraphNode, bool, bool | None]] = set()
    pending: deque[tuple[GraphNode, str, bool | None]] = deque([(graph.start, "", None)])
    while pending:
        node, text, next_is_word = pending.popleft()
        in_word = _is_word(text[-1:])
        if (node, in_word, next_is_word) in seen:
            continue
        seen.add((node, in_word, next_is_word))
        if node is graph.accept:
            if not next_is_word:
                return text
        elif node.reads is None:
            look = node.looks[0] if node.looks is not None else None
            if look in ("boundary", "no boundary"):
                needed = in_word is (look == "no boundary")
                if next_is_word not in (None, needed):
                    continue
                next_is_word = needed
            pending.extendleft((each, text, next_is_word) for each in reversed(node.after))
        else:
            pending.extend(
                (node.after[0], text + character, None)
                for character in _characters(node.reads)
                if next_is_word in (None, _is_word(character))
            )
    return None


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _characters(reads: re.Pattern[str]) -> list[str]:
    """A character that the class contains, a plain one if possible; and one of the other kind."""
    written = (chr(int(found, 16)) for found in re.findall(_WRITTEN, reads.pattern))
    found = [each for each in (*written, *_CANDIDATES) if reads.match(each)]
    others = (each for each in found if _is_word(each) is not _is_word(found[0]))
    return [*found[:1], *islice(others, 1)]


def is_unmatchable(graph: Graph) -> bool:
    """Does no text match? Only what `^`, `$` and empty classes exclude is looked for."""
    pending: list[tuple[GraphNode, bool, _End]] = [(graph.start, False, "open")]
    seen = set(pending)
    while pending:
        node, has_read, end = pending.pop()
        if node is graph.accept:
            return False
        look = None if node.looks is None else node.looks[0]
        if look == "start" and has_read:
            continue
        if look == "end":
            end = "closed"
        elif look == "last line end" and end == "open":
            end = "newline"  # it may follow
        if node.reads is not None:
            if end == "closed" or not _reads_any(node.reads, "\n" if end == "newline" else None):
                continue
            has_read, end = True, "open" if end == "open" else "closed"
        for each in node.after:
            if (each, has_read, end) not in seen:
                seen.add((each, has_read, end))
                pending.append((each, has_read, end))
    return True


@lru_cache(maxsize=1024)
def _reads_any(reads: re.Pattern[str], only: str | None) -> bool:
    """Is there a character in the class, or this one?"""
    if only is not None:
        return reads.match(only) is not None
    return _characters(reads) != [] or any(map(reads.match, map(chr, range(0x110000))))
