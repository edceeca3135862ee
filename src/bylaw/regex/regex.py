"""All regular expressions that users write: compiled once, searched in time linear in the text.

`re` backtracks: an expression such as `(a+)+b` takes time exponential in the text. Here a text is
read once from its start to find out whether an expression matches. To find the matches themselves
it is read once from its end, which tells for every position which nodes of the graph lead to a
match; following the preferred ones from the start then never has to go back.

Where `re` takes linear time, too, an expression is left to it, because it is faster (`native.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from bylaw.regex.graph import Graph, parsed
from bylaw.regex.linear import RegexError, too_large
from bylaw.regex.native import is_safe_in_ascii, longest_path, means_the_same, tried_from
from bylaw.regex.needed import NeededWord, needed_characters, needed_word
from bylaw.regex.sweep import EDGE, FINAL_NEWLINE, FOUND, Sweep, Transitions
from bylaw.regex.template import template_parts
from bylaw.work import CHARACTERS

Marks: TypeAlias = Sequence[int | None]
"""The starts and ends of groups in turn."""
FoundMatch: TypeAlias = tuple[int, int, Marks]
"""The start and end of a match, and the marks of its groups."""

MAX_LENGTH: Final = 10_000
"""The length of an expression, in characters. An agent may have made it up, and all are kept."""


class Regex:
    """A compiled expression. It can be shared by threads."""

    def __init__(self, pattern: str, *, native: bool = True) -> None:
        self.pattern: Final = pattern
        self._parsed: Final = parsed(pattern)
        self.graph: Final = self._parsed.graph
        native = native and means_the_same(self._parsed)
        tried = tried_from(self.graph.start, self.graph.accept) if native else None
        in_ascii = native and (tried is not None or is_safe_in_ascii(self.graph))
        self._native: Final = re.compile(pattern) if in_ascii else None
        """Searches ASCII texts, and all texts if `_always_native`."""
        self._always_native: Final = tried is not None
        self._visited: Final = len(self.graph.nodes) if tried is None else tried
        """The most nodes that are visited for each character of a text."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._parsed.groups

    def work(self, text: str) -> float:
        """The steps that a search of the text takes."""
        # Most characters cost one lookup; a few, or all of some texts, visit all nodes.
        return len(text) * (8 + self._visited) / CHARACTERS

    @cached_property
    def _forwards(self) -> Sweep:
        return Sweep(self.graph)

    @cached_property
    def _found(self) -> _MatchFinder:
        return _MatchFinder(self.graph)

    @cached_property
    def _nonempty(self) -> _MatchFinder:
        """Finds matches of some length."""
        nonempty = self._parsed.nonempty
        return self._found if nonempty is self.graph else _MatchFinder(nonempty)

    @cached_property
    def _needed(self) -> tuple[re.Pattern[str], ...]:
        """Characters without which no text matches: `re` looks for one of a kind very fast.

        An expression that must match at the start of a text needs no such help.
        """
        return () if _is_anchored(self.graph) else needed_characters(self.graph)

    @cached_property
    def _word(self) -> NeededWord | None:
        return None if _is_anchored(self.graph) else needed_word(self.graph)

    def _lacks_needed(self, text: str) -> bool:
        """Does the text lack something that every match contains? This is found out very fast."""
        if self._word is not None and text.isascii() and self._word.is_missing(text):
            return True
        for needed in self._needed:  # noqa: SIM110 - a generator would cost more than the search
            if needed.search(text) is None:
                return True
        return False

    def search(self, text: str) -> bool:
        """Does the text contain a match?"""
        if self._lacks_needed(text):
            return False
        if self._native is not None and (self._always_native or text.isascii()):
            return self._native.search(text) is not None
        table, step = self._forwards.begin(), self._forwards.step
        ending = FINAL_NEWLINE if text.endswith("\n") else EDGE
        characters = iter(text[:-1] if ending else text)
        character = EDGE
        while True:
            try:
                for character in characters:
                    table = table[character]
                break
            except KeyError:
                if not table:
                    return table is FOUND
                table = step(table, character)
        for character in dict.fromkeys((ending, EDGE)):
            if table:
                table = table.get(character) or step(table, character)
        return table is FOUND

    def matches(self, text: str) -> Iterator[FoundMatch]:
        """The matches from left to right, as Python finds them; no two overlap."""
        native = self._by_native(text)
        if native is not None:
            groups = range(1, self.groups + 1)
            for found in native:
                spans = (found.span(group) for group in groups)
                yield *found.span(), [None if at < 0 else at for span in spans for at in span]
        elif self.search(text):
            yield from self._followed(text)

    def _by_native(self, text: str) -> Iterable[re.Match[str]] | None:
        """The matches that `re` finds; None if it may not search this text."""
        if self._native is None or not (self._always_native or text.isascii()):
            return None
        if self._lacks_needed(text):
            return ()
        return self._native.finditer(text) if self._reach is None else self._near_needed(text)

    @cached_property
    def _reach(self) -> int | None:
        """The length of the longest match, if every match contains a run that is looked for."""
        return longest_path(self.graph) if self._always_native and self._needed else None

    def _near_needed(self, text: str) -> Iterator[re.Match[str]]:
        """The matches, sought only near the runs that they contain: `re` skips the rest faster."""
        native, reach, needed, at = self._native, self._reach or 0, self._needed[0], 0
        assert native is not None, "only expressions that are left to `re` have a reach"
        while (run := needed.search(text, at)) is not None:
            found = native.search(text, max(at, run.start() - reach))
            if found is None:
                return
            yield found
            at = found.end()

    def _followed(self, text: str) -> Iterator[FoundMatch]:
        ways = self._found.ways(text)
        others: list[Transitions] | None = None
        at, after_empty = 0, False
        while at <= len(text):
            finder, here = self._found, ways
            if after_empty:  # a match that is not empty may begin where an empty one was
                others = self._nonempty.ways(text) if others is None else others
                finder, here = self._nonempty, others
            if not finder.begins(here[at]):
                at, after_empty = at + 1, False
                continue
            end, marks = finder.follow(here, at, 2 * self.groups)
            yield at, end, marks
            at, after_empty = end, end == at

    def find(self, text: str) -> list[str]:
        """The texts of all matches, or of their group if the expression has exactly one."""
        native = self._by_native(text)
        if native is not None:
            group = 1 if self.groups == 1 else 0
            return [part for found in native if (part := found[group]) is not None]
        if self.groups != 1:
            return [text[start:end] for start, end, _ in self.matches(text)]
        marks = (found for _, _, found in self.matches(text))
        return [text[start:end] for start, end in marks if start is not None and end is not None]

    def replaced(self, text: str, new: str) -> Iterator[str]:
        """The pieces of the text with all matches replaced; RegexError if `new` is unusable."""
        template = template_parts(new, self.groups, self._parsed.names)
        return iter((text,)) if self._lacks_needed(text) else self._pieces(text, template)

    def _pieces(self, text: str, template: Sequence[str | int]) -> Iterator[str]:
        reached = 0
        for start, end, marks in self.matches(text):
            yield text[reached:start]
            for part in template:
                yield part if isinstance(part, str) else _group(text, (start, end, *marks), part)
            reached = end
        yield text[reached:]


def _group(text: str, marks: Marks, group: int) -> str:
    start, end = marks[2 * group], marks[2 * group + 1]
    return "" if start is None or end is None else text[start:end]


# ── the preferred match ───────────────────────────────────────────────────────────────────


class _MatchFinder:
    """Finds the match that Python would prefer at a position."""

    def __init__(self, graph: Graph) -> None:
        self._graph: Final = graph
        self._backwards: Final = Sweep(graph, backwards=True)

    def ways(self, text: str) -> list[Transitions]:
        """For each position of the text, and its end, the nodes from which a match can end."""
        table, step = self._backwards.begin(), self._backwards.step
        trail: list[Transitions] = []
        ending = text.endswith("\n")
        if ending:
            table = table.get(FINAL_NEWLINE) or step(table, FINAL_NEWLINE)
            trail.append(table)
        characters = reversed(text[:-1] if ending else text)
        while True:
            try:
                for character in characters:
                    table = table[character]
                    trail.append(table)
                break
            except KeyError:
                table = step(table, character)
                trail.append(table)
        trail.append(table.get(EDGE) or step(table, EDGE))
        trail.reverse()
        return trail

    def begins(self, way: Transitions) -> bool:
        """Does a match begin at this position?"""
        return bool(way[None].closed & 1)  # the start has number 0

    def follow(self, ways: list[Transitions], at: int, size: int) -> tuple[int, Marks]:
        """The end and the marks of the preferred match that begins at a position."""
        marks: list[int | None] = [None] * size
        node, accept = self._graph.start, self._graph.accept
        closed = ways[at][None].closed
        while node is not accept:
            if node.reads is not None:
                at += 1
                closed = ways[at][None].closed
            elif node.saves is not None:
                marks[node.saves] = at
            node = next(each for each in node.after if closed >> each.number & 1)
        return at, marks


def _is_anchored(graph: Graph) -> bool:
    looks = graph.start.looks
    return looks is not None and looks[0] == "start"


# ── compiling ─────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1024)
def _kept(pattern: str) -> Regex | RegexError:
    try:
        return Regex(pattern)
    except RegexError as error:
        return error


def _regex_or_error(pattern: str) -> Regex | RegexError:
    return too_large() if len(pattern) > MAX_LENGTH else _kept(pattern)


def compiled(pattern: str) -> Regex | None:
    """The compiled expression; None if the text is not one."""
    found = _regex_or_error(pattern)
    return found if isinstance(found, Regex) else None


def regex_error(pattern: object) -> RegexError | None:
    """The reason why a text is not an expression; None if it is one, or not a text."""
    found = _regex_or_error(pattern) if isinstance(pattern, str) else None
    return found if isinstance(found, RegexError) else None
