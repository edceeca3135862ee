"""A regular expression as a graph of nodes: what may be read, in order of preference.

Python's own parser reads the expression, so that it means the same. A path from the start to the
accepting node spells a text that matches; where Python prefers one way to match over another, the
edges of the graph are in that order. No cycle can be followed without reading a character: an
iteration that reads nothing ends its loop, as it does in Python.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from bylaw.regex.linear import RegexError, check_linear, codes, inside, too_large

parser: Any = import_module("re._parser")  # `re` has no public parser

MAX_NODES: Final = 5_000
"""Expressions with more nodes are rejected: a repetition counts as often as it may repeat."""

Look: TypeAlias = Literal[
    "start", "line start", "end", "line end", "last line end", "boundary", "no boundary"
]
"""A condition on the characters around a position."""


class GraphNode:
    """A node, and the nodes after it in order of preference.

    At most one of `reads`, `looks` and `saves` is given; such a node has one successor.
    """

    __slots__ = ("after", "looks", "number", "reads", "saves")

    def __init__(
        self,
        *after: GraphNode,
        reads: re.Pattern[str] | None = None,
        looks: tuple[Look, bool] | None = None,
        saves: int | None = None,
    ) -> None:
        self.after = after
        self.reads = reads
        """The characters: it reads one of them."""
        self.looks = looks
        """A condition that must hold here; true if only ASCII letters make words."""
        self.saves = saves
        """The mark that is set here; group `n` has the marks `2n - 2` and `2n - 1`."""
        self.number = -1


class Graph(NamedTuple):
    """The nodes of an expression by number, and the one where every match ends."""

    nodes: list[GraphNode]
    accept: GraphNode

    @property
    def start(self) -> GraphNode:
        """The node where every match begins."""
        return self.nodes[0]


class ParsedRegex(NamedTuple):
    """An expression as Python's parser reads it."""

    flags: int
    groups: int
    names: dict[str, int]
    graph: Graph
    nonempty: Graph
    """The graph of the matches of some length."""


def parsed(pattern: str) -> ParsedRegex:
    """The parsed expression; RegexError if it cannot be read, or cannot run in linear time."""
    try:
        tree = parser.parse(pattern)
        check_linear(tree)
        state = tree.state
        graph = _graph(tree, can_be_empty=True)
        nonempty = graph if tree.getwidth()[0] > 0 else _graph(tree, can_be_empty=False)
        return ParsedRegex(state.flags, state.groups - 1, dict(state.groupdict), graph, nonempty)
    except re.error as error:
        raise RegexError(f"this is not a regular expression: {error.msg}") from None
    except OverflowError:
        raise too_large() from None
    except RecursionError:
        raise RegexError("this regular expression nests too deeply") from None


def _graph(tree: Any, *, can_be_empty: bool) -> Graph:
    accept = GraphNode()
    unread = accept if can_be_empty else GraphNode()
    return _numbered(_Builder().sequence(tree, tree.state.flags, unread, accept), accept)


# ── building ──────────────────────────────────────────────────────────────────────────────

_LOOKS: Final[dict[Any, Look]] = {
    codes.AT_BEGINNING: "start",
    codes.AT_BEGINNING_STRING: "start",
    codes.AT_END: "last line end",
    codes.AT_END_STRING: "end",
    codes.AT_BOUNDARY: "boundary",
    codes.AT_NON_BOUNDARY: "no boundary",
}
_OF_LINES: Final[dict[Any, Look]] = {
    codes.AT_BEGINNING: "line start",
    codes.AT_END: "line end",
}
_CLASSES: Final = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_TYPES: Final = re.ASCII | re.LOCALE | re.UNICODE


class _Builder:
    """Builds a graph from its end, so that each part knows what comes after it.

    Every method takes two nodes: the one to go to if nothing was read since the iteration of the
    innermost loop began, and the one to go to otherwise. It returns the node to begin at.
    """

    def __init__(self) -> None:
        self.size = 0

    def _node(self, *after: GraphNode, **what: Any) -> GraphNode:
        self.size += 1
        if self.size > 2 * MAX_NODES:  # some of them may turn out to be unreachable
            raise too_large()
        return GraphNode(*after, **what)

    def sequence(self, parts: Any, flags: int, unread: GraphNode, read: GraphNode) -> GraphNode:
        listed = list(parts)
        # Up to the first part that must read something, nothing may have been read yet.
        first = next((i for i, part in enumerate(listed) if not _can_be_empty(*part)), len(listed))
        for index in reversed(range(len(listed))):
            code, argument = listed[index]
            before = read
            if index > 0 or unread is read:
                read = self._part(code, argument, flags, read, read)
            if unread is before:
                unread = read
            elif index <= first:
                unread = self._part(code, argument, flags, unread, before)
        return unread

    def _part(
        self, code: Any, argument: Any, flags: int, unread: GraphNode, read: GraphNode
    ) -> GraphNode:
        if code is codes.AT:
            looks = (_OF_LINES if flags & re.MULTILINE else {}).get(argument, _LOOKS[argument])
            return self._node(unread, looks=(looks, bool(flags & re.ASCII)))
        if code is codes.SUBPATTERN:
            group, more, fewer, inner = argument
            flags = (flags & ~_TYPES if more & _TYPES else flags) | more
            flags &= ~fewer
            if group is None:
                return self.sequence(inner, flags, unread, read)
            end = 2 * group - 1
            closed = self._node(read, saves=end)
            same = unread is read
            still = closed if same else self._node(unread, saves=end)
            opened = self.sequence(inner, flags, still, closed)
            return self._node(opened, saves=end - 1)
        if code is codes.BRANCH:
            ways = [self.sequence(way, flags, unread, read) for way in argument[1]]
            return self._node(*ways)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, body = argument
            return self._repeated(least, most, body, flags, code, unread, read)
        return self._node(read, reads=_character(code, argument, flags))

    def _repeated(
        self, least: int, most: Any, body: Any, flags: int, code: Any, unread: Any, read: Any
    ) -> GraphNode:
        def optional(leave: GraphNode, again: GraphNode, split: GraphNode) -> GraphNode:
            """One more iteration, or none. One that reads nothing is the last."""
            iteration = self.sequence(body, flags, leave, again)
            ways = (iteration, leave)
            split.after = ways if code is codes.MAX_REPEAT else ways[::-1]
            return split

        after = read
        if most is codes.MAXREPEAT:
            loop = self._node()
            after = optional(read, loop, loop)
            first = after if unread is read else optional(unread, loop, self._node())
        else:
            first = unread
            for index in reversed(range(int(most) - int(least))):
                again = after
                if index > 0 or unread is read or least > 0:
                    after = optional(read, again, self._node())
                if index == 0:
                    same = unread is read
                    first = after if same else optional(unread, again, self._node())
        copies = [(codes.SUBPATTERN, (None, 0, 0, body))] * int(least)
        return self.sequence(copies, flags, first, after)


def _can_be_empty(code: Any, argument: Any) -> bool:
    if code is codes.AT:
        return True
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return bool(argument[0] == 0 or argument[2].getwidth()[0] == 0)
    return any(inner.getwidth()[0] == 0 for inner in inside(code, argument))


def _character(code: Any, argument: Any, flags: int) -> re.Pattern[str]:
    """The characters that one part of an expression reads, as an expression of its own."""
    if code is codes.ANY:
        text = "."
    elif code is codes.IN:
        text = f"[{''.join(_member(*member) for member in argument)}]"
    else:
        text = f"[{'^' if code is codes.NOT_LITERAL else ''}{_escaped(argument)}]"
    return _compiled(text, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))


@lru_cache(maxsize=4096)
def _compiled(text: str, flags: int) -> re.Pattern[str]:
    return re.compile(text, flags)


def _member(code: Any, argument: Any) -> str:
    if code is codes.NEGATE:
        return "^"
    if code is codes.RANGE:
        return f"{_escaped(argument[0])}-{_escaped(argument[1])}"
    return _CLASSES[argument] if code is codes.CATEGORY else _escaped(argument)


def _escaped(point: int) -> str:
    return f"\\U{int(point):08x}"


def _numbered(start: GraphNode, accept: GraphNode) -> Graph:
    """The nodes that can be reached, the start first."""
    nodes: list[GraphNode] = []
    seen = {accept}  # it has a number even if no path leads to it
    pending = [start]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            nodes.append(node)
            pending += reversed(node.after)
    if len(nodes) >= MAX_NODES:
        raise too_large()
    nodes.append(accept)
    for number, node in enumerate(nodes):
        node.number = number
    return Graph(nodes, accept)
