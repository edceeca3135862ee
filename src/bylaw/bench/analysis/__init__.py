"""What results say: each analysis takes runs and gives a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.bench.analysis.breakdowns import correlations, difficulties, structures, templates
from bylaw.bench.analysis.gate import effects, enforcement, floor, gap
from bylaw.bench.analysis.layers import layers, loss, reached
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import RunRecord
from bylaw.tables import Table

Analysis: TypeAlias = Callable[[Sequence[RunRecord]], Table]

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
"""By the name of the table that each gives, in the order of a report."""
