"""Analyses of the study's results: each turns run records into a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.bench.analysis.runs import Analysis
from bylaw.groundstudy.analysis.tables import (
    behaviour,
    categories,
    location,
    popularity,
    popularity_by_model,
    strict_effect,
)

ANALYSES: Final[Mapping[str, Analysis]] = {
    "categories": categories,
    "strict": strict_effect,
    "behaviour": behaviour,
    "location": location,
    "popularity": popularity,
    "popularity-by-model": popularity_by_model,
}
"""The analyses by the names of their tables, in the order of a report."""
