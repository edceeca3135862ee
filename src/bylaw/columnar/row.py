"""Values of a formula in many places at once: true or not, and vacuously so or not.

`bylaw.semantics.verdict` has the same tables for one value at a time. There is no UNKNOWN here:
a finished trace leaves nothing open but what a user's function may do, and that is not asked in
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask


class Row(NamedTuple):
    """A value for each position, or for each trace."""

    true: Mask
    vacuous: Mask | None = None
    """Where it is true because nothing was checked; nowhere if there is no mask."""

    @property
    def checked(self) -> Mask:
        """Where it is true, and something was checked."""
        return self.true if self.vacuous is None else self.true & ~self.vacuous

    def at(self, places: NDArray[np.integer]) -> Row:
        """The values at some places."""
        vacuous = None if self.vacuous is None else self.vacuous[places]
        return Row(self.true[places], vacuous)


def negated(a: Row) -> Row:
    """`!a`"""
    return Row(~a.true)


def met(rows: Sequence[Row]) -> Row:
    """`a & b`: false if any is, else true if any was checked, else vacuous."""
    true = reduce(np.logical_and, (row.true for row in rows))
    vacuous = [row.vacuous for row in rows if row.vacuous is not None]
    return Row(true, reduce(np.logical_and, vacuous) if len(vacuous) == len(rows) else None)


def joined(rows: Sequence[Row]) -> Row:
    """`a | b`: true if any was checked, else vacuous if any is, else false."""
    true = reduce(np.logical_or, (row.true for row in rows))
    if all(row.vacuous is None for row in rows):
        return Row(true)
    return Row(true, true & ~reduce(np.logical_or, (row.checked for row in rows)))


def implied(a: Row, b: Row) -> Row:
    """`a -> b`: vacuous where a is false, else what b is."""
    off = ~a.true
    return Row(off | b.true, off if b.vacuous is None else off | b.vacuous)


def equivalent(a: Row, b: Row) -> Row:
    """`a <-> b`"""
    return Row(a.true == b.true)
