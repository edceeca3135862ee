"""Tables: as text for a terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bylaw.terminal import in_line
from bylaw.values import Json

Interval: TypeAlias = tuple[float, float]
Cell: TypeAlias = str | int | float | Interval | None
ColumnKind: TypeAlias = Literal[
    "text",
    "count",
    "share",
    "rate",
    "percent",
    "change",
    "number",
    "difference",
    "share interval",
    "percent interval",
    "change interval",
    "difference interval",
]
Mark: TypeAlias = Literal["best", "worst"]

_FORMATS: Final[dict[ColumnKind, str]] = {
    "text": "{}",
    "count": "{:,}",
    "share": "{:.3f}",
    "rate": "{:.2f}",
    "percent": "{:.2%}",
    "change": "{:+z.3f}",
    "number": "{:,.1f}",
    "difference": "{:+z,.1f}",
    "share interval": "[{0[0]:.3f}, {0[1]:.3f}]",
    "percent interval": "[{0[0]:.1%}, {0[1]:.1%}]",
    "change interval": "[{0[0]:+.3f}, {0[1]:+.3f}]",
    "difference interval": "[{0[0]:+.1f}, {0[1]:+.1f}]",
}
MARKS: Final[dict[Mark, str]] = {"best": "▲", "worst": "▼"}
NO_VALUE: Final = "—"
WIDTH: Final = 80
"""The widest table that is not folded."""


def as_number(cell: Cell) -> float:
    """The number in a cell."""
    assert isinstance(cell, int | float), cell
    return float(cell)


@dataclass(frozen=True, slots=True)
class Column:
    """A column and the format of its values."""

    title: str
    kind: ColumnKind = "text"
    about: Mapping[str, str] = field(default_factory=dict)
    """The facets of its values, if the title is too short for them: `{"setting": "baseline"}`."""

    @property
    def name(self) -> str:
        """Its name in CSV and JSON."""
        return " ".join(self.about.values()) or self.title

    def text(self, value: Cell) -> str:
        """A value, formatted."""
        return NO_VALUE if value is None else _FORMATS[self.kind].format(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns. `name` is the name of its file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)
    """Highlighted cells, by row and column."""

    def text(self) -> str:
        """The table for a terminal. If it is too wide, its first column heads groups of rows."""
        lines = self._lines()
        repeats = len({row[0] for row in self.rows}) < len(self.rows)
        if repeats and max(map(len, lines)) > WIDTH:
            lines = self._folded_lines()
        return "\n".join([in_line(self.title), *lines, *(_note(note) for note in self.notes)])

    def cells(self) -> list[list[str]]:
        """The formatted cells, without marks."""
        return [
            [column.text(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def _lines(self) -> list[str]:
        return [f"  {line}" for line in _aligned(self.columns, self._marked())]

    def _folded_lines(self) -> list[str]:
        rest = [row[1:] for row in self._marked()]
        head, rule, *lines = _aligned(self.columns[1:], rest)
        found = [f"    {head}", f"    {rule}"]
        group: Cell = None
        for row, line in zip(self.rows, lines, strict=True):
            if row[0] != group:
                group = row[0]
                found.append(f"  {in_line(self.columns[0].text(group))}")
            found.append(f"    {line}")
        return found

    def _marked(self) -> list[list[str]]:
        with_marks = {column for _, column in self.marks}
        return [
            [
                in_line(cell) + (self._mark(r, c) if c in with_marks else "")
                for c, cell in enumerate(row)
            ]
            for r, row in enumerate(self.cells())
        ]

    def _mark(self, row: int, column: int) -> str:
        mark = self.marks.get((row, column))
        return f" {MARKS[mark]}" if mark else "  "

    def to_dict(self) -> dict[str, Json]:
        """The table as JSON: an object for each row."""
        names = [column.name for column in self.columns]
        rows: list[Json] = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def csv(self) -> str:
        """The table as CSV: plain numbers, intervals in brackets, empty cells for no value."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            writer.writerow(column.text(v) if isinstance(v, tuple) else v for column, v in cells)
        return out.getvalue()


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The titles, a line and the rows. Text is aligned left, numbers right."""
    cells = [[column.title for column in columns], *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            f"{cell:<{width}}" if column.kind == "text" else f"{cell:>{width}}"
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    ]
    return [lines[0], "  ".join("─" * width for width in widths), *lines[1:]]


def _note(note: str) -> str:
    return textwrap.fill(
        note,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        break_long_words=False,
    )
