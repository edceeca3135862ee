"""Line charts and scatter plots of shares, in panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bylaw.reports.charts.axes import SHARES
from bylaw.reports.charts.frame import Drawing, legend, side_by_side, stacked, titled, tone
from bylaw.reports.charts.points import MEASURE, Point, facet, having, panel_rows
from bylaw.reports.charts.svg import line, mark, tag, text

WIDTH, HEIGHT = 250.0, 160.0
LEFT, BOTTOM = 30.0, 18.0

SHAPES = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "M-3.2-3.2h6.4v6.4h-6.4z",
    "M0-4l4 7h-8z",
    "M0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
)
"""The shapes of dots, so that series can be distinguished without colours."""


@dataclass(frozen=True, slots=True)
class LineChart:
    """Shares over the values of `x`, with a line for each value of `series`."""

    x: str
    series: str
    panels: tuple[str, str]

    def draw(self, points: Sequence[Point]) -> Drawing:
        """The chart."""
        series = [name for (name,) in facet(points, self.series)]
        steps = [name for (name,) in facet(points, self.x)]
        rows = [
            side_by_side([titled(title, self._panel(among, steps, series)) for title, among in row])
            for row in panel_rows(points, self.panels)
        ]
        chart = stacked(rows)
        keys = [_symbol(5, 5, series, name) for name in series]
        return stacked([chart, legend(series, self.series, chart.width, keys)], gap=12)

    def _panel(
        self, points: Sequence[Point], steps: Sequence[str], series: Sequence[str]
    ) -> Drawing:
        parts = _shares_upright()
        room = (WIDTH - LEFT) / len(steps)
        places = {step: LEFT + (n + 0.5) * room for n, step in enumerate(steps)}
        parts += [
            text(x, HEIGHT + 14, step, anchor="middle", kind="tick") for step, x in places.items()
        ]
        for name in series:
            known = [p for p in having(points, [self.series], [name]) if p.value is not None]
            path = [f"{places[p.at[self.x]]:.1f},{_y(p.value):.1f}" for p in known]
            kind = tone(name, series)
            about = {f"data-{self.series}": name}
            parts.append(
                tag("polyline", {"class": f"line {kind}", "points": " ".join(path)} | about)
            )
            parts += [_dot(p, places[p.at[self.x]], _y(p.value), series, name) for p in known]
        return Drawing(WIDTH, HEIGHT + BOTTOM, tuple(parts))


@dataclass(frozen=True, slots=True)
class ScatterPlot:
    """One measure plotted against another, with a dot for each remaining combination of facets."""

    x: str
    y: str
    series: str
    panel: str

    def draw(self, points: Sequence[Point]) -> Drawing:
        """The chart."""
        series = [name for (name,) in facet(points, self.series)]
        panels = [
            titled(name, self._panel(having(points, [self.panel], [name]), series))
            for (name,) in facet(points, self.panel)
        ]
        chart = side_by_side(panels)
        keys = [_symbol(5, 5, series, name) for name in series]
        return stacked([chart, legend(series, self.series, chart.width, keys)], gap=12)

    def _panel(self, points: Sequence[Point], series: Sequence[str]) -> Drawing:
        across = {_facets(p): p for p in having(points, [MEASURE], [self.x])}
        parts = _shares_upright()
        room = WIDTH - LEFT - 8
        for share in SHARES:
            x = LEFT + share * room
            parts.append(text(x, HEIGHT + 14, f"{share:g}", anchor="middle", kind="tick"))
        middle = LEFT + room / 2
        parts.append(text(middle, HEIGHT + 28, self.x, anchor="middle", kind="tick"))
        parts.append(text(0, HEIGHT / 2, self.y, anchor="middle", kind="tick", turn=-90))
        for point in having(points, [MEASURE], [self.y]):
            other = across[_facets(point)]
            if point.value is not None and other.value is not None:
                written = f"{self.x} {other.written}, {self.y} {point.written}"
                both = Point(dict(_facets(point)), point.value, written)
                x = LEFT + other.value * room
                parts.append(_dot(both, x, _y(point.value), series, point.at[self.series]))
        return Drawing(WIDTH, HEIGHT + BOTTOM + 14, tuple(parts))


def _facets(point: Point) -> tuple[tuple[str, str], ...]:
    """The facets of a point without its measure."""
    return tuple((key, value) for key, value in point.at.items() if key != MEASURE)


def _y(share: float | None) -> float:
    return HEIGHT * (1 - (share or 0.0))


def _shares_upright() -> list[str]:
    return [
        part
        for share in SHARES
        for part in (
            line(LEFT, _y(share), WIDTH, _y(share), "axis" if share == 0 else "grid"),
            text(LEFT - 5, _y(share) + 4, f"{share:g}", anchor="end", kind="tick"),
        )
    ]


def _shape(name: str, series: Sequence[str]) -> str:
    return SHAPES[series.index(name) % len(SHAPES)]


def _dot(point: Point, x: float, y: float, series: Sequence[str], name: str) -> str:
    return mark(point, _symbol(x, y, series, name))


def _symbol(x: float, y: float, series: Sequence[str], name: str) -> str:
    place = {"transform": f"translate({x:.1f} {y:.1f})", "d": _shape(name, series)}
    return tag("path", {"class": f"dot {tone(name, series)}", **place})
