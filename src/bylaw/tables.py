"""A table: for people in a terminal, for spreadsheets as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bylaw.values import Json

Cell: TypeAlias = str | int | float | None
Kind: TypeAlias = Literal["text", "count", "share", "percent", "change", "number"]
Mark: TypeAlias = Literal["best", "worst"]

_FORMATS: Final[dict[Kind, str]] = {
    "text": "{}",
    "count": "{:,}",
    "share": "{:.3f}",
    "percent": "{:.2%}",
    "change": "{:+.3f}",
    "number": "{:,.1f}",
}
MARKS: Final[dict[Mark, str]] = {"best": "▲", "worst": "▼"}
NOTHING: Final = "—"
"""What stands where there is no value."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and how its values are written."""

    title: str
    kind: Kind = "text"

    def written(self, value: Cell) -> str:
        """A value as people read it."""
        return NOTHING if value is None else _FORMATS[self.kind].format(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns. `name` is that of its file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    marks: dict[tuple[int, int], Mark] = field(default_factory=dict)
    """Cells, by row and column, that stand out."""

    def text(self) -> str:
        """The table for a terminal."""
        cells = [[column.title for column in self.columns], *self._written()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self._line(row, widths) for row in cells]
        rule = "  ".join("─" * width for width in widths)
        notes = [f"  {note}" for note in self.notes]
        return "\n".join([self.title, f"  {lines[0]}", f"  {rule}", *_indented(lines[1:]), *notes])

    def _written(self) -> list[list[str]]:
        return [
            [
                column.written(value) + self._mark(r, c)
                for c, (column, value) in enumerate(zip(self.columns, row, strict=True))
            ]
            for r, row in enumerate(self.rows)
        ]

    def _mark(self, row: int, column: int) -> str:
        if not any(marked == column for _, marked in self.marks):
            return ""
        mark = self.marks.get((row, column))
        return f" {MARKS[mark]}" if mark else "  "

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        return "  ".join(
            f"{cell:<{width}}" if column.kind == "text" else f"{cell:>{width}}"
            for cell, width, column in zip(row, widths, self.columns, strict=True)
        ).rstrip()

    def to_dict(self) -> dict[str, Json]:
        """The table as JSON: a mapping per row."""
        titles = [column.title for column in self.columns]
        rows = [dict(zip(titles, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def csv(self) -> str:
        """The table for a spreadsheet: values as they are, nothing where there is none."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(column.title for column in self.columns)
        writer.writerows(self.rows)
        return out.getvalue()


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
