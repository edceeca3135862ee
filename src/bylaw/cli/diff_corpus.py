"""`bylaw diff --corpus`: shows what an edit to a procedure changes, trace by trace."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from bylaw.batch.input.chunks import Limits
from bylaw.batch.input.files import find_files, total_size
from bylaw.cli.main import exit_code
from bylaw.cli.verify import engine_for, watching
from bylaw.procedure.procedure import Procedure
from bylaw.tables import Column, Table
from bylaw.terminal import counted, progress, score_text
from bylaw.trace.files import MEGABYTE

if TYPE_CHECKING:  # NumPy takes a while to start
    from bylaw.batch.comparison import CorpusComparison, TraceChange


def diff_corpus(options: argparse.Namespace, old: Procedure, new: Procedure) -> int:
    """Compares two procedures on recorded traces."""
    engine = engine_for(options)
    from bylaw.batch.comparison import compare_on_corpus

    corpus = find_files(options.corpus)
    with progress("traces", size=total_size(corpus)) as line:

        def print_change(change: TraceChange) -> None:
            line.clear()
            print(json.dumps(change.to_dict()))

        found = compare_on_corpus(
            old,
            new,
            corpus,
            engine=engine,
            limits=Limits(max_line=options.max_line * MEGABYTE),
            changed=print_change if options.json else lambda change: None,
            watch=watching(line),
        )
    if options.json:
        print(json.dumps({"summary": found.to_dict()}))
    else:
        _print(found)
    return exit_code(unusable=found.new.unusable, violated=found.changed)


def _print(found: CorpusComparison) -> None:
    traces = counted(found.new.traces, "trace")
    if found.new.unusable:
        print(f"{counted(found.new.unusable.total(), 'record')} could not be used")
    if not found.changed:
        print(f"{traces}: no verdict differs")
        return
    print(
        f"{traces}: verdicts differ on {found.changed:,}; "
        f"{found.worse:,} score lower, {found.better:,} higher"
    )
    print(f"mean score {score_text(found.old.mean)} → {score_text(found.new.mean)}")
    for table in (_rules(found), _most(found)):
        if table.rows:
            print(f"\n{table.text()}")


def _rules(found: CorpusComparison) -> Table:
    columns = (
        Column("rule"),
        Column("newly violated", "count"),
        Column("no longer", "count"),
    )
    rows = [
        (name, violated, mended)
        for name, violated, mended in zip(found.rules, found.violated, found.mended, strict=True)
        if violated or mended
    ]
    return Table("rules", "Rules whose verdicts changed", columns, rows)


def _most(found: CorpusComparison) -> Table:
    from bylaw.batch.output.summary import short

    columns = (
        Column("old", "share"),
        Column("new", "share"),
        Column("trace"),
        Column("rules"),
    )
    rows = [(each.old, each.new, short(each.name), short(_names(each), 28)) for each in found.most]
    return Table("traces", "Traces whose scores changed most", columns, rows)


def _names(change: TraceChange) -> str:
    """`+violated-now -mended`"""
    signs = (("+", change.violated), ("-", change.mended), ("?", change.undecided))
    return " ".join(f"{sign}{name}" for sign, names in signs for name in names)
