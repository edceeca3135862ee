"""What a piece of work holds: records, in one of the ways in which a corpus keeps them.

What is handed to another process is as little as possible: for a file, the place in it. Whoever
does the work asks for what is `loaded`, which knows its records one by one (`entries`), and how a
scorer takes them all at once (`scores`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

from bylaw.batch.reading import Text, text_of
from bylaw.batch.sources import Source
from bylaw.batch.storage import opened
from bylaw.errors import BylawError, Diagnostic, TraceError
from bylaw.trace.files import MAX_DOCUMENT, Entry, read_lines, read_stream

if TYPE_CHECKING:  # NumPy is not needed to read records one by one
    from bylaw.batch.scorer import Scorer
    from bylaw.batch.scores import Scores


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines, a record each."""

    name: str
    """What the file is called."""
    first_line: int
    text: bytes
    max_line: int
    long: bool = False
    """It is one line, too long for an ordinary piece."""

    def loaded(self) -> Lines:
        """The same, with the records in memory."""
        return self

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        return read_lines(BytesIO(self.text), self.name, self.first_line, self.max_line)

    def scores(self, scorer: Scorer) -> Scores:
        """The scores of the records."""
        from bylaw.batch.scorer import Block

        if self.long:
            return scorer.entries(self.entries())
        return scorer.lines(Block(self.name, self.first_line, self.text))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines, in a file that is not compressed."""

    path: str
    first_line: int
    offset: int
    length: int
    max_line: int
    long: bool = False

    def loaded(self) -> Lines | Broken:
        """The lines themselves, if the file is still there."""
        try:
            with opened(self.path) as file:
                file.seek(self.offset)
                text = file.read(self.length)
        except OSError as error:
            name = f"{self.path}:{self.first_line}"
            return Broken(name, unreadable(self.path, error, self.first_line))
        return Lines(self.path, self.first_line, text, self.max_line, self.long)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table; they are read as the lines that they would be in JSONL."""

    name: str
    first_row: int
    batch: Any
    """A record batch of Arrow."""
    max_line: int

    def loaded(self) -> Lines:
        """The rows as lines."""
        from bylaw.batch.rows import as_lines

        return Lines(self.name, self.first_row, as_lines(self.batch), self.max_line)


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is one JSON value, or one session: it is read as a whole."""

    source: Source
    max_line: int
    text: bytes | None = None
    """Where it cannot be read a second time, all of it."""

    def loaded(self) -> Document:
        """The same: what it holds may be large."""
        return self

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        name = self.source.name
        if self.text is not None:
            yield from read_stream(BytesIO(self.text), name, self.max_line)
            return
        try:
            with text_of(self.source) as text:
                yield from read_stream(text.file, name, self.max_line)
        except BylawError:
            raise
        except Exception as error:  # a file system or a decompressor fails in ways of its own
            yield from Broken(name, unreadable(name, error)).entries()

    def scores(self, scorer: Scorer) -> Scores:
        """The scores of the records."""
        return scorer.entries(self.entries())


@dataclass(frozen=True, slots=True)
class Broken:
    """What cannot be read, and why."""

    name: str
    problem: Diagnostic

    def loaded(self) -> Broken:
        """The same."""
        return self

    def entries(self) -> Iterator[Entry]:
        """One entry, which says so."""
        yield Entry(self.name, None, TraceError(self.problem))

    def scores(self, scorer: Scorer) -> Scores:
        """No scores, and one unusable record."""
        return scorer.entries(self.entries())


def document(source: Source, text: Text, max_line: int) -> Document:
    """The document that was opened. What nobody else can read is read here."""
    if source.once:
        return Document(source, max_line, text.file.read(MAX_DOCUMENT + 1))
    return Document(source, max_line)


Content: TypeAlias = Lines | Stretch | Rows | Document | Broken


def unreadable(name: str, error: Exception, line: int | None = None) -> Diagnostic:
    """Says that a file cannot be read, or not beyond some line."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    message = f"cannot be read: {reason}" if line is None else f"cannot be read on: {reason}"
    return Diagnostic("E310", message, source=name, line=line)
