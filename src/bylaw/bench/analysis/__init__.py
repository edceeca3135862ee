"""Analyses of benchmark results: each turns run records into a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.bench.analysis.breakdowns import correlations, difficulties, structures, templates
from bylaw.bench.analysis.gate import effects, enforcement, floor, gap
from bylaw.bench.analysis.layers import layers, loss, reached
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import Analysis

ANALYSES: Final[Mapping[str, Analysis]] = {
    "overview": overview,
    "effects": effects,
    "gap": gap,
    "floor": floor,
    "layers": layers,
    "reached": reached,
    "loss": loss,
    "templates": templates,
    "structures": structures,
    "difficulties": difficulties,
    "enforcement": enforcement,
    "correlations": correlations,
}
"""The analyses by the names of their tables, in the order of a report."""
