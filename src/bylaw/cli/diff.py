"""`bylaw diff`: what an edit to a procedure changes, shown by a trace."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Final

from bylaw.cli.diff_corpus import diff_corpus
from bylaw.cli.inputs import add_max_line, load_vocabulary
from bylaw.cli.main import OK, VIOLATED
from bylaw.cli.one_line import one_line
from bylaw.cli.terminal import coloured, counted, safe, wrapped
from bylaw.cli.verify_corpus import add_engine
from bylaw.procedure.difference import ProcedureChange, compare
from bylaw.procedure.procedure import Procedure

EPILOG: Final = """\
For each rule that changed, prints a shortest trace on which the old and the new
rule differ, or says that they are equivalent. Found by exploring both rules'
machines, so there is no shorter one. A group, constant or definition that a
rule is written with is shown where it changed.

Told too: another weight or layer, which changes scores and reports; another
severity or `finish`, which changes what a gate does. The words of `why` and
`fix`, the list of tools and the order of the rules are not compared; where
several rules clash, the order can decide which of them a gate names.

With --corpus, scores recorded traces under both procedures instead, and shows
which of them are judged differently. With --json, a line for each of them, and
the summary last.

  bylaw diff old.yaml new.yaml
  bylaw diff old.yaml new.yaml --corpus runs/

Exit code: 0 if nothing differs, 1 if something does, 2 if a file could not be
used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("old", metavar="OLD", help="the procedure before")
    parser.add_argument("new", metavar="NEW", help="the procedure after")
    parser.add_argument(
        "--with", dest="vocabulary", metavar="MODULE:NAME", help="the vocabulary that rules use"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--corpus", metavar="TRACE", nargs="+", help="recorded traces to compare the two on"
    )
    add_max_line(parser)
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Compares two procedures; the exit code says whether they differ."""
    vocabulary = load_vocabulary(options.vocabulary)
    old = Procedure.load(options.old, vocabulary=vocabulary)
    new = Procedure.load(options.new, vocabulary=vocabulary)
    if options.corpus:
        return diff_corpus(options, old, new)
    changes = compare(old, new)
    if options.json:
        print(json.dumps([change.to_dict() for change in changes], indent=2))
    else:
        _print(changes)
    return VIOLATED if any(change.matters for change in changes) else OK


def _print(changes: list[ProcedureChange]) -> None:
    told = [change for change in changes if change.kind != "same"]
    for change in told:
        colour = {"added": "green", "removed": "red", "equivalent": "grey"}.get(
            change.kind, "yellow"
        )
        name = change.name if change.about == "rule" else "the procedure"
        print(f"{coloured(change.kind, colour)}  {safe(name)}")
        for line in _lines(change):
            print(wrapped(safe(line), 2))
        if change.trace is not None:
            verdicts = ("holds", "is violated") if change.old_holds else ("is violated", "holds")
            print(wrapped(f"On {safe(one_line(change.trace))}", 2))
            print(f"  the old rule {verdicts[0]}, and the new one {verdicts[1]}.")
        if change.note:
            print(wrapped(safe(change.note), 2))
    same = len(changes) - len(told)
    print(f"{counted(same, 'rule')} unchanged")


def _lines(change: ProcedureChange) -> Iterator[str]:
    """The rule and the names it is written with, before and after; what stayed has no sign."""
    rules = [each and " ".join(each.rule.split()) for each in (change.old, change.new)]
    for old, new in ((rules[0], rules[1]), *((each.old, each.new) for each in change.names)):
        signs = [("", old)] if old == new else [("- ", old), ("+ ", new)]
        yield from (f"{sign}{text}" for sign, text in signs if text is not None)
