"""Traces laid end to end in one array, and the folds that do not cross from one to the next.

Every fold is a question about the nearest position where a mask is true, looking back or ahead,
and a comparison with where the trace begins or ends. Asked everywhere, that is one running
maximum over all traces at once; asked in a few places, a search for each. No trace is empty.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
"""True or false for each of some positions, or for each trace."""
Positions: TypeAlias = NDArray[np.int32]


class Segments:
    """Where each trace begins and ends."""

    def __init__(self, lengths: NDArray[np.integer]) -> None:
        offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=offsets[1:])
        self.starts: Final[Positions] = offsets[:-1]
        self.ends: Final[Positions] = offsets[1:]
        self.count: Final = len(lengths)
        """How many traces there are."""
        self.size: Final = int(offsets[-1])
        """How many positions there are."""

    @cached_property
    def lengths(self) -> Positions:
        """How many positions each trace has."""
        return self.ends - self.starts

    @cached_property
    def trace(self) -> Positions:
        """The trace of each position."""
        return np.repeat(np.arange(self.count, dtype=np.int32), self.lengths)

    @property
    def everywhere(self) -> Places:
        """All positions. Made anew each time: kept, it would keep these segments in memory."""
        return Places(self, self._positions, whole=True)

    @property
    def at_starts(self) -> Places:
        """The first position of each trace."""
        return Places(self, self.starts)

    @cached_property
    def _positions(self) -> Positions:
        return np.arange(self.size, dtype=np.int32)

    @cached_property
    def start(self) -> Positions:
        """Where the trace of each position begins."""
        return self.starts[self.trace]

    @cached_property
    def end(self) -> Positions:
        """Where the trace of each position ends."""
        return self.ends[self.trace]

    def any(self, mask: Mask) -> Mask:
        """For each trace: is it true anywhere?"""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.trace[np.flatnonzero(mask)]] = True
        return found


class Places:
    """Some positions in order, and what folds come to there."""

    def __init__(self, segments: Segments, indices: Positions, *, whole: bool = False) -> None:
        self.segments: Final = segments
        self.indices: Final = indices
        self.whole: Final = whole
        """Are these all positions?"""

    def __len__(self) -> int:
        return len(self.indices)

    @cached_property
    def trace(self) -> Positions:
        """The trace of each."""
        return self.segments.trace if self.whole else self.segments.trace[self.indices]

    @cached_property
    def start(self) -> Positions:
        """Where the trace of each begins."""
        return self.segments.start if self.whole else self.segments.starts[self.trace]

    @cached_property
    def end(self) -> Positions:
        """Where the trace of each ends."""
        return self.segments.end if self.whole else self.segments.ends[self.trace]

    def of(self, mask: Mask) -> Mask:
        """What a mask over all positions says here."""
        return mask if self.whole else mask[self.indices]

    def those(self, chosen: Mask | NDArray[np.intp]) -> Places:
        """Some of these places, by a mask or by their numbers."""
        return Places(self.segments, self.indices[chosen])

    # ── the nearest position where a mask over all positions is true ──────────────────────

    def latest(self, mask: Mask) -> Positions:
        """The last at or before each place, in whichever trace; -1 if there is none."""
        if self.whole:
            return np.maximum.accumulate(np.where(mask, self.indices, np.int32(-1)))
        return latest(mask, self.indices)

    def next(self, mask: Mask) -> Positions:
        """The first at or after each place, in whichever trace; the size if there is none."""
        if self.whole:
            marked = np.where(mask, self.indices, np.int32(self.segments.size))
            return np.minimum.accumulate(marked[::-1])[::-1]
        return following(mask, self.indices)

    # ── folds ────────────────────────────────────────────────────────────────────────────

    def so_far(self, mask: Mask) -> Mask:
        """Is it true there, or earlier in the trace?"""
        return self.latest(mask) >= self.start

    def from_here(self, mask: Mask) -> Mask:
        """Is it true there, or later in the trace?"""
        return self.next(mask) < self.end

    def until(self, a: Mask, b: Mask) -> Mask:
        """Is b true from there on, and a at every position before that?"""
        reached = self.next(b)
        return (reached < self.end) & (self.next(~a) >= reached)

    def since(self, a: Mask, b: Mask) -> Mask:
        """Was b true up to there, and a at every position after that?"""
        reached = self.latest(b)
        return (reached >= self.start) & (self.latest(~a) <= reached)


def latest(mask: Mask, positions: Positions) -> Positions:
    """The last position at or before each, where a mask is true; -1 if there is none."""
    hits = np.flatnonzero(mask).astype(np.int32)
    found = np.append(hits, np.int32(-1))  # an index of -1 finds the last
    return found[np.searchsorted(hits, positions, side="right") - 1]


def following(mask: Mask, positions: Positions) -> Positions:
    """The first position at or after each, where a mask is true; its size if there is none."""
    hits = np.flatnonzero(mask).astype(np.int32)
    found = np.append(hits, np.int32(len(mask)))
    return found[np.searchsorted(hits, positions)]
