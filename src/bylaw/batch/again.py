"""Traces of a corpus that are looked at once more: found by the place of their piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from bylaw.batch.pieces import Groups, Limits, Piece, Place, pieces_of
from bylaw.batch.sources import PACKED, Source
from bylaw.batch.summary import Remembered
from bylaw.trace.trace import Trace


def read_again(groups: Groups, wanted: Iterable[Remembered], limits: Limits) -> dict[str, Trace]:
    """The traces, by name. Those of a pipe cannot be had a second time."""
    names: dict[Place, set[str]] = {}
    for each in wanted:
        names.setdefault(each.place, set()).add(each.name)
    found: dict[str, Trace] = {}
    for number, places in groupby(sorted(names), key=lambda place: place.group):
        group = groups[number]
        if group[0].once:
            continue
        for piece in _at(group, list(places), limits):
            for entry in piece.content.loaded().entries():
                if entry.trace is not None and entry.name in names[piece.place]:
                    found[entry.name] = entry.trace
    return found


def _at(group: tuple[Source, ...], places: list[Place], limits: Limits) -> Iterator[Piece]:
    """The pieces of a file that begin at these places, which are in order.

    A compressed file is unpacked from its start, so one walk finds them all; otherwise each is
    looked up.
    """
    if group[0].path.endswith(PACKED):
        walk = pieces_of(group, Place(places[0].group), limits)
        yield from (piece for piece in _until(walk, places[-1]) if piece.place in set(places))
        return
    for place in places:
        yield from islice(pieces_of(group, place, limits), 1)


def _until(walk: Iterator[Piece], last: Place) -> Iterator[Piece]:
    for piece in walk:
        yield piece
        if piece.place >= last:
            return
