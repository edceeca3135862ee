"""What the results of the study say: each analysis takes runs and gives a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.bench.analysis.runs import Run
from bylaw.groundstudy.analysis.behaviour import behaviour
from bylaw.groundstudy.analysis.categories import categories
from bylaw.groundstudy.analysis.location import location
from bylaw.groundstudy.analysis.popularity import popularity, popularity_by_model
from bylaw.groundstudy.analysis.strict import strict_effect
from bylaw.tables import Table

Analysis: TypeAlias = Callable[[Sequence[Run]], Table]

ANALYSES: Final[Mapping[str, Analysis]] = {
    "categories": categories,
    "strict": strict_effect,
    "behaviour": behaviour,
    "location": location,
    "popularity": popularity,
    "popularity-by-model": popularity_by_model,
}
"""By the name of the table that each gives, in the order of a report."""
