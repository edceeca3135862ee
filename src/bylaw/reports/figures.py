"""Figures: the charts of a benchmark report, and the curves of a training run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from bylaw.bench.analysis.runs import FLOOR, SIMULATED
from bylaw.procedure.procedure import LAYERS
from bylaw.reports.charts import frame
from bylaw.reports.charts.bars import BarChart
from bylaw.reports.charts.frame import Drawing
from bylaw.reports.charts.heat import HeatMap
from bylaw.reports.charts.lines import LineChart, ScatterPlot
from bylaw.reports.charts.points import MEASURE, Point, points
from bylaw.reports.charts.stack import StackedBars
from bylaw.tables import Table

FIGURE: Final = "<!-- a figure by bylaw -->"
"""The mark of a figure in a file of its own."""
STYLE: Final = (Path(frame.__file__).parent / "charts.css").read_text(encoding="utf-8")
"""The style sheet that every page with charts needs."""


class Chart(Protocol):
    """A way of drawing points."""

    def draw(self, points: Sequence[Point]) -> Drawing: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of some measures of a table."""

    name: str
    table: str
    title: str
    chart: Chart
    measures: Collection[str] = ()
    """The measures shown; empty for all."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Values of facets that are left out."""
    shown_with: str | None = None
    """The table that the figure is shown with, if not its own."""

    def svg(self, table: Table) -> str | None:
        """The figure for a page with `STYLE`; None if the table has nothing to draw."""
        found = [point for point in points(table) if self._shows(point)]
        if all(point.value is None for point in found):
            return None
        drawing = self.chart.draw(found)
        invented = [note for note in table.notes if note.startswith(SIMULATED)]
        small = frame.notes(invented, drawing.width)
        return frame.picture(self.title, frame.stacked([drawing, small], gap=12))

    def _shows(self, point: Point) -> bool:
        wanted = not self.measures or point.at[MEASURE] in self.measures
        return wanted and all(point.at.get(key) != value for key, value in self.without.items())


_BY_MODEL_AND_SETTING: Final = ("model", "setting")
_PANELS: Final = (MEASURE, "setting")

FIGURES: Final = (
    Figure(
        "overview",
        "intervals",
        "Compliance and accuracy, with 95 % intervals by prompt",
        BarChart("model", "setting"),
        shown_with="overview",
    ),
    Figure(
        "effects",
        "effects",
        "Changes against baseline: compliance, accuracy, executed calls",
        BarChart("model", "setting"),
        ("compliance", "accuracy", "calls"),
    ),
    Figure(
        "gap",
        "gap",
        "Block-and-warn minus soft-block",
        BarChart("model", "model"),
        ("compliance gap", "accuracy gap"),
    ),
    Figure(
        "floor",
        "floor",
        "Compliance above the gate-only floor",
        BarChart("model", "setting"),
        ("above", "of the rest"),
    ),
    Figure(
        "layers",
        "layers",
        "Pass rate per layer",
        HeatMap(_BY_MODEL_AND_SETTING),
        tuple(LAYERS),
    ),
    Figure(
        "reached",
        "reached",
        "Pass rate per layer, among the rules reached",
        HeatMap(_BY_MODEL_AND_SETTING),
    ),
    Figure(
        "loss",
        "loss",
        "Share of the weighted loss per layer",
        StackedBars(_BY_MODEL_AND_SETTING),
        tuple(LAYERS),
    ),
    Figure(
        "templates",
        "templates",
        "Compliance and accuracy by template",
        HeatMap(("template",), "model", _PANELS),
    ),
    Figure(
        "structures",
        "structures",
        "Compliance and accuracy by structure",
        HeatMap(("structure",), "model", _PANELS),
    ),
    Figure(
        "difficulties",
        "difficulties",
        "Compliance and accuracy by difficulty",
        LineChart("difficulty", "model", _PANELS),
    ),
    Figure(
        "enforcement",
        "enforcement",
        "Interventions per layer, without the floor",
        StackedBars(("layer",), "model", "setting"),
        ("events",),
        {"layer": "all", "model": FLOOR},
    ),
    Figure(
        "insistence",
        "enforcement",
        "Insist rate per layer, without the floor",
        BarChart("layer", "model", "setting"),
        ("insist rate",),
        {"layer": "all", "model": FLOOR},
    ),
    Figure(
        "correlations",
        "templates",
        "Compliance against accuracy, a dot for each template",
        ScatterPlot("compliance", "accuracy", "model", "setting"),
        shown_with="correlations",
    ),
)


def standalone(svg: str) -> str:
    """A figure as an SVG file."""
    start = svg.index(">") + 1
    return f"{svg[:start]}{FIGURE}<style>{STYLE}</style>{svg[start:]}\n"


def curves_svg(table: Table) -> str | None:
    """The curves of the reward terms as an SVG file; None if nothing was logged."""
    chart = LineChart("after", "phase", ("run", MEASURE))
    svg = Figure("curves", table.name, table.title, chart).svg(table)
    return None if svg is None else standalone(svg)
