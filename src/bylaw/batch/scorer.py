"""Scores blocks of records, many at a time."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Final

import numpy as np

from bylaw.batch.chunks import Chunk, ReadTraces
from bylaw.batch.judging import Judging
from bylaw.batch.native import NativeChunk, NativeReader
from bylaw.batch.needs import Needs
from bylaw.batch.raw_events import Unreadable
from bylaw.batch.scores import Scores, Unusable
from bylaw.columnar.columns import Codes
from bylaw.procedure.procedure import Procedure
from bylaw.trace.files import MAX_LINE, Entry, read_lines
from bylaw.trace.trace import Trace

CHUNK: Final = 1 << 16
"""How many calls are judged together: enough to be quick, few enough to stay in the cache."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a JSONL file."""

    source: str
    """What the file is called."""
    first_line: int
    """The number of the first line, counted from 1."""
    content: bytes


class Scorer:
    """Scores records against one procedure."""

    def __init__(
        self, procedure: Procedure, max_line: int = MAX_LINE, *, beside: Iterable[Procedure] = ()
    ) -> None:
        """`beside` are procedures that judge the same records, so that all accept the same."""
        self.procedure: Final = procedure
        self._judging = Judging(procedure)
        self._codes = Codes()
        needs = Needs.of(procedure, self._judging.rules)
        for other in beside:
            needs |= Needs.of(other, Judging(other).rules)
        self._reader = NativeReader(procedure, needs, self._codes)
        self._max_line = max_line

    def entries(self, entries: Iterable[Entry]) -> Scores:
        """The scores of records that have been read."""
        parts = [self._nothing()]
        some: list[Entry] = []
        size = 0
        for entry in entries:
            some.append(entry)
            size += len(entry.trace.calls) + 1 if entry.trace else 1
            if size >= CHUNK:
                parts.append(self._read(some))
                some, size = [], 0
        return Scores.together([*parts, self._read(some)])

    def lines(self, block: Block) -> Scores:
        """The scores of the records in a block of lines, in their order."""
        with _no_collection():
            return self._lines(block)

    def _lines(self, block: Block) -> Scores:
        lines = _lines(block.content)
        parts = [self._nothing()]
        for chunk in self._reader.chunks(lines, CHUNK, (block.source, block.first_line)):
            plain, chunk = self._plain(chunk)
            read = [self._entries_on(block, line, lines[line]) for line in chunk.others]
            rest = self._read([entry for entries in read for entry in entries])
            parts.append(Scores.together([plain, rest]).sorted() if chunk.others else plain)
        return Scores.together(parts)

    def _plain(self, chunk: NativeChunk) -> tuple[Scores, NativeChunk]:
        """The scores of the plain records of a chunk; and the chunk, which may have lost some."""
        while True:
            try:
                return self._judged(chunk.names, chunk), chunk
            except Unreadable as odd:
                chunk = chunk.without(odd)

    def _entries_on(self, block: Block, line: int, content: memoryview) -> list[Entry]:
        """The record on a line, if there is one."""
        number = block.first_line + line
        return list(read_lines(BytesIO(content), block.source, number, self._max_line))

    def _read(self, entries: list[Entry]) -> Scores:
        usable = [(entry.name, entry.trace) for entry in entries if entry.trace is not None]
        traces: list[Trace] = [self.procedure.marked(trace) for _, trace in usable]
        scores = self._judged([name for name, _ in usable], ReadTraces(traces, self._codes))
        for entry in entries:
            if entry.trace is None:
                told = entry.error.diagnostics if entry.error else ()
                scores.unusable.append(Unusable(entry.name, tuple(told)))
            scores.notes.update(note.code for note in entry.notes)
        return scores

    def _judged(self, names: list[str], chunk: Chunk) -> Scores:
        outcomes, alone = self._judging.outcomes(chunk)
        return Scores(names, chunk.calls, outcomes, alone=alone)

    def _nothing(self) -> Scores:
        shape = (0, len(self.procedure.constraints))
        return Scores([], np.empty(0, np.int64), np.empty(shape, np.int8), alone=Counter())


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps the garbage collector from looking at a block's many objects, which form no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _lines(content: bytes) -> list[memoryview]:
    """The lines of a block, without copying them."""
    whole = memoryview(content)
    ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("\n")).tolist()
    return [
        whole[a:b]
        for a, b in zip([0, *(end + 1 for end in ends)], [*ends, len(content)], strict=True)
    ]
