"""Printing for the benchmarks: aligned columns, and times in a unit that reads well."""

from __future__ import annotations

from collections.abc import Sequence


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table; the first column is text, the others are numbers."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, ["─" * width for width in widths], *rows]:
        first, *others = row
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  " + "  ".join([first.ljust(widths[0]), *cells]))


def duration(seconds: float) -> str:
    """A time as people read it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def times(ratio: float) -> str:
    """A ratio: `310 ×`."""
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def target(what: str, value: float, limit: float, *, at_least: bool, unit: str = "×") -> None:
    """Prints a number beside what it should be."""
    met = value >= limit if at_least else value <= limit
    sign, shown = ("≥" if at_least else "≤"), f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    print(f"  {what}: {shown} {unit} (target {sign} {limit:g}) {'ok' if met else 'SHORT'}")
