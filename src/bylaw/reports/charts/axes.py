"""The axes of charts: scales with ticks at round numbers, and labels of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from bylaw.reports.charts.frame import Drawing
from bylaw.reports.charts.svg import NORMAL, line, text, width_of


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from `low` to `high` over a length in pixels."""

    low: float
    high: float
    length: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """The position of a value, in pixels."""
        return self.length * (value - self.low) / (self.high - self.low)

    def lines(self, height: float) -> list[str]:
        """A vertical line at each tick, with its value below."""
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
    """A scale that covers 0 and the values. For shares it runs from 0 to 1."""
    known = [0.0, *values]
    low, high = min(known), max(known)
    if low >= 0 and high <= 1 + 1e-9:  # sums of shares have rounding errors
        return Scale(0, 1, length, SHARES)
    step = _round(max(high - low, 1e-9) / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple(round(place * step, 10) for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], length, ticks)


def _round(number: float) -> float:
    """The next larger number of the series 1, 2, 5, 10, 20, …"""
    power = 10.0 ** math.floor(math.log10(number))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= number * 0.999)


GAP, GROUP_GAP = 12.0, 8.0
BOLD = NORMAL * 1.1
"""The font size whose width matches bold type."""


def places(rows: Sequence[tuple[str, ...]], height: float) -> tuple[list[float], float]:
    """The top of each row, with a gap between groups, and the total height."""
    tops, y = [], 0.0
    for place, row in enumerate(rows):
        if place and len(row) > 1 and row[0] != rows[place - 1][0]:
            y += GROUP_GAP
        tops.append(y)
        y += height
    return tops, y


def labels(rows: Sequence[tuple[str, ...]], height: float, top: float = 0) -> Drawing:
    """The names of rows. If they have two, the first is written once per group."""
    tops, whole = places(rows, height)
    two = len(rows[0]) > 1
    wide = [max(width_of(row[n], BOLD if two else NORMAL) for row in rows) for n in range(1 + two)]
    parts: list[str] = []
    for name, group in groupby(range(len(rows)), key=lambda place: rows[place][0]):
        first, *_ = members = list(group)
        middle = top + tops[first] + height / 2 + 4
        parts.append(text(0, middle, name, kind="label strong" if two else "label"))
        for place in members if two else ():
            y = top + tops[place] + height / 2 + 4
            parts.append(text(wide[0] + GAP, y, rows[place][1], kind="label"))
    return Drawing(sum(wide) + GAP * len(wide), top + whole, tuple(parts))
