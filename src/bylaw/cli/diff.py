"""`bylaw diff`: shows what an edit to a procedure changes, with example traces."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Final

from bylaw.cli.diff_corpus import diff_corpus
from bylaw.cli.main import exit_code
from bylaw.cli.one_line import one_line
from bylaw.cli.options import (
    add_engine,
    add_json,
    add_max_line,
    add_run_functions,
    add_vocabulary,
    load_vocabulary,
)
from bylaw.procedure.difference import ProcedureChange, compare
from bylaw.procedure.procedure import Procedure
from bylaw.terminal import coloured, counted, in_line, safe, wrapped

EPILOG: Final = """\
For each rule that changed, prints a shortest trace on which the old and the new
rule differ, or says that they are equivalent. It also shows changes of the
groups, constants and definitions that the rule uses. For rules that compare
data of several events, it searches for a trace; this may not be the shortest,
and if none is found, the rules may still differ. The search runs registered
functions only with --run-functions.

It also shows changes of weight and layer, which affect scores and reports, and
of severity, `finish`, `tools` and `unlisted`, which affect the gate. It does
not compare `why`, `fix`, or the order of the rules. (If several rules clash,
their order can decide which of them a gate names.)

With --corpus, it scores recorded traces under both procedures instead, and
shows the traces whose verdicts differ. With --json, each of them is one line,
and the summary follows.

  bylaw diff old.yaml new.yaml
  bylaw diff old.yaml new.yaml --corpus runs/

Exit code: 0 if nothing differs, 1 if something does, 2 if a file cannot be
used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("old", metavar="OLD", help="the procedure before")
    parser.add_argument("new", metavar="NEW", help="the procedure after")
    add_vocabulary(parser)
    add_run_functions(parser)
    add_json(parser)
    parser.add_argument(
        "--corpus", metavar="TRACE", nargs="+", help="recorded traces to compare the two on"
    )
    add_max_line(parser)
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Compares two procedures."""
    vocabulary = load_vocabulary(options.vocabulary)
    old = Procedure.load(options.old, vocabulary=vocabulary)
    new = Procedure.load(options.new, vocabulary=vocabulary)
    if options.corpus:
        return diff_corpus(options, old, new)
    changes = compare(old, new, run_functions=options.run_functions)
    if options.json:
        print(json.dumps([change.to_dict() for change in changes], indent=2))
    else:
        _print(changes)
    return exit_code(violated=any(change.matters for change in changes))


def _print(changes: list[ProcedureChange]) -> None:
    shown = [change for change in changes if change.kind != "same"]
    for change in shown:
        colour = {"added": "green", "removed": "red", "equivalent": "grey"}.get(
            change.kind, "yellow"
        )
        name = change.name if change.about == "rule" else "the procedure"
        print(f"{coloured(change.kind, colour)}  {in_line(name)}")
        for line in _lines(change):
            print(wrapped(safe(line), 2))
        if change.trace is not None:
            verdicts = ("holds", "is violated") if change.old_holds else ("is violated", "holds")
            print(wrapped(f"On {safe(one_line(change.trace))}", 2))
            print(f"  the old rule {verdicts[0]}, and the new one {verdicts[1]}.")
            if not change.shortest:
                print("  Found by search; none shorter was found.")
        if change.note:
            print(wrapped(safe(change.note), 2))
    print(f"{counted(len(changes) - len(shown), 'rule')} unchanged")


def _lines(change: ProcedureChange) -> Iterator[str]:
    """The rule and the names it uses, old (`-`) and new (`+`); no sign if unchanged."""
    rules = [each and " ".join(each.rule.split()) for each in (change.old, change.new)]
    for old, new in ((rules[0], rules[1]), *((each.old, each.new) for each in change.names)):
        signs = [("", old)] if old == new else [("- ", old), ("+ ", new)]
        yield from (f"{sign}{text}" for sign, text in signs if text is not None)
