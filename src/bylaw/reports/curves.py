"""The figure of a training run: the terms of the reward, while training and on what is held out."""

from __future__ import annotations

from bylaw.reports.charts.lines import Lines
from bylaw.reports.charts.points import MEASURE
from bylaw.reports.figures import Figure, standalone
from bylaw.tables import Table


def curves_svg(table: Table) -> str | None:
    """The curves as a file of their own; None if nothing was logged."""
    chart = Lines("after", "phase", ("run", MEASURE))
    svg = Figure("curves", table.name, table.title, chart).svg(table)
    return None if svg is None else standalone(svg)
