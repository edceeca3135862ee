"""Reads a text once, in one direction, and follows all ways through a graph at the same time.

The nodes that can be reached are a set, and a character leads from one set to the next. Each set
is a dictionary from characters to sets that is filled when a character is met for the first time:
a deterministic automaton, built as far as it is used. Reading a character then takes one lookup.
The number of sets is limited; when there are too many, all are forgotten and built again, so that
a character never costs more than the size of the graph.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from bylaw.regex.graph import Graph, Look

Transitions: TypeAlias = dict[str | None, Any]
"""The sets that characters lead to; under the key None, the ReachedSet itself."""

FOUND: Final[Transitions] = {}
"""Some match has ended."""
DEAD: Final[Transitions] = {}
"""No match can end any more."""
EDGE: Final = ""
"""Stands for the start or the end of the text."""
FINAL_NEWLINE: Final = "\n\n"
"""Stands for a line break at the very end of the text, where `$` matches too."""
MAX_ENTRIES: Final = 20_000
"""The number of transitions that are kept."""

_WORD, _ASCII_WORD, _NEWLINE, _EDGE, _FINAL = 1, 2, 4, 8, 16
_IS_WORD: Final = re.compile(r"\w")
_IS_ASCII_WORD: Final = re.compile(r"\w", re.ASCII)
_RELEVANT: Final[dict[Look, int]] = {
    "start": _EDGE,
    "end": _EDGE,
    "line start": _EDGE | _NEWLINE,
    "line end": _EDGE | _NEWLINE,
    "last line end": _EDGE | _FINAL,
    "boundary": _WORD,
    "no boundary": _WORD,
}
"""The properties of a neighbouring character that a condition depends on."""


def _holds(look: tuple[Look, bool], before: int, after: int) -> bool:
    """Does the condition hold between characters with these properties?"""
    kind, ascii_only = look
    relevant = _RELEVANT[kind]
    if kind in ("start", "line start"):
        return bool(before & relevant)
    if kind in ("end", "line end", "last line end"):
        return bool(after & relevant)
    word = _ASCII_WORD if ascii_only else _WORD
    return bool((before ^ after) & word) is (kind == "boundary")


class ReachedSet:
    """The nodes that were reached by reading a character, and what is known of that character."""

    __slots__ = ("closed", "entered", "kind", "of_class")

    def __init__(self, entered: int, kind: int, closed: int) -> None:
        self.entered = entered
        """The nodes right after reading, one bit each."""
        self.kind = kind
        """The properties of the character that was read."""
        self.closed = closed
        """In a sweep from the end: the nodes from which a match can end, before the character."""
        self.of_class: dict[tuple[int, int], Transitions] = {}
        """The sets that classes of characters lead to."""


class Sweep:
    """The sets that are reached from the start of matches, or, `backwards`, from their ends."""

    def __init__(self, graph: Graph, *, backwards: bool = False) -> None:
        self._backwards: Final = backwards
        self._accept: Final = 1 << graph.accept.number
        origin = graph.accept if backwards else graph.start
        self._origin: Final = 1 << origin.number
        self._edges, self._jumps, self._readers = _edges(graph, backwards)
        self._has_jump = sum(1 << n for n, mask in enumerate(self._jumps) if mask)
        self._looks: Final = sorted({n.looks for n in graph.nodes if n.looks is not None})
        self._relevant: Final = _relevant(self._looks)
        self._closures: dict[int, list[int | None]] = {}
        self._classes: dict[str, tuple[int, int]] = {}
        self._tables: dict[tuple[int, int, int], Transitions] = {}
        self._entries = 0
        self.anchored: Final = not backwards and self._begins_at_start(graph)

    def begin(self) -> Transitions:
        """The set before any character was read."""
        return self._table(0, _EDGE & self._relevant, 0)

    def step(self, table: Transitions, symbol: str) -> Transitions:
        """The set that a character leads to, for the first time."""
        here: ReachedSet = table[None]
        readers, kind = known = self._class(symbol)
        after = here.of_class.get(known)
        if after is None:
            if self._entries > MAX_ENTRIES:  # the sets reached so far are not linked to new ones
                self._entries = 0
                self._tables.clear()
                self._classes.clear()
                return self._moved(here, readers, kind)
            after = here.of_class[known] = self._moved(here, readers, kind)
        self._entries += 1
        table[symbol] = after
        return after

    def _moved(self, here: ReachedSet, readers: int, kind: int) -> Transitions:
        around = (kind, here.kind) if self._backwards else (here.kind, kind)
        closed = self._closed(here.entered | self._origin, *around)
        if self._backwards:
            sources = closed & self._has_jump
        elif closed & self._accept:
            return FOUND
        else:
            sources = closed & readers
        entered = 0
        jumps = self._jumps
        while sources:
            low = sources & -sources
            entered |= jumps[low.bit_length() - 1]
            sources ^= low
        if self._backwards:
            return self._table(entered & readers, kind, closed)
        return DEAD if not entered and self.anchored else self._table(entered, kind, 0)

    def _table(self, entered: int, kind: int, closed: int) -> Transitions:
        key = (entered, kind, closed)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = {None: ReachedSet(*key)}
        return found

    def _class(self, symbol: str) -> tuple[int, int]:
        """The nodes that read a character, and its properties as far as they matter."""
        found = self._classes.get(symbol)
        if found is None:
            found = self._classes[symbol] = self._classified(symbol)
        return found

    def _classified(self, symbol: str) -> tuple[int, int]:
        if symbol == EDGE:
            return 0, _EDGE & self._relevant
        character = symbol[0]
        readers = sum(mask for reads, mask in self._readers if reads.match(character))
        kind = _NEWLINE if character == "\n" else 0
        kind |= _FINAL if symbol == FINAL_NEWLINE else 0
        kind |= _WORD if _IS_WORD.match(character) else 0
        kind |= _ASCII_WORD if _IS_ASCII_WORD.match(character) else 0
        return readers, kind & self._relevant

    def _closed(self, nodes: int, before: int, after: int) -> int:
        """The nodes that can be reached without reading, between two characters."""
        held = tuple(_holds(look, before, after) for look in self._looks)
        context = sum(1 << i for i, each in enumerate(held) if each)
        closures = self._closures.get(context)
        if closures is None:
            closures = self._closures[context] = [None] * len(self._edges)
        closed = 0
        while nodes:
            low = nodes & -nodes
            number = low.bit_length() - 1
            closure = closures[number]
            if closure is None:
                closure = closures[number] = self._closure(number, context)
            closed |= closure
            nodes &= ~closure
        return closed

    def _closure(self, number: int, context: int) -> int:
        found, pending = 1 << number, [number]
        while pending:
            for target, look in self._edges[pending.pop()]:
                if not found >> target & 1 and (look is None or context >> look & 1):
                    found |= 1 << target
                    pending.append(target)
        return found

    def _begins_at_start(self, graph: Graph) -> bool:
        """Can a match begin at the start of the text only?"""
        favourable = [i for i, (kind, _) in enumerate(self._looks) if kind != "start"]
        reached = self._closure(graph.start.number, sum(1 << i for i in favourable))
        reads = sum(mask for _, mask in self._readers)
        return not reached & (reads | self._accept)


_Edges: TypeAlias = list[list[tuple[int, int | None]]]
_Readers: TypeAlias = list[tuple[re.Pattern[str], int]]


def _edges(graph: Graph, backwards: bool) -> tuple[_Edges, list[int], _Readers]:
    """The edges that read nothing, those that read, and the nodes that read each class."""
    looks = sorted({n.looks for n in graph.nodes if n.looks is not None})
    edges: _Edges = [[] for _ in graph.nodes]
    jumps = [0] * len(graph.nodes)
    readers: dict[re.Pattern[str], int] = {}
    for node in graph.nodes:
        if node.reads is not None:
            readers[node.reads] = readers.get(node.reads, 0) | 1 << node.number
        for target in node.after:
            source, end = (target, node) if backwards else (node, target)
            if node.reads is not None:
                jumps[source.number] |= 1 << end.number
            else:
                look = None if node.looks is None else looks.index(node.looks)
                edges[source.number].append((end.number, look))
    return edges, jumps, list(readers.items())


def _relevant(looks: list[tuple[Look, bool]]) -> int:
    found = 0
    for kind, ascii_only in looks:
        bits = _RELEVANT[kind]
        found |= _ASCII_WORD if ascii_only and bits == _WORD else bits
    return found
