"""The notable traces of a corpus, read a second time from the chunks that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from bylaw.batch.input.chunks import Chunk, Cursor, Limits, chunks_of, load
from bylaw.batch.input.files import COMPRESSED, CorpusFile, FileGroups
from bylaw.batch.output.summary import NotableTrace
from bylaw.trace.trace import Trace


def reread(groups: FileGroups, wanted: Iterable[NotableTrace], limits: Limits) -> dict[str, Trace]:
    """The traces, by name, except those of a pipe, which cannot be read again."""
    names: dict[Cursor, set[str]] = {}
    for each in wanted:
        names.setdefault(each.cursor, set()).add(each.name)
    found: dict[str, Trace] = {}
    for number, cursors in groupby(sorted(names), key=lambda cursor: cursor.group):
        group = groups[number]
        if group[0].once:
            continue
        for chunk in _at(group, list(cursors), limits):
            for entry in load(chunk.content).entries():
                if entry.trace is not None and entry.name in names[chunk.start]:
                    found[entry.name] = entry.trace
    return found


def _at(group: tuple[CorpusFile, ...], cursors: list[Cursor], limits: Limits) -> Iterator[Chunk]:
    """The chunks of a file group that begin at the cursors, which are sorted.

    A compressed file is decompressed once, from its start.
    """
    if not group[0].path.endswith(COMPRESSED):
        for cursor in cursors:
            yield from islice(chunks_of(group, cursor, limits), 1)
        return
    for chunk in chunks_of(group, Cursor(cursors[0].group), limits):
        if chunk.start in cursors:
            yield chunk
        if chunk.start >= cursors[-1]:
            return
