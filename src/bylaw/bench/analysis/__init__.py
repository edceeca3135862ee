"""Analyses of benchmark results: each turns run records into a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.bench.analysis.breakdowns import correlations, difficulties, structures, templates
from bylaw.bench.analysis.certainty import guessable, intervals, models
from bylaw.bench.analysis.gate import effects, enforcement, events, floor, gap
from bylaw.bench.analysis.layers import layers, loss, pooled, reached
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import Analysis

ANALYSES: Final[Mapping[str, Analysis]] = {
    "overview": overview,
    "intervals": intervals,
    "guessable": guessable,
    "models": models,
    "effects": effects,
    "gap": gap,
    "floor": floor,
    "layers": layers,
    "pooled": pooled,
    "reached": reached,
    "loss": loss,
    "templates": templates,
    "structures": structures,
    "difficulties": difficulties,
    "events": events,
    "enforcement": enforcement,
    "correlations": correlations,
}
"""The analyses by the names of their tables, in the order of a report."""
