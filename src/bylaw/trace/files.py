"""Trace files: one JSON document, or JSONL with one record a line, read as a stream.

A file yields an entry for each record: its trace, or the error that makes it unusable. A malformed
record never hides the others. Memory holds one record at a time. Each record may be in any known
format (`bylaw.trace.formats`). In the session files of Claude Code, all lines are one record.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from bylaw.errors import Diagnostic, Span, TraceError
from bylaw.opening import open_regular
from bylaw.trace.formats import FORMATS, LIST_FIELDS, format_of, read, records_in
from bylaw.trace.trace import Trace
from bylaw.values import JsonError, read_json

MEGABYTE: Final = 1 << 20
MAX_LINE: Final = 64 * MEGABYTE
"""The longest line that is read: a record, or part of a record that spans several lines."""
MAX_DOCUMENT: Final = 1024 * MEGABYTE
"""The largest file that is read as a single JSON document."""

_JSONL_ENDINGS: Final = (".jsonl", ".ndjson")
_OPENS_A_LIST: Final = re.compile(rf'(?:\{{.*"(?:{"|".join(LIST_FIELDS)})"\s*:\s*)?\[')
"""The first line of a document whose second line may be a complete record."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a file: its trace, or the error that makes it unusable."""

    name: str
    """`run.json`, or `runs.jsonl:17` for the record on line 17."""
    trace: Trace | None
    error: TraceError | None = None
    notes: tuple[Diagnostic, ...] = ()
    """Oddities of a record that could be read."""
    source: str | None = None
    """The file that holds the record."""
    line: int | None = None
    """The line of the record, in a file with one record a line."""
    number: int | None = None
    """The place of the record in a document that holds several, counted from 0."""

    def required(self) -> Trace:
        """The trace; raises the error if the record is unusable."""
        if self.trace is None:
            raise self.error or AssertionError("an entry has a trace or an error")
        return self.trace


_SMALLEST: Final = 'The smallest trace is {"tool_calls": []}.'


def read_traces(path: str | Path, *, max_line: int = MAX_LINE) -> Iterator[Entry]:
    """The records of a file, in order. Errors are entries, never exceptions."""
    name = str(path)
    try:
        with open_regular(path) as file:
            yield from read_stream(file, name, max_line)
    except OSError as error:
        reason = error.strerror or str(error)
        yield _failure(name, Diagnostic("E310", f"cannot be read: {reason}", source=name))


def read_trace(path: str | Path) -> Trace:
    """The only record of a file."""
    entries = list(itertools.islice(read_traces(path), 2))
    if len(entries) > 1:
        message = "the file has several records, but one was expected"
        raise TraceError(Diagnostic("E312", message, source=str(path)))
    return entries[0].required()


def read_stream(file: BinaryIO, name: str, max_line: int = MAX_LINE) -> Iterator[Entry]:
    """The records of an open file. Diagnostics call it `name`."""
    lines = _lines(file, name, max_line)
    first = next(lines, None)
    if first is None:
        yield _failure(name, Diagnostic("E311", "the file is empty", _SMALLEST, source=name))
        return
    if isinstance(first.content, bytes) and not name.endswith(_JSONL_ENDINGS):
        second = next(lines, None)
        if second is None or not _is_jsonl(first, second):
            rest = [second] if second else []
            yield from _document(name, itertools.chain([first], rest, lines))
            return
        lines = itertools.chain([second], lines)
    lines = itertools.chain([first], lines)
    if _opens_session(_value(first)):
        yield from _session(name, lines)
        return
    yield from _records(name, lines)


def read_lines(
    file: BinaryIO, name: str, first_line: int = 1, max_line: int = MAX_LINE
) -> Iterator[Entry]:
    """The records of an open file, or of part of one, with one record a line."""
    return _records(name, _lines(file, name, max_line, first_line))


def is_jsonl(file: BinaryIO, name: str, max_line: int = MAX_LINE) -> bool:
    """Does the file, read from its start, have one record a line?"""
    lines = _lines(file, name, max_line)
    first, second = next(lines, None), next(lines, None)
    if first is None or not isinstance(first.content, bytes) or _opens_session(_value(first)):
        return False
    return name.endswith(_JSONL_ENDINGS) or (second is not None and _is_jsonl(first, second))


def _records(name: str, lines: Iterable[_Line]) -> Iterator[Entry]:
    for line in lines:
        yield _entry(f"{name}:{line.number}", line.content, name, line.number)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    content: bytes | Diagnostic


def _lines(file: BinaryIO, name: str, max_line: int, first_line: int = 1) -> Iterator[_Line]:
    """The lines that are not blank. A line that is too long is a diagnostic."""
    for number in itertools.count(first_line):
        line, size = _next_line(file, max_line)
        if not size:
            return
        if size > max_line:
            message = f"the line is longer than {max_line / MEGABYTE:g} MiB"
            help = "Write one record a line, or raise the limit with --max-line."
            yield _Line(number, Diagnostic("E313", message, help, source=name, line=number))
        elif line.strip():
            yield _Line(number, line)


def _next_line(file: BinaryIO, max_line: int) -> tuple[bytes, int]:
    """The next line and its length. Nothing is kept of a line that is too long."""
    pieces: list[bytes] = []
    size = 0
    while piece := file.readline(MEGABYTE):
        size += len(piece)
        pieces = [*pieces, piece] if size <= max_line else []
        if piece.endswith(b"\n"):
            break
    return b"".join(pieces), size


def _is_jsonl(first: _Line, second: _Line) -> bool:
    """Is each line a record? Otherwise the file is one document that spans several lines."""
    assert isinstance(first.content, bytes), "the caller checks this"
    try:
        text = first.content.decode("utf-8-sig").rstrip()
        read_json(text)
    except JsonError as error:
        if error.position is not None and error.position >= len(text):
            # The line ends too early: it is the start of a document, or a malformed record if a
            # complete record follows it.
            return _is_record(_value(second)) and not _OPENS_A_LIST.fullmatch(text)
    except UnicodeDecodeError:
        pass
    return True


def _value(line: _Line) -> object:
    """The JSON value on a line; None if it is malformed."""
    if isinstance(line.content, Diagnostic):
        return None
    try:
        return read_json(line.content.decode("utf-8-sig"))
    except (JsonError, UnicodeDecodeError):
        return None


def _opens_session(value: object) -> bool:
    """Is this the first line of a file whose lines are together one run?"""
    if isinstance(value, dict) and ("tool_calls" in value or "messages" in value):
        return False  # it is a run of its own
    return any(known.opens_session(value) for known in FORMATS if known.opens_session)


def _session(name: str, lines: Iterator[_Line]) -> Iterator[Entry]:
    """All lines as one record, after the errors of malformed lines."""
    values: list[object] = []
    for line in lines:
        if (value := _value(line)) is None:
            yield _entry(f"{name}:{line.number}", line.content, name, line.number)
        else:
            values.append(value)
    known = format_of(values)
    runs = None if known is None or known.several is None else _runs(known.several, values)
    if runs is None or len(runs) == 1:
        yield _traced(name, values, name, None)
        return
    for number, run in enumerate(runs):
        yield _traced(f"{name}[{number}]", run, name, None, number)


def _runs(several: Callable[[Any], Sequence[object]], values: list[object]) -> Sequence[object]:
    """The runs in a session; a session that cannot be divided is left to its reader."""
    try:
        return several(values)
    except TraceError:
        return (values,)


def _is_record(value: object) -> bool:
    # A message may have tool calls like a record, and be an item of a list that spans lines.
    return isinstance(value, dict) and format_of(value) is not None and "role" not in value


def _document(name: str, lines: Iterator[_Line]) -> Iterator[Entry]:
    """The records in a file that is one JSON value."""
    pieces: list[bytes] = []
    size, number = 0, 0
    for line in lines:
        if isinstance(line.content, Diagnostic):
            yield _failure(name, line.content)
            return
        pieces.append(b"\n" * (line.number - number - 1) + line.content)
        size, number = size + len(line.content), line.number
        if size > MAX_DOCUMENT:
            limit = f"{MAX_DOCUMENT // MEGABYTE} MiB"
            message = f"the document is larger than {limit}"
            help = "Write it as JSONL, one record a line."
            yield _failure(name, Diagnostic("E313", message, help, source=name))
            return
    yield from _parsed(name, b"".join(pieces), name, None)


def _entry(entry: str, content: bytes | Diagnostic, source: str, line: int) -> Entry:
    if isinstance(content, Diagnostic):
        return _failure(entry, content)
    return next(_parsed(entry, content, source, line))


def _parsed(entry: str, content: bytes, source: str, line: int | None) -> Iterator[Entry]:
    """The records in one JSON text. A line is always a single record."""
    try:
        text = content.decode("utf-8-sig").rstrip()
        value = read_json(text)
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8: {error.reason} at byte {error.start}"
        yield _failure(entry, Diagnostic("E314", message, source=source, line=line))
        return
    except JsonError as error:
        yield _failure(entry, _json_diagnostic(error, text, source, line))
        return
    several = records_in(value) if line is None else None
    if several is None:
        yield _traced(entry, value, source, line)
        return
    if not several:
        yield _failure(
            entry, Diagnostic("E311", "the file has no records", _SMALLEST, source=source)
        )
    for number, item in enumerate(several):
        yield _traced(f"{entry}[{number}]", item, source, line, number)


def _json_diagnostic(error: JsonError, text: str, source: str, line: int | None) -> Diagnostic:
    message = f"not valid JSON: {error.message}"
    if error.position is None:
        return Diagnostic("E315", message, source=source, line=line)
    from bylaw.json_advice import json_advice  # only mistakes need it

    help = json_advice(text, error.position)
    found = Diagnostic.at(text, Span(error.position, error.position + 1), "E315", message, help)
    return replace(found, source=source, line=(line or 1) + (found.line or 1) - 1)


def _traced(
    entry: str, value: object, source: str, line: int | None, number: int | None = None
) -> Entry:
    place = entry if line is None else source
    origin: dict[str, Any] = {"source": source, "line": line, "number": number}

    def located(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        return tuple(replace(d.located(place), line=line or d.line) for d in diagnostics)

    try:
        reading = read(value, name=entry, checked=True)
    except TraceError as error:
        return Entry(entry, None, TraceError(located(error.diagnostics)), **origin)
    return Entry(entry, reading.trace, notes=located(reading.notes), **origin)


def _failure(entry: str, diagnostic: Diagnostic) -> Entry:
    return Entry(
        entry, None, TraceError(diagnostic), source=diagnostic.source, line=diagnostic.line
    )
