"""The summary of a corpus as tables, for the terminal and for HTML pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.batch.output.summary import Summary
from bylaw.columnar.support import unsupported_because
from bylaw.tables import Column, Table

SHOWN: Final = 10
"""The most rows in a table of traces or files."""
_LISTED: Final = 3
"""The most rules that are named in notes on slow rules."""
_NAME: Final = 36
"""The longest name in a table with numbers."""


def tables(summary: Summary) -> list[Table]:
    """All tables that have rows."""
    made = (rules(summary), layers(summary), worst(summary), unusable(summary))
    return [table for table in made if table.rows]


def rules(summary: Summary) -> Table:
    """The pass rate of each rule."""
    columns = (
        Column("rule"),
        Column("pass rate", "percent"),
        Column("vacuous", "percent"),
        Column("violated", "count"),
    )
    found = summary.rules() if summary.traces else []
    rows = [[short(each.name), each.rate, each.vacuous_share, each.violated] for each in found]
    notes = [
        f"{each.name}: undecided in {each.undecided:,} traces" for each in found if each.undecided
    ]
    return Table("rules", "Rules", columns, rows, [*notes, *_alone(summary)])


def _alone(summary: Summary) -> Iterator[str]:
    """Notes on the rules that were judged trace by trace."""
    slow = summary.alone.most_common()
    for name, count in slow[:_LISTED]:
        formula = summary.procedure[name].formula
        reason = unsupported_because(formula, summary.procedure.vocabulary)
        yield f"{name}: judged one by one in {count:,} traces, which takes longer: {reason}"
    if len(slow) > _LISTED:
        yield f"so were {len(slow) - _LISTED:,} other rules"


def layers(summary: Summary) -> Table:
    """The pass rate of each layer."""
    columns = (Column("layer"), Column("pass rate", "percent"))
    found = summary.layers() if summary.traces else {}
    return Table("layers", "Layers", columns, list(found.items()))


def worst(summary: Summary) -> Table:
    """The traces with the lowest scores."""
    columns = (Column("score", "share"), Column("violated", "count"), Column("trace"))
    rows = [(each.score, each.violated, short(each.name)) for each in summary.worst[:SHOWN]]
    return Table("worst", "Worst traces", columns, rows)


def unusable(summary: Summary) -> Table:
    """The files with unusable records."""
    columns = (Column("records", "count"), Column("file"))
    rows = [(count, name) for name, count in summary.unusable.most_common(SHOWN)]
    return Table("unusable", "Records that could not be used", columns, rows)


def short(name: str, limit: int = _NAME) -> str:
    """The name; of one that is too long, the end."""
    return name if len(name) <= limit else f"…{name[1 - limit :]}"
