"""Points: the values of a table, each with the facets that identify it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.procedure.procedure import LAYERS
from bylaw.tables import Column, Interval, Table, as_number

MEASURE: Final = "measure"
"""The facet that names the column of a value."""
_RANKS: Final = {layer: rank for rank, layer in enumerate(LAYERS, 1)}


@dataclass(frozen=True, slots=True)
class Point:
    """A value and its facets: `{"model": "m", "setting": "baseline", "measure": "full"}`."""

    at: Mapping[str, str]
    value: float | None
    written: str
    """The value as the table writes it."""
    interval: Interval | None = None
    """The interval of the value, if the table has one."""

    def tooltip(self) -> str:
        """The facets and the value as text, with the interval if there is one."""
        around = "" if self.interval is None else " ({:.3f} to {:.3f})".format(*self.interval)
        return f"{' · '.join(self.at.values())}: {self.written}{around}"


def points(table: Table) -> list[Point]:
    """The values of a table, row by row. Text columns become facets."""
    texts = [place for place, column in enumerate(table.columns) if column.kind == "text"]
    found = []
    for row in table.rows:
        at = {table.columns[place].title: str(row[place]) for place in texts}
        cells = list(zip(table.columns, row, strict=True))
        intervals = {column.name: cell for column, cell in cells if isinstance(cell, tuple)}
        for column, value in cells:
            if column.kind != "text" and not column.kind.endswith("interval"):
                number = None if value is None else as_number(value)
                around = intervals.get(f"{column.name} interval")
                facets = {**at, **_about(column)}
                found.append(Point(facets, number, column.text(value), around))
    return found


def _about(column: Column) -> Mapping[str, str]:
    return column.about or {MEASURE: column.title}


def facet(found: Iterable[Point], *names: str) -> list[tuple[str, ...]]:
    """The distinct combinations of some facets, in order of appearance.

    Layers are sorted, because not every model has all of them.
    """
    seen = dict.fromkeys(tuple(point.at.get(name, "") for name in names) for point in found)
    return sorted(seen, key=lambda values: [_RANKS.get(value, 0) for value in values])


def panel_rows(
    found: Sequence[Point], panels: tuple[str, str]
) -> Iterator[list[tuple[str, list[Point]]]]:
    """The titles and points of panels: one row of them for each value of the first facet."""
    down, across = panels
    for (first,) in facet(found, down):
        row = having(found, [down], [first])
        yield [
            (f"{first}, {second}", having(row, [across], [second]))
            for (second,) in facet(row, across)
        ]


def having(found: Iterable[Point], names: Sequence[str], values: Sequence[str]) -> list[Point]:
    """The points whose facets have these values."""
    wanted = tuple(values)
    return [point for point in found if tuple(point.at.get(name, "") for name in names) == wanted]
