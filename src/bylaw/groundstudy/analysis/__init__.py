"""What the results of the study say: each analysis takes runs and gives a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.bench.analysis.runs import RunRecord
from bylaw.groundstudy.analysis.tables import (
    behaviour,
    categories,
    location,
    popularity,
    popularity_by_model,
    strict_effect,
)
from bylaw.tables import Table

Analysis: TypeAlias = Callable[[Sequence[RunRecord]], Table]

ANALYSES: Final[Mapping[str, Analysis]] = {
    "categories": categories,
    "strict": strict_effect,
    "behaviour": behaviour,
    "location": location,
    "popularity": popularity,
    "popularity-by-model": popularity_by_model,
}
"""By the name of the table that each gives, in the order of a report."""
