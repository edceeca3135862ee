"""From values to pixels, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bylaw.reports.charts.svg import line, text


@dataclass(frozen=True, slots=True)
class Scale:
    """The values from `low` to `high`, over a length in pixels."""

    low: float
    high: float
    length: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a value lies."""
        return self.length * (value - self.low) / (self.high - self.low)

    def lines(self, height: float) -> list[str]:
        """A line upright at each tick, and what it stands for below."""
        return [
            part
            for tick in self.ticks
            for part in (
                line(self.at(tick), 0, self.at(tick), height, "axis" if tick == 0 else "grid"),
                text(self.at(tick), height + 13, f"{tick:,g}", anchor="middle", kind="tick"),
            )
        ]


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def scale(values: Iterable[float], length: float) -> Scale:
    """A scale that holds 0 and the values; for shares it is always that from 0 to 1."""
    known = [0.0, *values]
    low, high = min(known), max(known)
    if low >= 0 and high <= 1 + 1e-9:  # sums of shares may be off by a little
        return Scale(0, 1, length, SHARES)
    step = _round(max(high - low, 1e-9) / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple(round(place * step, 10) for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], length, ticks)


def _round(number: float) -> float:
    """The next larger of 1, 2, 5, 10, 20, …"""
    power = 10.0 ** math.floor(math.log10(number))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= number * 0.999)
