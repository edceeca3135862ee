"""Labels at the left: rows of one or two names, the first of them once for each group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from bylaw.reports.charts.frame import Drawing
from bylaw.reports.charts.svg import NORMAL, text, width_of

GAP, GROUP_GAP = 12.0, 8.0
BOLD = NORMAL * 1.1
"""A size as wide as bold type is."""


def places(rows: Sequence[tuple[str, ...]], height: float) -> tuple[list[float], float]:
    """The top of each row, with a gap between groups, and the height of all."""
    tops, y = [], 0.0
    for place, row in enumerate(rows):
        if place and len(row) > 1 and row[0] != rows[place - 1][0]:
            y += GROUP_GAP
        tops.append(y)
        y += height
    return tops, y


def labels(rows: Sequence[tuple[str, ...]], height: float, top: float = 0) -> Drawing:
    """The names of rows; where they have two, the first stands above the rows that share it."""
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
