"""An indexed text: names, definitions, paths and literals. Equal texts are indexed once.

Each index is built when it is first used. Finding a name takes one pass over the text. The syntax
tree, which costs thirty times as much, is built only to locate definitions and to find members that
the lines do not show.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Final

from bylaw.grounding.entities import paths
from bylaw.grounding.evidence.c_definitions import defined_in_c
from bylaw.grounding.evidence.definitions import SourceDefinitions, by_lines, unnumbered
from bylaw.grounding.evidence.python_definitions import class_blocks, defined_in_python
from bylaw.texts import literals
from bylaw.texts.text import normalized

CACHED: Final = 2_000
"""The number of indexed texts kept in memory."""

_PYTHON: Final = frozenset(("py", "pyi", "pyx"))
_C: Final = frozenset(("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "cu", "cuh"))
_PROSE: Final = frozenset(("md", "rst", "txt", "html", "htm", "tex", ""))
_NAMES: Final = re.compile(r"[^\W\d]\w*")
_ONLY_NAMES: Final = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))
"""A table for `str.translate` that keeps names and replaces everything else by spaces."""
_MEMBERS: Final = (("def ", "("), ("self.", " ="), ("self.", ":"))
"""The text before and after the name in a line of Python that defines a member."""
_SPACE: Final = re.compile(r"\s+")
_QUOTES: Final = str.maketrans("“”‘’", "\"\"''")


class SourceText:
    """The text of a file, from all its pages, or another text. Immutable."""

    def __init__(self, pages: tuple[str, ...], extension: str) -> None:
        self._pages: Final = pages
        self._extension: Final = extension

    @cached_property
    def text(self) -> str:
        """The pages, followed by the lines that are split between two pages."""
        seams = [
            before.rpartition("\n")[2] + after.partition("\n")[0]
            for before, after in zip(self._pages, self._pages[1:], strict=False)
        ]
        return normalized("\n".join((*self._pages, *seams)))

    @cached_property
    def folded(self) -> str:
        """The text in lower case."""
        return self.text.lower() if self.text.isascii() else self.text.casefold()

    # ── names ────────────────────────────────────────────────────────────────────────────

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that occurs, in lower case."""
        return frozenset(self._in_order)

    @cached_property
    def _in_order(self) -> list[str]:
        if self.folded.isascii():  # most texts are, and this is twice as fast
            return sorted(set(self.folded.translate(_ONLY_NAMES).split()))
        return sorted(set(_NAMES.findall(self.folded)))

    def begins(self, name: str) -> bool:
        """True if the text contains a name with this prefix."""
        at = bisect_left(self._in_order, name)
        return at < len(self._in_order) and self._in_order[at].startswith(name)

    def writes(self, words: str, joined_by: str = "_") -> bool:
        """True if the words occur as whole words; `joined_by` are word characters as well."""
        text, at = self.folded, self.folded.find(words)
        while at >= 0:
            end = at + len(words)
            before, after = text[at - 1 : at] + words[0], words[-1] + text[end : end + 1]
            if not _is_one_word(before, joined_by) and not _is_one_word(after, joined_by):
                return True
            at = text.find(words, at + 1)
        return False

    def calls(self, name: str) -> bool:
        """True if the name occurs before a parenthesis."""
        return self.writes(f"{name}(") or self.writes(f"{name} (")

    def imports(self, name: str) -> bool:
        """True if an import statement contains the name."""
        word = rf"(?<!\w){re.escape(name)}(?!\w)"
        pattern = rf"\bimport\s(?:[^\n(]*{word}|\s*\([^)]*{word})"
        return "import" in self.names and re.search(pattern, self.folded) is not None

    # ── definitions ──────────────────────────────────────────────────────────────────────

    def has_class(self, name: str) -> bool:
        """True if a class with this name is defined."""
        return any(self.writes(f"{word} {name}") for word in ("class", "struct", "interface"))

    def shows_member(self, owner: str, name: str) -> bool:
        """True if the lines show a member of a class. False is no proof: see `definitions`."""
        if self._extension not in _PYTHON:
            return False
        blocks = class_blocks(self.folded, owner)
        return any(f"{word}{name}{end}" in block for block in blocks for word, end in _MEMBERS)

    @cached_property
    def definitions(self) -> SourceDefinitions:
        """The definitions, from the syntax tree where there is one."""
        if self._extension in _PYTHON:
            joined = (normalized(glue.join(self._pages)) for glue in ("", "\n")[: len(self._pages)])
            return defined_in_python(map(unnumbered, joined))
        if self._extension in _C:
            return defined_in_c(unnumbered(self.text), self._extension)
        if self._extension in _PROSE:
            return SourceDefinitions(self.names)
        return by_lines(unnumbered(self.text))

    # ── values ───────────────────────────────────────────────────────────────────────────

    @cached_property
    def paths(self) -> frozenset[str]:
        """The file paths that the text mentions."""
        return frozenset(path for _, path in paths.files(self.text) if path is not None)

    @cached_property
    def amounts(self) -> frozenset[literals.Money]:
        """The amounts of money."""
        return frozenset(amount for _, amount in literals.amounts(self.text))

    @cached_property
    def numbers(self) -> dict[Decimal, set[str | None]]:
        """The numbers that are not amounts of money, and the units written with them."""
        taken = bytearray(len(self.text))
        for span, _ in literals.amounts(self.text):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
        found: dict[Decimal, set[str | None]] = {}
        for span, number in literals.numbers(self.text):
            if not any(taken[span.start : span.end]):
                for value in {number.value, number.value.copy_abs()}:
                    found.setdefault(value, set()).add(number.unit)
        return found

    @cached_property
    def days(self) -> frozenset[literals.Day]:
        """The days that the dates in the text may mean."""
        return frozenset(day for _, days in literals.dates(self.text) for day in days)

    @cached_property
    def words(self) -> str:
        """The text in one line, with plain quotation marks."""
        return as_words(self.text)


def _is_one_word(two: str, joined_by: str) -> bool:
    """True if two adjacent characters belong to one word."""
    return len(two) == 2 and all(each.isalnum() or each in joined_by for each in two)


def as_words(text: str) -> str:
    """The text with single spaces and plain quotation marks."""
    return _SPACE.sub(" ", text.translate(_QUOTES))


@lru_cache(maxsize=CACHED)
def _source(pages: tuple[str, ...], extension: str) -> SourceText:
    return SourceText(pages, extension)


def indexed_source(pages: Sequence[str], path: str | None) -> SourceText:
    """The indexed text of these pages; equal pages give the same object."""
    name = (path or "").rpartition("/")[2]
    return _source(tuple(pages), name.rpartition(".")[2].lower() if "." in name else "")
