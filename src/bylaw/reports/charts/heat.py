"""Heat maps: a number in each cell, shaded by its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bylaw.reports.charts.axes import labels, places
from bylaw.reports.charts.frame import TITLE, Drawing, side_by_side, stacked
from bylaw.reports.charts.points import MEASURE, Point, facet, having, panel_rows
from bylaw.reports.charts.svg import mark, tag, text, width_of

WIDTH, HEIGHT = 46.0, 20.0
SHADES = 10
"""The number of the darkest shade; the lightest is 0."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A map with a row for each value of `row` and a column for each value of `column`.

    With `panels` there is a map for each pair of values: the first facet runs from top to bottom,
    the second from left to right.
    """

    row: tuple[str, ...]
    column: str = MEASURE
    panels: tuple[str, str] | None = None

    def draw(self, points: Sequence[Point]) -> Drawing:
        """The chart."""
        rows = facet(points, *self.row)
        head = _head(points, self.column)
        if self.panels is None:
            return side_by_side([labels(rows, HEIGHT, head), self._map(points, rows)], gap=6)
        names = labels(rows, HEIGHT, head + TITLE)
        lines = []
        for row in panel_rows(points, self.panels):
            maps = [self._map(among, rows, title) for title, among in row]
            lines.append(side_by_side([names, side_by_side(maps, gap=22)], gap=6))
        return stacked(lines, gap=22)

    def _map(
        self, points: Sequence[Point], rows: Sequence[tuple[str, ...]], title: str = ""
    ) -> Drawing:
        columns = [name for (name,) in facet(points, self.column)]
        head = _head(points, self.column) + (TITLE if title else 0)
        tops, height = places(rows, HEIGHT)
        slanted = _slanted(columns)
        parts = [text(0, 10, title, kind="heading")] if title else []
        for place, name in enumerate(columns):
            x = (place + 0.5) * WIDTH
            turn = {"anchor": "start", "turn": -38.0} if slanted else {"anchor": "middle"}
            parts.append(text(x - 4 * slanted, head - 6, name, kind="label", **turn))
        for top, row in zip(tops, rows, strict=True):
            for point in having(points, self.row, row):
                x = columns.index(point.at[self.column]) * WIDTH
                parts.append(_cell(point, x, head + top))
        spare = width_of(columns[-1]) * 0.75 - WIDTH / 2 if slanted else 0
        wide = max(len(columns) * WIDTH + max(spare, 0), width_of(title))
        return Drawing(wide, head + height, tuple(parts))


def _cell(point: Point, x: float, y: float) -> str:
    middle = x + WIDTH / 2
    if point.value is None:
        return mark(point, text(middle, y + 14, point.written, anchor="middle", kind="value"))
    shade = round(max(0.0, min(1.0, point.value)) * SHADES)
    shape = {"x": x, "y": y, "width": WIDTH - 1, "height": HEIGHT - 1, "rx": 2}
    number = f"{point.value:.2f}".removeprefix("0")
    return mark(
        point,
        tag("rect", {"class": f"shade-{shade}", **shape}),
        text(middle, y + 14, number, anchor="middle", kind=f"number on-{shade}"),
    )


def _slanted(columns: Sequence[str]) -> bool:
    """True if the names are too wide to be written horizontally."""
    return max(map(width_of, columns)) > WIDTH


def _head(points: Sequence[Point], column: str) -> float:
    """The height that the names of columns need."""
    columns = [name for (name,) in facet(points, column)]
    return max(map(width_of, columns)) * 0.62 + 16 if _slanted(columns) else 18
