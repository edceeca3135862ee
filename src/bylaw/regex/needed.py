"""Characters that every match of an expression contains.

Every match follows a path through the graph. If every path reads some number of characters of one
kind in a row, then a text without such a run has no match. The same holds for a word that stands
on every path.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bylaw.regex.graph import Graph, GraphNode

MAX_SEARCHED: Final = 200
"""The number of nodes above which a graph is not searched: that takes quadratic time."""
MAX_NEEDED: Final = 2
MAX_RUN: Final = 8
MIN_WORD: Final = 3
_ASCII: Final = [chr(point) for point in range(128)]
_COMMON: Final = " etaoinsrhldcum"
"""Characters that nearly every text contains, so that looking for them is no use."""


def needed_characters(graph: Graph) -> tuple[re.Pattern[str], ...]:
    """Some runs of characters of which each match contains one; of rare kinds only."""
    if len(graph.nodes) > MAX_SEARCHED:
        return ()
    found: dict[str, re.Pattern[str]] = {}
    for node in graph.nodes:
        kind = node.reads
        if kind is None or kind.pattern in found or any(map(kind.match, _COMMON)):
            continue
        length = 0
        while length < MAX_RUN and not _avoidable(graph, kind, length + 1):
            length += 1
        if length:
            found[kind.pattern] = re.compile(kind.pattern * length, kind.flags)
            if len(found) == MAX_NEEDED:
                break
    return tuple(found.values())


def _avoidable(graph: Graph, kind: re.Pattern[str], length: int) -> bool:
    """Does a path lead from the start to the end without so long a run of a kind?"""
    seen: set[tuple[GraphNode, int]] = set()
    pending = [(graph.start, 0)]
    while pending:
        node, run = pending.pop()
        if node is graph.accept:
            return True
        if node.reads is not None:
            run = run + 1 if node.reads is kind else 0
        if run < length and (node, run) not in seen:
            seen.add((node, run))
            pending += ((each, run) for each in node.after)
    return False


# ── words ─────────────────────────────────────────────────────────────────────────────────


class NeededWord(NamedTuple):
    """A word that every match in an ASCII text contains."""

    word: str
    ignores_case: bool

    def is_missing(self, text: str) -> bool:
        """Does an ASCII text lack the word?"""
        return self.word not in (text.lower() if self.ignores_case else text)


def needed_word(graph: Graph) -> NeededWord | None:
    """The longest such word; None if there is none of some length."""
    if len(graph.nodes) > MAX_SEARCHED:
        return None
    best: list[str] = []
    for node in graph.nodes:
        word = _word_from(node)
        if len(word) > max(len(best), MIN_WORD - 1) and not _avoidable_node(graph, node):
            best = word
    if not best:
        return None
    ignores_case = any(len(letter) > 1 for letter in best)
    written = "".join(letter[-1] for letter in best)
    return NeededWord(written.lower() if ignores_case else written, ignores_case)


def _word_from(node: GraphNode) -> list[str]:
    """The letters, in all their cases, that must be read from a node on, up to a choice."""
    word: list[str] = []
    passed: set[GraphNode] = set()
    while node not in passed and len(node.after) == 1:
        passed.add(node)
        if node.reads is not None:
            letter = "".join(filter(node.reads.match, _ASCII))
            if len({letter.lower() for letter in letter}) != 1:
                break
            word.append(letter)
        elif not word:
            break  # each word begins at a node that reads
        (node,) = node.after
    return word


def _avoidable_node(graph: Graph, avoided: GraphNode) -> bool:
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
