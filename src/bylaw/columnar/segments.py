"""Traces laid end to end in one array, and the folds that do not cross from one to the next.

Every fold is a question about the nearest position where a mask is true, looking back or ahead:
one running maximum over all traces at once, and a comparison with where each trace begins or
ends. No trace is empty.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
"""True or false for each position, or for each trace."""
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

    @cached_property
    def start(self) -> Positions:
        """Where the trace of each position begins."""
        return np.repeat(self.starts, self.lengths)

    @cached_property
    def end(self) -> Positions:
        """Where the trace of each position ends."""
        return np.repeat(self.ends, self.lengths)

    @cached_property
    def places(self) -> Positions:
        """The positions themselves."""
        return np.arange(self.size, dtype=np.int32)

    # ── the nearest position where a mask is true ─────────────────────────────────────────

    def latest(self, mask: Mask) -> Positions:
        """The last at or before each position, in whichever trace; -1 if there is none."""
        found: Positions = np.maximum.accumulate(np.where(mask, self.places, np.int32(-1)))
        return found

    def next(self, mask: Mask) -> Positions:
        """The first at or after each position, in whichever trace; the size if there is none."""
        marked = np.where(mask, self.places, np.int32(self.size))
        found: Positions = np.minimum.accumulate(marked[::-1])[::-1]
        return found

    # ── folds ────────────────────────────────────────────────────────────────────────────

    def so_far(self, mask: Mask) -> Mask:
        """At each position: is it true there, or earlier in the trace?"""
        return self.latest(mask) >= self.start

    def from_here(self, mask: Mask) -> Mask:
        """At each position: is it true there, or later in the trace?"""
        return self.next(mask) < self.end

    def until(self, a: Mask, b: Mask) -> Mask:
        """At each position: is b true from there on, and a at every position before that?"""
        reached = self.next(b)
        return (reached < self.end) & (self.next(~a) >= reached)

    def since(self, a: Mask, b: Mask) -> Mask:
        """At each position: was b true up to there, and a at every position after that?"""
        reached = self.latest(b)
        return (reached >= self.start) & (self.latest(~a) <= reached)

    def after(self, mask: Mask, at_the_end: bool) -> Mask:
        """At each position the value at the next one."""
        moved = np.empty_like(mask)
        moved[:-1] = mask[1:]
        moved[self.ends - 1] = at_the_end
        return moved

    def before(self, mask: Mask) -> Mask:
        """At each position the value at the one before; false at the start."""
        moved = np.empty_like(mask)
        moved[1:] = mask[:-1]
        moved[self.starts] = False
        return moved

    def any(self, mask: Mask) -> Mask:
        """For each trace: is it true anywhere?"""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.trace[np.flatnonzero(mask)]] = True
        return found

    def all(self, mask: Mask) -> Mask:
        """For each trace: is it true everywhere?"""
        return ~self.any(~mask)
