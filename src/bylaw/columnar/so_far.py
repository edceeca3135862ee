"""The events up to each of some positions that satisfy a condition: `sofar(a)`, `sofar(a, 1 h)`.

The events are found once for all positions. Those of one position follow each other among them,
unless starts are recorded out of order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import Columns
from bylaw.columnar.segments import Mask, Places, Positions
from bylaw.logic.terms import Sofar
from bylaw.trace.event import MISSING, Event, Missing
from bylaw.values import Json
from bylaw.vocabulary.possible import Seen

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import ColumnarEvaluation


class EventsSoFar:
    """The events that `sofar` finds, for each of some positions."""

    def __init__(self, over: ColumnarEvaluation, term: Sofar, places: Places) -> None:
        self._subject: Final = over.subject
        self._hits: Final = np.flatnonzero(over.column(term.condition).true).astype(np.int32)
        spans = _spans(self._hits, places)
        if term.seconds is not None:
            spans = _recent(spans, self._hits, over.subject.columns, places, term.seconds.value)
        self._spans: Final = spans

    def lists(self, read: Callable[[Event], Json | Missing]) -> Iterator[Seen]:
        """For each position, the values read from its events; MISSING and null are left out."""
        needed = np.flatnonzero(self._spans.covered(len(self._hits)))
        found: list[Seen] = [MISSING] * len(self._hits)
        for index, event in zip(needed, self._subject.events(self._hits[needed]), strict=True):
            found[index] = read(event)
        kept = [value is not MISSING and value is not None for value in found]
        values = [value for value, there in zip(found, kept, strict=True) if there]
        before = np.concatenate(([0], np.cumsum(kept, dtype=np.intp)))
        begins, ends = before[self._spans.begin].tolist(), before[self._spans.end].tolist()
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if self._spans.undefined[place]:
                yield MISSING
            elif self._spans.scattered[place]:
                yield [found[each] for each in self._spans.members(place) if kept[each]]
            else:
                yield values[begin:end]

    def counts(self) -> list[Seen]:
        """The number of events of each position."""
        spans = self._spans
        counts: list[Seen] = (spans.end - spans.begin).tolist()
        for place in np.flatnonzero(spans.scattered).tolist():
            counts[place] = len(spans.members(place))
        for place in np.flatnonzero(spans.undefined).tolist():
            counts[place] = MISSING
        return counts


class _Spans(NamedTuple):
    """The events of each position, as indices from `begin` to `end` among those found."""

    begin: NDArray[np.intp]
    end: NDArray[np.intp]
    undefined: Mask
    """Marks the positions where times that are needed are missing."""
    scattered: Mask
    """Marks the positions that have only some of these events: those with a `rank` that is not
    below `oldest`.
    """
    ranks: NDArray[np.int64]
    oldest: NDArray[np.int64]

    def covered(self, size: int) -> Mask:
        """Marks the events of any position, among so many that were found."""
        begins = np.bincount(self.begin[~self.undefined], minlength=size + 1)
        ends = np.bincount(self.end[~self.undefined], minlength=size + 1)
        return np.greater(np.cumsum(begins - ends)[:size], 0)

    def members(self, place: int) -> list[int]:
        """The events of a position, if they are scattered."""
        begin = self.begin[place]
        recent = self.ranks[begin : self.end[place]] >= self.oldest[place]
        members: list[int] = (begin + np.flatnonzero(recent)).tolist()
        return members


def _spans(hits: Positions, places: Places) -> _Spans:
    """All events of the trace up to each position."""
    nowhere = np.zeros(len(places), dtype=np.bool_)
    nothing = np.zeros(0, dtype=np.int64)
    begin = np.searchsorted(hits, places.start)
    end = np.searchsorted(hits, places.indices, side="right")
    return _Spans(begin, end, nowhere, nowhere, nothing, nothing)


def _recent(
    spans: _Spans, hits: Positions, columns: Columns, places: Places, seconds: float
) -> _Spans:
    """Of these events, those that started at most so long before the one at the position."""
    starts, here, ranks = (
        columns.store.starts,
        columns.start_ranks[places.indices],
        columns.start_ranks[hits],
    )
    first, end = spans.begin, spans.end
    undefined = (here == 0) | _any_between(ranks == 0, first, end)
    oldest = starts.oldest(here, seconds)
    # A trace and a rank in one number; events that are out of order count as if they were not.
    keys = columns.segments.trace[hits].astype(np.int64) * starts.width + ranks
    ordered = np.maximum.accumulate(keys)
    wanted = places.trace.astype(np.int64) * starts.width + oldest
    begin = np.clip(np.searchsorted(ordered, wanted), first, end)
    scattered = _any_between(keys != ordered, first, end) & ~undefined
    return _Spans(np.where(scattered, first, begin), end, undefined, scattered, ranks, oldest)


def _any_between(mask: Mask, begin: NDArray[np.intp], end: NDArray[np.intp]) -> Mask:
    """Is a mask true at one of the indices from `begin` to `end`?"""
    before = np.concatenate(([0], np.cumsum(mask)))
    return np.less(before[begin], before[end])
