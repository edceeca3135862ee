"""A corpus in chunks: some megabytes of whole records each, in order.

Where a chunk ends the next one begins, at a `Cursor`, so an interrupted run resumes at the first
chunk that is missing. The same corpus is always cut in the same way: results do not depend on the
number of processes.

As little as possible is sent to another process: of a plain file, the byte range. The process that
does the work calls `load` for the content with its records (`entries`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias

from bylaw.batch.input.files import (
    CHUNK_SIZE,
    CorpusFile,
    FileGroups,
    OpenedFile,
    open_file,
    opened,
)
from bylaw.errors import BylawError, Diagnostic, TraceError, UsageError
from bylaw.trace.files import MAX_DOCUMENT, MAX_LINE, Entry, read_lines, read_stream


class Cursor(NamedTuple):
    """The start of a chunk, where a run can resume."""

    group: int = 0
    """The number of the file group."""
    offset: int = 0
    """In bytes of decompressed text, or in rows of a table."""
    line: int = 1
    """The number of the next line, or row."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes."""

    chunk: int = CHUNK_SIZE
    max_line: int = MAX_LINE


# ── contents ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class TextLines:
    """Whole lines, a record each."""

    name: str
    """The name of the file."""
    first_line: int
    text: bytes
    max_line: int = MAX_LINE
    long: bool = False
    """Is it a single line, longer than an ordinary chunk?"""

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        return read_lines(BytesIO(self.text), self.name, self.first_line, self.max_line)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Whole lines of a file that is not compressed."""

    path: str
    first_line: int
    offset: int
    length: int
    max_line: int
    long: bool = False

    def loaded(self) -> TextLines | Unreadable:
        """The lines, or the reason why the file cannot be read any more."""
        try:
            with opened(self.path) as file:
                file.seek(self.offset)
                text = file.read(self.length)
        except OSError as error:
            return Unreadable.because(self.path, error, self.first_line)
        return TextLines(self.path, self.first_line, text, self.max_line, self.long)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table, which are read as the lines that they would be in JSONL."""

    name: str
    first_row: int
    batch: Any
    """A record batch of Arrow."""
    max_line: int

    def loaded(self) -> TextLines:
        """The rows as lines."""
        from bylaw.batch.input.arrow_tables import as_lines

        return TextLines(self.name, self.first_row, as_lines(self.batch), self.max_line)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is one JSON document or one session."""

    file: CorpusFile
    max_line: int
    text: bytes | None = None
    """The content of a file that cannot be read a second time."""

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        name = self.file.name
        if self.text is not None:
            yield from read_stream(BytesIO(self.text), name, self.max_line)
            return
        try:
            with open_file(self.file) as file:
                yield from read_stream(file.content, name, self.max_line)
        except BylawError:
            raise
        except Exception as error:  # file systems and decompressors have their own exceptions
            yield from Unreadable.because(name, error).entries()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or the rest of one, that cannot be read."""

    name: str
    problem: Diagnostic

    @classmethod
    def because(cls, name: str, error: Exception, line: int | None = None) -> Unreadable:
        """The file `name`, from a line on."""
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        more = "" if line is None else " further"
        problem = Diagnostic("E310", f"cannot be read{more}: {reason}", source=name, line=line)
        return cls(name if line is None else f"{name}:{line}", problem)

    def entries(self) -> Iterator[Entry]:
        """One entry, with the error."""
        yield Entry(self.name, None, TraceError(self.problem))


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """Several small files, of any kind."""

    files: tuple[CorpusFile, ...]
    limits: Limits

    def contents(self) -> Iterator[Loaded]:
        """The contents of the files, one after the other."""
        for file in self.files:
            for chunk in _split(file, Cursor(), self.limits):
                yield load(chunk.content)

    def entries(self) -> Iterator[Entry]:
        """The records, one by one."""
        for content in self.contents():
            yield from content.entries()


Loaded: TypeAlias = TextLines | WholeFile | Unreadable | SmallFiles
Content: TypeAlias = Loaded | ByteRange | TableRows


def load(content: Content) -> Loaded:
    """The content with its lines in memory. Files that are not read by lines stay as they are."""
    return content.loaded() if isinstance(content, ByteRange | TableRows) else content


# ── chunks ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Chunk:
    """A unit of work."""

    start: Cursor
    next: Cursor
    size: int
    """In bytes of the corpus as it is stored."""
    content: Content


def chunks(groups: FileGroups, start: Cursor, limits: Limits) -> Iterator[Chunk]:
    """The corpus from a cursor on."""
    for number in range(start.group, len(groups)):
        cursor = start if number == start.group else Cursor(number)
        yield from chunks_of(groups[number], cursor, limits)


def chunks_of(group: tuple[CorpusFile, ...], start: Cursor, limits: Limits) -> Iterator[Chunk]:
    """One file group from a cursor on."""
    sizes = [file.size for file in group]
    total = sum(size or 0 for size in sizes)
    if None not in sizes and total <= limits.chunk:
        yield Chunk(start, Cursor(start.group + 1), total, SmallFiles(group, limits))
    else:
        yield from _split(group[0], start, limits)


def records(corpus: Iterable[CorpusFile], limits: Limits) -> Iterator[Entry]:
    """The records of a corpus, one by one. Those of a pipe are yielded as they arrive."""
    for file in corpus:
        if file.once:
            yield from WholeFile(file, limits.max_line).entries()
        else:
            yield from SmallFiles((file,), limits).entries()


def _split(file: CorpusFile, start: Cursor, limits: Limits) -> Iterator[Chunk]:
    """The chunks of one file. If it cannot be read any further, the last one says so."""
    end = Cursor(start.group + 1)
    if file.problem is not None:
        yield Chunk(start, end, 0, Unreadable(file.name, file.problem))
        return
    cursor, line = start, start.line if start.offset else None
    try:
        with open_file(file) as found:
            if found.kind == "document":
                text = found.content.read(MAX_DOCUMENT + 1) if file.once else None
                content = WholeFile(file, limits.max_line, text)
                yield Chunk(start, end, file.size or 0, content)
                return
            split = _split_lines if found.kind == "lines" else _split_table
            for chunk in split(file, found, start, limits):
                cursor, line = chunk.next, chunk.next.line
                yield chunk
            if found.kind != "lines" and line is None:
                problem = Diagnostic("E311", "the table has no row", source=file.name)
                yield Chunk(start, end, file.size or 0, Unreadable(file.name, problem))
    except BylawError:
        raise
    except Exception as error:  # file systems and decompressors have their own exceptions
        yield Chunk(cursor, end, 0, Unreadable.because(file.name, error, line))


def _split_lines(
    file: CorpusFile, found: OpenedFile, cursor: Cursor, limits: Limits
) -> Iterator[Chunk]:
    found.skip(cursor.offset)
    stored = found.position if cursor.offset else 0
    # No line of an ordinary chunk is too long, because the chunk is not.
    for block in found.line_blocks(min(limits.chunk, limits.max_line), limits.max_line):
        text, length, lines, long = block
        next_ = Cursor(cursor.group, cursor.offset + length, cursor.line + lines)
        if found.can_seek:
            content: Content = ByteRange(
                file.path, cursor.line, cursor.offset, len(text), limits.max_line, long
            )
            done = length
        else:
            content = TextLines(file.name, cursor.line, text, limits.max_line, long)
            done = found.position - stored
            stored += done
        yield Chunk(cursor, next_, done, content)
        cursor = next_


def _split_table(
    file: CorpusFile, found: OpenedFile, cursor: Cursor, limits: Limits
) -> Iterator[Chunk]:
    from bylaw.batch.input.arrow_tables import row_batches

    if file.once:
        message = f"a table cannot be read from {file.name}"
        raise UsageError(Diagnostic("E402", message, "Write it to a file first."))
    stored = 0
    for row, batch in row_batches(found, cursor.offset, min(limits.chunk, limits.max_line)):
        done = max(0, min(found.position, file.size or 0) - stored)
        stored += done
        next_ = Cursor(cursor.group, row + batch.num_rows, row + batch.num_rows + 1)
        yield Chunk(cursor, next_, done, TableRows(file.name, row + 1, batch, limits.max_line))
        cursor = next_
