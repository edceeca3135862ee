"""The places of records and their calls, read from the files of the traces.

Entries come in the order of their files, and so do the questions about them. Each file is read at
most once more, from its start on, and only if something in it is to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Final

from bylaw.batch.input.files import CorpusFile, OpenedFile, open_file
from bylaw.errors import Span, SpecError
from bylaw.procedure.document import Located, read_json_document
from bylaw.reports.ci.call_spans import call_spans
from bylaw.reports.ci.regions import LineIndex, Region
from bylaw.trace.files import MEGABYTE, Entry
from bylaw.trace.formats import LIST_FIELDS

MAX_LOCATED: Final = 16 * MEGABYTE
"""The longest text, in bytes, in which calls are looked for."""


class RecordPlaces:
    """The region of one record, and those of its calls as far as they can be found."""

    def __init__(self, record: Region | None, calls: Sequence[Region] = ()) -> None:
        self.record: Final = record
        self._calls: Final = calls

    def call(self, number: int | None) -> Region | None:
        """The region of a call, by its index; otherwise that of the record."""
        if number is not None and number < len(self._calls):
            return self._calls[number]
        return self.record


class TracePlaces:
    """Finds the regions of records in their files."""

    def __init__(self, corpus: Iterable[CorpusFile]) -> None:
        self._files: Final = {file.name: file for file in corpus}
        self._open = ExitStack()
        self._name: str | None = None
        self._file: OpenedFile | None = None
        self._line = 0
        """The number of lines that were read."""
        self._document: tuple[LineIndex, list[Located]] | None = None

    def places(self, entry: Entry) -> RecordPlaces:
        """The places of a record."""
        stated = None if entry.line is None else Region(entry.line)
        try:
            lines, nodes = self._parsed(entry)
        except (OSError, ValueError, EOFError, SpecError, UnicodeDecodeError):
            return RecordPlaces(stated)
        if not nodes:
            return RecordPlaces(stated)
        whole = Span(nodes[0].span.start, nodes[-1].span.end)
        calls = entry.trace.calls if entry.trace is not None else ()
        spans = call_spans(nodes, calls) if entry.trace is not None else None
        return RecordPlaces(lines.region(whole), [lines.region(each) for each in spans or ()])

    def close(self) -> None:
        """Closes the file that is being read."""
        self._open.close()
        self._name = self._file = self._document = None

    # ── reading ──────────────────────────────────────────────────────────────────────────

    def _parsed(self, entry: Entry) -> tuple[LineIndex, list[Located]]:
        """The text that holds the record, and the values in it that are the record."""
        source = self._files.get(entry.source or "")
        if source is None or source.once:
            raise OSError("it cannot be read a second time")
        if entry.line is not None:
            text = self._text_of_line(source, entry.line)
            return LineIndex(text, entry.line), [read_json_document(text)]
        lines, nodes = self._text_of_file(source)
        return lines, nodes if entry.number is None else _record_in(nodes, entry.number)

    def _text_of_line(self, source: CorpusFile, line: int) -> str:
        if self._name != source.name or self._line >= line:
            self._open_again(source)
        assert self._file is not None, "it was opened"
        if self._file.kind not in ("lines", "document"):
            raise ValueError("a table has no lines")
        content = b""
        while self._line < line:
            content = self._file.content.readline(MAX_LOCATED)
            if not content:
                raise EOFError("the file is shorter than it was")
            self._line += content.endswith(b"\n") or len(content) < MAX_LOCATED
        return content.decode("utf-8-sig").rstrip()

    def _text_of_file(self, source: CorpusFile) -> tuple[LineIndex, list[Located]]:
        if self._name == source.name and self._document is not None:
            return self._document
        self._open_again(source)
        assert self._file is not None, "it was opened"
        content = self._file.content.read(MAX_LOCATED + 1)
        if len(content) > MAX_LOCATED:
            raise ValueError("the document is too long")
        text = content.decode("utf-8-sig")
        self._document = LineIndex(text), _values_in(text)
        return self._document

    def _open_again(self, source: CorpusFile) -> None:
        self.close()
        self._file = self._open.enter_context(open_file(source))
        self._name, self._line = source.name, 0


def _values_in(text: str) -> list[Located]:
    """The document in a text, or the values on its lines if each has one of its own."""
    try:
        return [read_json_document(text)]
    except SpecError:
        found: list[Located] = []
        at = 0
        for line in text.splitlines(keepends=True):
            if line.strip():
                found.append(_moved(read_json_document(line), at))
            at += len(line)
        return found


def _moved(node: Located, by: int) -> Located:
    """The node at its place in the whole text."""
    pending = [node]
    while pending:
        each = pending.pop()
        each.span = Span(each.span.start + by, each.span.end + by)
        if isinstance(each.value, dict | list):
            pending += each.value.values() if isinstance(each.value, dict) else each.value
    return node


def _record_in(nodes: Sequence[Located], number: int) -> list[Located]:
    """The record of this number in a document that lists several, if it is found there."""
    value = nodes[0].value if len(nodes) == 1 else None
    if isinstance(value, dict):
        fields = (value[name].value for name in LIST_FIELDS if name in value)
        value = next((each for each in fields if isinstance(each, list)), None)
    return [value[number]] if isinstance(value, list) and number < len(value) else []
