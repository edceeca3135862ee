"""What results say: each analysis takes runs and gives a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.bench.analysis.breakdowns import difficulties, structures, templates
from bylaw.bench.analysis.correlation import correlations
from bylaw.bench.analysis.effects import effects
from bylaw.bench.analysis.enforcement import enforcement
from bylaw.bench.analysis.floor import floor
from bylaw.bench.analysis.gap import gap
from bylaw.bench.analysis.layers import layers
from bylaw.bench.analysis.loss import loss
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.reached import reached
from bylaw.bench.analysis.runs import Run
from bylaw.tables import Table

Analysis: TypeAlias = Callable[[Sequence[Run]], Table]

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
