"""A corpus cut into pieces of work, in order: some megabytes of whole records each.

Where a piece ends the next one begins, and both are named by a `Place`, so that a run that was
interrupted goes on at the first piece that is missing. The same corpus is always cut in the same
way: results do not depend on who does the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bylaw.batch.contents import Broken, Content, Document, document, unreadable
from bylaw.batch.cutting import Cut, cut_lines, cut_table
from bylaw.batch.reading import text_of
from bylaw.batch.sources import SMALL, Source
from bylaw.errors import BylawError, Diagnostic
from bylaw.trace.files import MAX_LINE, Entry

if TYPE_CHECKING:
    from bylaw.batch.scorer import Scorer
    from bylaw.batch.scores import Scores

Groups: TypeAlias = Sequence[tuple[Source, ...]]


class Place(NamedTuple):
    """Where a piece begins."""

    group: int = 0
    """Which file, or group of small files."""
    offset: int = 0
    """How far into it: bytes of text, or rows of a table."""
    line: int = 1
    """The number of the line, or row, that is next."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things may be, in bytes."""

    piece: int = SMALL
    max_line: int = MAX_LINE

    @property
    def cut(self) -> int:
        """How large pieces are: no line inside one is too long. Longer ones are pieces alone."""
        return min(self.piece, self.max_line)


@dataclass(frozen=True, slots=True)
class Files:
    """Some small files, whatever they hold."""

    sources: tuple[Source, ...]
    limits: Limits

    def loaded(self) -> Files:
        """The same."""
        return self

    def contents(self) -> Iterator[Content]:
        """What the files hold."""
        for source in self.sources:
            for cut in _cuts(source, Place(), self.limits):
                yield cut.content

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        for content in self.contents():
            yield from content.loaded().entries()

    def scores(self, scorer: Scorer) -> Scores:
        """The scores of the records."""
        from bylaw.batch.scores import Scores

        return Scores.together([content.loaded().scores(scorer) for content in self.contents()])


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work, and how it fits between the others."""

    place: Place
    after: Place
    size: int
    """How many bytes of the corpus, as it is stored, are done with it."""
    content: Content | Files


def pieces(groups: Groups, start: Place, limits: Limits) -> Iterator[Piece]:
    """The corpus from some place on."""
    for number in range(start.group, len(groups)):
        yield from pieces_of(groups[number], _within(start, number), limits)


def records(corpus: Iterable[Source], limits: Limits) -> Iterator[Entry]:
    """The records of a corpus, one by one. Those of a pipe are there as they come."""
    for source in corpus:
        if source.once:
            yield from Document(source, limits.max_line).entries()
        else:
            yield from Files((source,), limits).entries()


def _within(start: Place, number: int) -> Place:
    return start if number == start.group else Place(number)


def pieces_of(group: tuple[Source, ...], start: Place, limits: Limits) -> Iterator[Piece]:
    """One group from some place on."""
    ending = Place(start.group + 1)
    sizes = [source.size for source in group]
    whole = sum(size or 0 for size in sizes)
    if None not in sizes and whole <= limits.piece:
        yield Piece(start, ending, whole, Files(group, limits))
        return
    place = start
    for cut in _cuts(group[0], start, limits):
        after = ending if cut.end is None else Place(start.group, cut.end, cut.next_line)
        yield Piece(place, after, cut.size, cut.content)
        place = after


def _cuts(source: Source, start: Place, limits: Limits) -> Iterator[Cut]:
    """The contents of one file. What cannot be read is one of them, and ends it."""
    if source.problem is not None:
        yield Cut(Broken(source.name, source.problem), 0)
        return
    line = start.line if start.offset else None
    sizes = (limits.cut, limits.max_line)
    try:
        with text_of(source) as text:
            if text.kind == "document":
                yield Cut(document(source, text, limits.max_line), source.size or 0)
                return
            if text.kind == "lines":
                cuts = cut_lines(source, text, start.offset, start.line, sizes)
            else:
                cuts = cut_table(source, text, start.offset, sizes)
            empty = text.kind != "lines" and not start.offset
            for cut in cuts:
                line, empty = cut.next_line, False
                yield cut
            if empty:
                problem = Diagnostic("E311", "the table has no row", source=source.name)
                yield Cut(Broken(source.name, problem), source.size or 0)
    except BylawError:
        raise
    except Exception as error:  # a file system or a decompressor fails in ways of its own
        name = source.name if line is None else f"{source.name}:{line}"
        yield Cut(Broken(name, unreadable(source.name, error, line)), 0)
