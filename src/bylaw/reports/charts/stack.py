"""Stacked bars: the parts of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bylaw.reports.charts.axes import Scale, labels, places, scale
from bylaw.reports.charts.frame import TITLE, Drawing, legend, side_by_side, stacked, titled, tone
from bylaw.reports.charts.points import MEASURE, Point, facet, having
from bylaw.reports.charts.svg import mark, tag, text

HEIGHT, LENGTH = 18.0, 330.0


@dataclass(frozen=True, slots=True)
class StackedBars:
    """A bar for each row, with a segment for each value of `part`."""

    row: tuple[str, ...]
    part: str = MEASURE
    panel: str | None = None

    def draw(self, points: Sequence[Point]) -> Drawing:
        """The chart."""
        rows = facet(points, *self.row)
        parts = [name for (name,) in facet(points, self.part)]
        panels = facet(points, self.panel) if self.panel else [()]
        drawn = []
        for panel in panels:
            among = having(points, [self.panel], panel) if self.panel else points
            bars = self._panel(among, rows, parts)
            drawn.append(titled(panel[0], bars) if panel else bars)
        chart = side_by_side([labels(rows, HEIGHT, TITLE if self.panel else 0), *drawn])
        return stacked([chart, legend(parts, self.part, chart.width)], gap=10)

    def _panel(
        self, points: Sequence[Point], rows: Sequence[tuple[str, ...]], parts: Sequence[str]
    ) -> Drawing:
        tops, height = places(rows, HEIGHT)
        found = [having(points, self.row, row) for row in rows]
        axis = scale((sum(p.value or 0 for p in among) for among in found), LENGTH)
        drawn = axis.lines(height)
        for top, among in zip(tops, found, strict=True):
            drawn += self._bar(among, axis, top, parts)
        return Drawing(LENGTH + 16, height + 18, tuple(drawn))

    def _bar(
        self, points: Sequence[Point], axis: Scale, top: float, parts: Sequence[str]
    ) -> list[str]:
        drawn, x = [], 0.0
        for point in points:
            if point.value:
                wide = axis.at(point.value)
                kind = f"fill {tone(point.at[self.part], parts)}"
                shape = {"x": x, "y": top + 2, "width": wide, "height": HEIGHT - 4}
                drawn.append(mark(point, tag("rect", {"class": kind, **shape})))
                x += wide
        return drawn or [text(4, top + HEIGHT / 2 + 4, "none", kind="value")]
