"""Traces laid end to end in one array, and folds that stay within each trace.

Every fold looks for the nearest position, backward or forward, where a mask is true, and compares
it with the bounds of the trace. For all positions that is one running maximum over all traces; for
a few positions it is one binary search each. No trace is empty.

A `TruthColumn` holds the values of a formula. Its tables are those of `bylaw.semantics.verdict`
without UNKNOWN: in a finished trace only a user's function can be undecided, and those have no
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
"""True or false for each of some positions, or for each trace."""
Positions: TypeAlias = NDArray[np.int32]
MAX_POSITIONS: Final = 1 << 20
"""The largest number of positions in one portion; a single part may exceed it."""


class Segments:
    """The bounds of each trace."""

    def __init__(self, lengths: NDArray[np.integer]) -> None:
        offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=offsets[1:])
        self.starts: Final[Positions] = offsets[:-1]
        self.ends: Final[Positions] = offsets[1:]
        self.count: Final = len(lengths)
        """The number of traces."""
        self.size: Final = int(offsets[-1])
        """The number of positions."""

    @cached_property
    def lengths(self) -> Positions:
        """The number of positions of each trace."""
        return self.ends - self.starts

    @cached_property
    def trace(self) -> Positions:
        """The trace of each position."""
        return np.repeat(np.arange(self.count, dtype=np.int32), self.lengths)

    @property
    def everywhere(self) -> Places:
        """All positions. Not cached, because a reference cycle would keep the arrays in memory."""
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
        """For each position, the start of its trace."""
        return self.starts[self.trace]

    @cached_property
    def end(self) -> Positions:
        """For each position, the end of its trace."""
        return self.ends[self.trace]

    def any(self, mask: Mask) -> Mask:
        """For each trace: is the mask true anywhere?"""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.trace[np.flatnonzero(mask)]] = True
        return found


class Places:
    """Some positions in ascending order, and the values of folds there."""

    def __init__(self, segments: Segments, indices: Positions, *, whole: bool = False) -> None:
        self.segments: Final = segments
        self.indices: Final = indices
        self.whole: Final = whole
        """Are these all positions?"""

    def __len__(self) -> int:
        return len(self.indices)

    @cached_property
    def trace(self) -> Positions:
        """The trace of each position."""
        return self.segments.trace if self.whole else self.segments.trace[self.indices]

    @cached_property
    def start(self) -> Positions:
        """For each position, the start of its trace."""
        return self.segments.start if self.whole else self.segments.starts[self.trace]

    @cached_property
    def end(self) -> Positions:
        """For each position, the end of its trace."""
        return self.segments.end if self.whole else self.segments.ends[self.trace]

    def of(self, mask: Mask) -> Mask:
        """The values of a mask over all positions, at these positions."""
        return mask if self.whole else mask[self.indices]

    def those(self, chosen: Mask | NDArray[np.intp]) -> Places:
        """Some of these positions, selected by a mask or by indices."""
        return Places(self.segments, self.indices[chosen])

    # ── the nearest position where a mask over all positions is true ──────────────────────

    def latest(self, mask: Mask) -> Positions:
        """The last one at or before each position, in any trace; -1 if there is none."""
        if self.whole:
            return np.maximum.accumulate(np.where(mask, self.indices, np.int32(-1)))
        return latest(mask, self.indices)

    def next(self, mask: Mask) -> Positions:
        """The first one at or after each position, in any trace; the size if there is none."""
        if self.whole:
            marked = np.where(mask, self.indices, np.int32(self.segments.size))
            return np.minimum.accumulate(marked[::-1])[::-1]
        return following(mask, self.indices)

    # ── folds ────────────────────────────────────────────────────────────────────────────

    def so_far(self, mask: Mask) -> Mask:
        """Is the mask true there, or earlier in the trace?"""
        return self.latest(mask) >= self.start

    def from_here(self, mask: Mask) -> Mask:
        """Is the mask true there, or later in the trace?"""
        return self.next(mask) < self.end

    def until(self, a: Mask, b: Mask) -> Mask:
        """Is b true there or later, and a at every position before that?"""
        reached = self.next(b)
        return (reached < self.end) & (self.next(~a) >= reached)

    def since(self, a: Mask, b: Mask) -> Mask:
        """Is b true there or earlier, and a at every position after that?"""
        reached = self.latest(b)
        return (reached >= self.start) & (self.latest(~a) <= reached)


def latest(mask: Mask, positions: Positions) -> Positions:
    """For each position, the last one at or before it where a mask is true; -1 if none."""
    hits = np.flatnonzero(mask).astype(np.int32)
    found = np.append(hits, np.int32(-1))  # an index of -1 finds the last
    return found[np.searchsorted(hits, positions, side="right") - 1]


def following(mask: Mask, positions: Positions) -> Positions:
    """For each position, the first one at or after it where a mask is true; its size if none."""
    hits = np.flatnonzero(mask).astype(np.int32)
    found = np.append(hits, np.int32(len(mask)))
    return found[np.searchsorted(hits, positions)]


def portions(lengths: NDArray[np.integer]) -> Iterator[slice]:
    """Slices of parts of these lengths, each with a bounded number of positions."""
    ends = np.cumsum(lengths, dtype=np.int64)
    start = 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + MAX_POSITIONS, side="right"))
        yield slice(start, max(stop, start + 1))
        start = max(stop, start + 1)


# ── the values of formulas ────────────────────────────────────────────────────────────────


class TruthColumn(NamedTuple):
    """The value of a formula for each position, or for each trace."""

    true: Mask
    vacuous: Mask | None = None
    """Marks where it is true because nothing was checked; None if nowhere."""

    @property
    def checked(self) -> Mask:
        """Marks where it is true and something was checked."""
        return self.true if self.vacuous is None else self.true & ~self.vacuous

    def at(self, indices: NDArray[np.integer]) -> TruthColumn:
        """The values with these indices."""
        vacuous = None if self.vacuous is None else self.vacuous[indices]
        return TruthColumn(self.true[indices], vacuous)

    def scattered(
        self, indices: NDArray[np.intp], size: int, *, otherwise: bool = False
    ) -> TruthColumn:
        """The column of this size with these values at the indices, and `otherwise` elsewhere."""
        true = np.full(size, otherwise)
        true[indices] = self.true
        if self.vacuous is None:
            return TruthColumn(true)
        vacuous = np.zeros(size, dtype=np.bool_)
        vacuous[indices] = self.vacuous
        return TruthColumn(true, vacuous)


def negated(a: TruthColumn) -> TruthColumn:
    """`!a`"""
    return TruthColumn(~a.true)


def conjunction(columns: Sequence[TruthColumn]) -> TruthColumn:
    """`a & b`: false if any is false; else true if any was checked; else vacuous."""
    true = reduce(np.logical_and, (column.true for column in columns))
    vacuous = [column.vacuous for column in columns if column.vacuous is not None]
    all_vacuous = reduce(np.logical_and, vacuous) if len(vacuous) == len(columns) else None
    return TruthColumn(true, all_vacuous)


def disjunction(columns: Sequence[TruthColumn]) -> TruthColumn:
    """`a | b`: true if any was checked; else vacuous if any is; else false."""
    true = reduce(np.logical_or, (column.true for column in columns))
    if all(column.vacuous is None for column in columns):
        return TruthColumn(true)
    return TruthColumn(true, true & ~reduce(np.logical_or, (each.checked for each in columns)))


def implication(a: TruthColumn, b: TruthColumn) -> TruthColumn:
    """`a -> b`: vacuous where a is false, else the value of b."""
    off = ~a.true
    return TruthColumn(off | b.true, off if b.vacuous is None else off | b.vacuous)


def equivalence(a: TruthColumn, b: TruthColumn) -> TruthColumn:
    """`a <-> b`"""
    return TruthColumn(a.true == b.true)


class Combined:
    """The values of a quantifier, while those of its body are added."""

    def __init__(self, size: int) -> None:
        self._false: Mask = np.zeros(size, dtype=np.bool_)
        self._true: Mask = np.zeros(size, dtype=np.bool_)
        self._checked: Mask = np.zeros(size, dtype=np.bool_)

    def add(self, column: TruthColumn, owners: NDArray[np.integer]) -> None:
        """Adds one value of the body for each of these owners."""
        self._false[owners[~column.true]] = True
        self._true[owners[column.true]] = True
        self._checked[owners[column.checked]] = True

    def column(self, *, of_all: bool) -> TruthColumn:
        """The value of the quantifier for each owner."""
        true = ~self._false if of_all else self._true
        return TruthColumn(true, true & ~self._checked)
