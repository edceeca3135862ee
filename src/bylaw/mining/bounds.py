"""Bounds and lists of values that tell good runs from bad ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.candidate import RunMask
from bylaw.mining.leaves import LeafValue

_DIGIT: Final = 3.0
"""A bound with one digit less may explain the labels worse by so many nats."""
MAX_VALUES: Final = 8
"""The most values that a rule lists."""


class FittedBound(NamedTuple):
    """A bound on a number: the runs whose number is beyond it break the rule."""

    value: float
    violated: RunMask
    levels: int
    """The number of bounds among which it was chosen."""


def upper_bound(
    extremes: NDArray[np.float64], good: RunMask, tolerated: int, *, whole: bool
) -> FittedBound | None:
    """The bound that most bad runs exceed and at most so many good ones.

    `extremes` has the largest number of each run, and minus infinity where there is none. Bounds
    with fewer digits may explain the labels a little worse: people choose round numbers.
    """
    levels = np.unique(extremes[np.isfinite(extremes)])
    if len(levels) < 2 or good.all():
        return None
    in_good = _beyond(extremes[good], levels)[:-1]
    in_bad = _beyond(extremes[~good], levels)[:-1]
    gains = label_gain(in_bad, in_good, int((~good).sum()), int(good.sum()))
    gains[in_good > tolerated] = -np.inf
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return None
    likely = np.flatnonzero(gains > gains[best] - 2 * _DIGIT)
    rounded = [roundest(float(levels[n]), float(levels[n + 1]), whole=whole) for n in likely]
    digits = np.array([_digits(bound) for bound in rounded])
    bound = rounded[int(np.argmax(gains[likely] - _DIGIT * digits))]
    return FittedBound(bound, extremes > bound, len(levels))


def _digits(number: float) -> float:
    """The digits before the zeros at the end; a last 5 counts as half of one."""
    text = f"{Decimal(repr(number)).normalize():f}".strip("-").replace(".", "").strip("0")
    return max(1.0, len(text) - 0.5 * text.endswith("5"))


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


def lower_bound(
    extremes: NDArray[np.float64], good: RunMask, tolerated: int, *, whole: bool
) -> FittedBound | None:
    """As `upper_bound`, from below; `extremes` has the smallest number of each run."""
    found = upper_bound(-extremes, good, tolerated, whole=whole)
    return None if found is None else FittedBound(-found.value, *found[1:])


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
) -> list[LeafValue] | None:
    """The values that good runs have, given the runs with each value.

    A value that few good runs have, and relatively more than twice as many bad ones, is not
    allowed. None if the values are too many for a rule.
    """
    goods, bads = max(1, int(good.sum())), max(1, int((~good).sum()))
    allowed: list[LeafValue] = []
    for value, mask in seen.items():
        in_good, in_bad = int((mask & good).sum()), int((mask & ~good).sum())
        rare = in_good <= tolerated and in_bad / bads > 2 * in_good / goods
        if in_good and not rare:
            allowed.append(value)
    return allowed if 0 < len(allowed) <= MAX_VALUES else None
