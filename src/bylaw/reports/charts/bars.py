"""Horizontal bars in groups, with a panel for each measure. Lines show intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bylaw.reports.charts.axes import Scale, scale
from bylaw.reports.charts.frame import TITLE, Drawing, legend, side_by_side, stacked, titled, tone
from bylaw.reports.charts.points import MEASURE, Point, facet, having
from bylaw.reports.charts.svg import line, mark, tag, text, width_of

THICK, GAP, GROUP_GAP = 12.0, 2.0, 10.0
LENGTH = 250.0


@dataclass(frozen=True, slots=True)
class BarChart:
    """A group of bars for each value of `group`, with a bar for each value of `series`."""

    group: str
    series: str
    panel: str = MEASURE

    def draw(self, points: Sequence[Point]) -> Drawing:
        """The chart."""
        series = [name for (name,) in facet(points, self.series)]
        places, height = self._places(points)
        drawn = [
            titled(name, self._panel(having(points, [self.panel], [name]), series, places, height))
            for (name,) in facet(points, self.panel)
        ]
        chart = side_by_side([_names(places, height), *drawn], gap=20)
        if self.series == self.group:
            return chart
        return stacked([chart, legend(series, self.series, chart.width)], gap=10)

    def _places(self, points: Sequence[Point]) -> tuple[dict[str, dict[str, float]], float]:
        """The top of each bar by group and series, the same in all panels, and the total height."""
        places: dict[str, dict[str, float]] = {}
        y = 0.0
        for (group,) in facet(points, self.group):
            members = facet(having(points, [self.group], [group]), self.series)
            places[group] = {name: y + n * (THICK + GAP) for n, (name,) in enumerate(members)}
            y += len(members) * (THICK + GAP) + GROUP_GAP
        return places, y - GROUP_GAP

    def _panel(
        self,
        points: Sequence[Point],
        series: Sequence[str],
        places: Mapping[str, Mapping[str, float]],
        height: float,
    ) -> Drawing:
        ends = (end for point in points for end in (point.value, *(point.interval or ())))
        axis = scale((end for end in ends if end is not None), LENGTH)
        bars = [
            _bar(
                point,
                axis,
                places[point.at[self.group]][point.at[self.series]],
                tone(point.at[self.series], series),
            )
            for point in points
        ]
        return Drawing(LENGTH + 44, height + 18, (*axis.lines(height), *bars))


def _names(places: Mapping[str, Mapping[str, float]], height: float) -> Drawing:
    """The names of groups, each level with the middle of its bars."""
    parts = []
    for name, tops in places.items():
        middle = (min(tops.values()) + max(tops.values()) + THICK) / 2
        parts.append(text(0, TITLE + middle + 4, name, kind="label"))
    return Drawing(max(map(width_of, places)) + 4, TITLE + height, tuple(parts))


def _bar(point: Point, axis: Scale, y: float, kind: str) -> str:
    if point.value is None:
        return mark(point, text(axis.at(0) + 4, y + 10, point.written, kind="value"))
    start, end = sorted((axis.at(0), axis.at(point.value)))
    shape = {"x": start, "y": y, "width": max(end - start, 1.0), "height": THICK, "rx": 2}
    low, high = (axis.at(value) for value in point.interval or (point.value, point.value))
    whisker = [line(low, y + THICK / 2, high, y + THICK / 2, "whisker")] * bool(point.interval)
    return mark(
        point,
        tag("rect", {"class": f"fill {kind}", **shape}),
        *whisker,
        text(max(end, high, axis.at(0)) + 4, y + 10, point.written, kind="value"),
    )
