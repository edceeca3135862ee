"""How one file is cut: text where a line ends, tables where a row does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from bylaw.batch.contents import Content, Lines, Rows, Stretch
from bylaw.batch.extras import needed
from bylaw.batch.reading import Text
from bylaw.batch.rows import whole_column
from bylaw.batch.sources import Source
from bylaw.errors import Diagnostic, UsageError
from bylaw.trace.files import MEGABYTE

_READ: Final = MEGABYTE // 4
"""How much is read at once: what a damaged file loses before the damage, at most."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Some records of a file, and where the next ones begin."""

    content: Content
    size: int
    """How many bytes of the file, as it is stored, they are."""
    end: int | None = None
    """Bytes of text, or rows, up to here; None if there is nothing behind it."""
    next_line: int = 1


# ── text ──────────────────────────────────────────────────────────────────────────────────


def cut_lines(
    source: Source, text: Text, offset: int, line: int, sizes: tuple[int, int]
) -> Iterator[Cut]:
    """The lines of a file from some place on. Raises what reading raises, after what it could read.

    `sizes` are those of a piece and of the longest line. Of a line that is too long, one byte more
    than is allowed is kept: it will be reported.
    """
    size, max_line = sizes
    _skip(text, offset)
    stored = text.done if offset else 0
    for chunk in _chunks(text.file, size, max_line):
        if text.can_seek:
            place = (source.path, line, offset, len(chunk.kept), max_line, chunk.long)
            content: Content = Stretch(*place)
            done = chunk.length
        else:
            content = Lines(source.name, line, chunk.kept, max_line, chunk.long)
            done = text.done - stored
            stored += done
        offset += chunk.length
        line += chunk.lines
        yield Cut(content, done, offset, line)


@dataclass(frozen=True, slots=True)
class _Chunk:
    kept: bytes
    length: int
    lines: int
    long: bool = False


def _chunks(file: BinaryIO, size: int, max_line: int) -> Iterator[_Chunk]:
    """The text in chunks of whole lines; a line that is longer than a chunk is one by itself."""
    rest = b""
    while True:
        more, problem = _read(file, size - len(rest))
        ended = len(rest) + len(more) < size
        text = rest + more
        end = len(text) if ended and problem is None else text.rfind(b"\n") + 1
        if end:
            yield _Chunk(text[:end], end, _lines_in(text[:end]))
            rest = text[end:]
        if problem is not None:
            raise problem
        if ended:
            return
        if not end:
            yield _long_line(text, file, max_line)
            rest = b""


def _lines_in(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n"))


def _long_line(start: bytes, file: BinaryIO, max_line: int) -> _Chunk:
    """The rest of a line, kept as far as it is read at all."""
    parts, kept, length = [start], len(start), len(start)
    while part := file.readline(MEGABYTE):
        length += len(part)
        if kept <= max_line:
            parts.append(part[: max_line + 1 - kept])
            kept += len(parts[-1])
        if part.endswith(b"\n"):
            break
    return _Chunk(b"".join(parts), length, 1, long=True)


def _read(file: BinaryIO, size: int) -> tuple[bytes, Exception | None]:
    """The next bytes, fewer only at the end; and what went wrong behind them."""
    parts: list[bytes] = []
    try:
        while size > 0 and (part := file.read1(min(size, _READ))):  # type: ignore[attr-defined]  # buffered
            parts.append(part)
            size -= len(part)
    except Exception as error:  # a decompressor fails in ways of its own
        return b"".join(parts), error
    return b"".join(parts), None


def _skip(text: Text, offset: int) -> None:
    if text.can_seek:
        text.file.seek(offset)
        return
    while offset > 0 and (part := text.file.read(min(offset, MEGABYTE))):
        offset -= len(part)


# ── tables ────────────────────────────────────────────────────────────────────────────────


def cut_table(source: Source, text: Text, first: int, sizes: tuple[int, int]) -> Iterator[Cut]:
    """The rows of a table from some row on."""
    size, max_line = sizes
    if source.once:
        message = f"a table cannot be read from {source.name}"
        raise UsageError(Diagnostic("E402", message, "Write it to a file first."))
    needed("pyarrow", "reading Parquet and Arrow")
    batches = _parquet if text.kind == "parquet" else _arrow
    stored = 0
    for row, batch in batches(text, first, size):
        done = max(0, min(text.done, source.size or 0) - stored)
        stored += done
        end = row + batch.num_rows
        yield Cut(Rows(source.name, row + 1, batch, max_line), done, end, end + 1)


def _parquet(text: Text, first: int, size: int) -> Iterator[tuple[int, Any]]:
    """Batches of about a size, with the number of rows before each."""
    parquet = needed("pyarrow.parquet", "reading Parquet")
    file = parquet.ParquetFile(text.raw)
    whole = whole_column(file.schema_arrow.names)
    columns = None if whole is None else [whole]
    row = 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        if row + group.num_rows <= first:
            row += group.num_rows
            continue
        wide = max(1, group.total_byte_size // max(1, group.num_rows))
        rows = max(1, size // wide)
        for batch in file.iter_batches(rows, row_groups=[number], columns=columns):
            yield from _from(first, row, batch)
            row += batch.num_rows


def _arrow(text: Text, first: int, size: int) -> Iterator[tuple[int, Any]]:
    """The same of an Arrow file or stream; its own batches may be larger, and are cut."""
    ipc = needed("pyarrow.ipc", "reading Arrow")
    row = 0
    if text.kind == "arrow stream":
        batches = iter(ipc.open_stream(text.raw))
    else:
        file = ipc.open_file(text.raw)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    for batch in batches:
        rows = max(1, batch.num_rows * size // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            yield from _from(first, row, part)
            row += part.num_rows


def _from(first: int, row: int, batch: Any) -> Iterator[tuple[int, Any]]:
    """What of a batch is behind the rows that are done."""
    done = max(0, first - row)
    if done < batch.num_rows:
        yield row + done, batch.slice(done)
