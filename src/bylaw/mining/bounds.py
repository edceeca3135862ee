"""Bounds and lists of values that tell good runs from bad ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.candidate import RunMask
from bylaw.mining.leaves import LeafValue

_DIGIT: Final = 3.0
"""A bound with one digit less may explain the labels worse by so many nats."""
_MAX_BOUNDS: Final = 3
"""The bounds that are proposed: other rules tell which of them is needed."""
_MAX_DAYS: Final = 800
"""The days among which a round one is looked for."""
MAX_VALUES: Final = 8
"""The most values that a rule lists."""


BoundRounding: TypeAlias = Callable[[float, float, bool], tuple[float, float]]
"""The number from the first up to, not including, the second that a person would state, and the
effort of reading it, in digits. The third says whether all numbers are whole."""


class FittedBound(NamedTuple):
    """A bound on a number: the runs whose number is beyond it break the rule."""

    value: float
    violated: RunMask
    effort: float
    """The effort of reading the number, beyond that of one digit."""


def fewest_digits(low: float, high: float, whole: bool) -> tuple[float, float]:
    """The number with the fewest digits; a last 5 counts as half of one."""
    found = roundest(low, high, whole=whole)
    text = f"{Decimal(repr(found)).normalize():f}".strip("-").replace(".", "").strip("0")
    return found, max(1.0, len(text) - 0.5 * text.endswith("5"))


def round_date(low: float, high: float, whole: bool) -> tuple[float, float]:
    """The day that begins a year or a month, ends or halves a month, or else any; as an ordinal."""
    if high <= 0:  # from below: -high < x <= -low
        days = range(int(-low), max(int(-high), int(-low) - _MAX_DAYS), -1)
        sign = -1.0
    else:
        days = range(int(low), min(int(high), int(low) + _MAX_DAYS))
        sign = 1.0
    efforts = [(_date_effort(date.fromordinal(day)), place) for place, day in enumerate(days)]
    effort, place = min(efforts)
    return sign * days[place], effort


def _date_effort(day: date) -> float:
    if day.day == 1:
        return 1.0 if day.month == 1 else 1.5
    if date.fromordinal(day.toordinal() + 1).day == 1:  # the last of a month
        return 2.0
    return 2.0 if day.day == 15 else 3.0


def upper_bounds(
    extremes: NDArray[np.float64],
    good: RunMask,
    tolerated: int,
    *,
    whole: bool,
    rounding: BoundRounding = fewest_digits,
) -> Iterator[FittedBound]:
    """The bounds that most bad runs exceed and at most so many good ones, the best first.

    `extremes` has the largest number of each run, and minus infinity where there is none. Bounds
    with fewer digits may explain the labels a little worse: people choose round numbers.
    """
    levels = np.unique(extremes[np.isfinite(extremes)])
    if len(levels) < 2 or good.all():
        return
    in_good = _beyond(extremes[good], levels)[:-1]
    in_bad = _beyond(extremes[~good], levels)[:-1]
    gains = label_gain(in_bad, in_good, int((~good).sum()), int(good.sum()))
    gains[in_good > tolerated] = -np.inf
    best = float(np.max(gains))
    if best <= 0:
        return
    found: dict[float, tuple[float, float]] = {}
    for n in np.flatnonzero(gains > best - 2 * _DIGIT).tolist():
        bound, digits = rounding(float(levels[n]), float(levels[n + 1]), whole)
        effort = _DIGIT * (digits - 1)
        found[bound] = effort - float(gains[n]), effort
    for bound in sorted(found, key=lambda each: found[each][0])[:_MAX_BOUNDS]:
        yield FittedBound(bound, extremes > bound, found[bound][1])


def label_gain(
    in_bad: NDArray[np.int64], in_good: NDArray[np.int64], bads: int, goods: int
) -> NDArray[np.float64]:
    """The gain in nats of knowing the runs that break a rule, for predicting the labels."""
    found: NDArray[np.float64] = (
        _probability(in_bad, in_good)
        + _probability(bads - in_bad, goods - in_good)
        - _probability(np.array(bads), np.array(goods))
    )
    found[in_bad * goods <= in_good * bads] = 0.0  # it would call good runs bad
    return found


def _probability(bad: NDArray[np.int64], good: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of the probability of so many labels, by their own frequencies."""
    share = (bad + 0.5) / (bad + good + 1)
    found: NDArray[np.float64] = bad * np.log(share) + good * np.log(1 - share)
    return found


def lower_bounds(
    extremes: NDArray[np.float64],
    good: RunMask,
    tolerated: int,
    *,
    whole: bool,
    rounding: BoundRounding = fewest_digits,
) -> Iterator[FittedBound]:
    """As `upper_bounds`, from below; `extremes` has the smallest number of each run."""
    for found in upper_bounds(-extremes, good, tolerated, whole=whole, rounding=rounding):
        yield found._replace(value=-found.value)


def _beyond(extremes: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each level, the number of runs beyond it."""
    return len(extremes) - np.searchsorted(np.sort(extremes), levels, side="right")


def roundest(low: float, high: float, *, whole: bool = False) -> float:
    """The number from `low` up to, not including, `high` with the fewest digits."""
    if low <= 0 < high:
        return 0.0
    if high <= 0:  # from below: -high < x <= -low
        start, end = -high, -low
        return -_roundest(start, end, above=True, whole=whole)
    return _roundest(low, high, above=False, whole=whole)


def _roundest(low: float, high: float, *, above: bool, whole: bool) -> float:
    """The roundest number in [low, high), or in (low, high] if `above`."""
    exponent = math.floor(math.log10(high)) + 1
    for power in range(exponent, exponent - 18, -1):
        if whole and power < 0:
            break
        for half in (1, 2):  # multiples of 10, then of 5
            unit = Decimal(10) ** power / half
            if whole and unit != int(unit):
                continue
            scaled = Decimal(low) / unit
            least = scaled.to_integral_value(rounding="ROUND_CEILING")
            if above and least == scaled:
                least += 1
            found = least * unit
            if found < Decimal(high) or (above and found <= Decimal(high)):
                return float(found)
    return high if above else low


def allowed_values(
    seen: Mapping[LeafValue, RunMask], good: RunMask, tolerated: int
) -> Iterator[list[LeafValue]]:
    """The sets of values to allow, given the runs with each value: the smallest one first.

    Values that good runs have more often, relative to bad ones, are allowed before others; those
    that only bad runs have are not allowed. At most so many good runs have another value.
    """
    goods, bads = max(1, int(good.sum())), max(1, int((~good).sum()))

    def in_good(value: LeafValue) -> int:
        return int((seen[value] & good).sum())

    def badness(value: LeafValue) -> float:
        return int((seen[value] & ~good).sum()) / bads / max(0.5, in_good(value)) * goods

    wanted = sorted((v for v in seen if in_good(v)), key=lambda v: (badness(v), str(v)))
    for size in range(1, min(len(wanted), MAX_VALUES) + 1):
        others = [seen[value] for value in seen if value not in wanted[:size]]
        without = np.logical_or.reduce(others) if others else np.zeros_like(good)
        if int((without & good).sum()) <= tolerated:
            yield wanted[:size]
