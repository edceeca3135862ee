"""What results say: each analysis takes runs and gives a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bylaw.bench.analysis.enforcement import enforcement
from bylaw.bench.analysis.layers import layers
from bylaw.bench.analysis.overview import overview
from bylaw.bench.analysis.runs import Run
from bylaw.tables import Table

ANALYSES: Final[tuple[Callable[[Sequence[Run]], Table], ...]] = (overview, layers, enforcement)
