"""What charts draw: a table's values one by one, each with all that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.procedure.constraint import LAYERS
from bylaw.tables import Column, Table

MEASURE: Final = "measure"
"""The facet that says which column a value is from."""
_RANKS: Final = {layer: rank for rank, layer in enumerate(LAYERS, 1)}


@dataclass(frozen=True, slots=True)
class Point:
    """A value, and what it is about: `{"model": "m", "setting": "baseline", "measure": "full"}`."""

    at: Mapping[str, str]
    value: float | None
    written: str
    """The value as the table writes it."""

    def told(self) -> str:
        """The value in words, for whoever points at it."""
        return f"{' · '.join(self.at.values())}: {self.written}"


def points(table: Table) -> list[Point]:
    """The values of a table, row by row. Columns of text are what they are about."""
    texts = [place for place, column in enumerate(table.columns) if column.kind == "text"]
    found = []
    for row in table.rows:
        at = {table.columns[place].title: str(row[place]) for place in texts}
        for column, value in zip(table.columns, row, strict=True):
            if column.kind != "text":
                number = None if value is None else float(value)
                found.append(Point({**at, **_about(column)}, number, column.text(value)))
    return found


def _about(column: Column) -> Mapping[str, str]:
    return column.about or {MEASURE: column.title}


def facet(found: Iterable[Point], *names: str) -> list[tuple[str, ...]]:
    """What the points are about, by some facets: each combination once.

    In order of appearance; but layers, which not every model has all of, in theirs.
    """
    seen = dict.fromkeys(tuple(point.at.get(name, "") for name in names) for point in found)
    return sorted(seen, key=lambda values: [_RANKS.get(value, 0) for value in values])


def having(found: Iterable[Point], names: Sequence[str], values: Sequence[str]) -> list[Point]:
    """The points that are about these values."""
    wanted = tuple(values)
    return [point for point in found if tuple(point.at.get(name, "") for name in names) == wanted]
