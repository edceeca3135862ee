"""The summary of a corpus as tables, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bylaw.batch.summary import Summary
from bylaw.columnar.support import alone_because
from bylaw.tables import Column, Table

SHOWN: Final = 10
"""How many of the worst traces are shown, and of the files with unusable records."""
_LISTED: Final = 3
"""How many rules are named in a note."""
_NAME: Final = 36
"""How long a name may be beside numbers."""


def tables(summary: Summary) -> list[Table]:
    """All of them, without those that would be empty."""
    made = (rules(summary), layers(summary), worst(summary), unusable(summary))
    return [table for table in made if table.rows]


def rules(summary: Summary) -> Table:
    """How each rule did."""
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
    """Which rules had to be asked of one trace at a time, and why."""
    slow = summary.alone.most_common()
    for name, count in slow[:_LISTED]:
        formula = summary.procedure[name].formula
        reason = alone_because(formula, summary.procedure.vocabulary)
        yield f"{name}: judged trace by trace in {count:,}, which takes longer: {reason}"
    if len(slow) > _LISTED:
        yield f"and so were {len(slow) - _LISTED:,} other rules"


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
    """The files with records that could not be used."""
    columns = (Column("records", "count"), Column("file"))
    rows = [(count, name) for name, count in summary.unusable.most_common(SHOWN)]
    return Table("unusable", "Records that could not be used", columns, rows)


def short(name: str, most: int = _NAME) -> str:
    """A name that leaves room for the numbers beside it; of a long path, its end."""
    return name if len(name) <= most else f"…{name[1 - most :]}"
