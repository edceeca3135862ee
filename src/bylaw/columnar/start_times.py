"""The starts of the events of many traces, and the search for one that is near an event in time.

Times are whole microseconds, as in the reference. Events are searched by rank, the place of their
start in the order of time, because a trace and a rank fit into one number: a running maximum of
such numbers never mixes traces. Starts may be recorded out of order, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask, Places
from bylaw.logic import formula as f
from bylaw.trace.time import microseconds
from bylaw.values import LARGEST

if TYPE_CHECKING:
    from bylaw.columnar.columns import Columns

_FAR: Final = 1 << 62
"""More microseconds than lie between any two times that are kept in 64 bits."""


class StartTimes:
    """The starts of some events, in the order of time."""

    def __init__(self, seconds: Sequence[float | None]) -> None:
        """The seconds since 1970 of each event; None if it has no start."""
        known = np.fromiter((each is not None for each in seconds), np.bool_, len(seconds))
        there = np.flatnonzero(known)
        times = _in_microseconds([each for each in seconds if each is not None])
        order = np.argsort(times, kind="stable")
        self.none_ahead: Final = len(there) + 1
        """The rank that comes after all others. The one before all others is 0."""
        self.ranks: Final[NDArray[np.int64]] = np.zeros(len(seconds), dtype=np.int64)
        """The rank of each event, from 1; 0 if it has no start."""
        self.ranks[there[order]] = np.arange(1, self.none_ahead)
        self._by_rank: Final = np.zeros(self.none_ahead + 1, dtype=times.dtype)
        self._by_rank[1:-1] = times[order]

    @property
    def width(self) -> int:
        """The number of ranks, including those before and after all others."""
        return self.none_ahead + 1

    def near(self, earlier: NDArray[np.int64], later: NDArray[np.int64], seconds: float) -> Mask:
        """Does the second of two starts come at most so long after the first? Both are ranks."""
        between = self._by_rank[later] - self._by_rank[earlier]
        return np.asarray(between <= self._limit(seconds), dtype=np.bool_)

    def oldest(self, ranks: NDArray[np.int64], seconds: float) -> NDArray[np.int64]:
        """The lowest rank that comes at most so long before each of some ranks."""
        times = self._by_rank[ranks] - self._limit(seconds)
        return np.searchsorted(self._by_rank[1:-1], times).astype(np.int64) + 1

    def _limit(self, seconds: float) -> int:
        limit = microseconds(seconds)
        return limit if self._by_rank.dtype == np.object_ else min(limit, _FAR)


def _in_microseconds(seconds: Sequence[float]) -> NDArray[Any]:
    """Numbers of 64 bits; integers of Python if one of them may not fit."""
    floats = np.fromiter(seconds, np.float64, len(seconds))
    if (np.abs(floats) < LARGEST / 1_000_000).all():
        return np.rint(floats * 1_000_000).astype(np.int64)
    exact = np.empty(len(seconds), dtype=np.object_)
    exact[:] = [microseconds(each) for each in seconds]
    return exact


def started_near(columns: Columns, formula: f.Within, places: Places) -> Callable[[Mask], Mask]:
    """A fold for an operator with a bound in time: is a mask true at one of the events that it
    looks at from each position?
    """
    ahead = isinstance(formula, f.EventuallyWithin | f.LaterWithin)
    seconds = formula.seconds.value
    starts, ranks = columns.store.starts, columns.start_ranks
    shift = columns.segments.trace.astype(np.int64) * starts.width
    nobody = starts.none_ahead if ahead else 0
    there, exists = _from_where(columns, formula, places)
    here = ranks[places.indices]

    def anywhere(mask: Mask) -> Mask:
        marked = shift + np.where(mask & (ranks > 0), ranks, nobody)
        if ahead:
            found = np.minimum.accumulate(marked[::-1])[::-1]
        else:
            found = np.maximum.accumulate(marked)
        nearest = (found - shift)[there]
        earlier, later = (here, nearest) if ahead else (nearest, here)
        both: Mask = exists & (here > 0) & (nearest != nobody)
        return both & starts.near(earlier, later, seconds)

    return anywhere


def _from_where(
    columns: Columns, formula: f.Within, places: Places
) -> tuple[NDArray[np.integer], Mask]:
    """The positions from which an operator looks ahead or back, and whether they exist."""
    match formula:
        case f.LaterWithin():
            there = columns.step_ends[places.indices]
            exists = there < places.end
        case f.EarlierWithin():
            there = columns.step_starts[places.indices] - np.int32(1)
            exists = there >= places.start
        case _:
            there = places.indices
            exists = np.ones(len(there), dtype=np.bool_)
    return np.where(exists, there, 0), exists
