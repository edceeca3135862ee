"""Cells and rows of the tables on results pages, and the files they are made from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bylaw.tables import Cell, Interval, Table


def read_runs(path: Path) -> list[dict[str, Any]]:
    """The runs in a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def page_table(names: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: str = "") -> str:
    """A table in Markdown; `numbers` has an r for each column to be aligned on the right."""
    aligned = (": " if mark == "r" else " " for mark in numbers.ljust(len(names)))
    lines = [names, [f"---{end}".rstrip() for end in aligned], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(table: Table) -> dict[tuple[Cell, Cell], Sequence[Any]]:
    """The values of each set and model: compliance, interval, accuracy, interval, calls."""
    return {(row[0], row[1]): row[3:] for row in table.rows}


def percent(share: float) -> str:
    """A share in percent."""
    return f"{share:.1%}".replace("%", " %")


def change(value: float, interval: Interval, format: str) -> str:
    """A difference and its interval; bold where zero is outside, as both are written."""
    number, low, high = (f"{each:{format}}" for each in (value, *interval))
    shown = f"**{number}**" if float(low) > 0 or float(high) < 0 else number
    return f"{shown} [{low}, {high}]".replace("-", "−")
