"""`bylaw ground check`: do answers speak only of what the tools returned?"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from typing import Final

from bylaw.cli.inputs import add_max_line, entries
from bylaw.cli.main import OK, UNUSABLE, VIOLATED
from bylaw.cli.terminal import coloured, counted, progress, safe, wrapped
from bylaw.grounding.entities.extraction import CODE, EntityClass
from bylaw.grounding.predicate import READ_FILE, Grounding, entity_classes
from bylaw.grounding.report import GroundingReport, GroundingVerdict
from bylaw.trace.files import Entry

EPILOG: Final = f"""\
An answer is grounded if every file, function and identifier that it names was
seen in the result of a tool that counts as evidence. One that names nothing, or
refuses, is vacuous. The classes of entities are
  {", ".join(EntityClass)};
the first three are looked for by default.

  bylaw ground check runs/*.json
  bylaw ground check run.json --evidence-tool 'get_*' --classes money,date,id
  bylaw ground check runs.jsonl --location --json > grounding.jsonl

Exit code 0: no answer is ungrounded; 1: one is; 2: an input could not be used.
"""

_COLOURS: Final = {
    GroundingVerdict.GROUNDED: "green",
    GroundingVerdict.UNGROUNDED: "red",
    GroundingVerdict.VACUOUS: "grey",
}
_COLUMN: Final = max(map(len, GroundingVerdict))
_SHOWN: Final = 10
"""How many entities of one class are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="a trace file, folder or -")
    parser.add_argument(
        "--evidence-tool",
        action="append",
        metavar="TOOL",
        help=f"a tool whose results count, or a pattern; may be repeated (default: {READ_FILE})",
    )
    parser.add_argument(
        "--classes",
        metavar="CLASS,…",
        default=",".join(CODE),
        help="what to look for in answers (default: %(default)s)",
    )
    parser.add_argument(
        "--prompt-counts", action="store_true", help="what the user and the system said counts, too"
    )
    parser.add_argument(
        "--location",
        action="store_true",
        help="a symbol must also be defined in the file that the answer places it in",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object per trace")
    add_max_line(parser)


def run(options: argparse.Namespace) -> int:
    """Checks the answer of every trace; the exit code says how it went."""
    grounding = Grounding(
        tuple(options.evidence_tool or (READ_FILE,)),
        entity_classes(options.classes.split(",")),
        prompt_counts=options.prompt_counts,
        location=options.location,
    )
    tally: Counter[GroundingVerdict] = Counter()
    unusable = 0
    with progress("traces") as line:
        for entry in entries(options.traces, options.max_line):
            line.clear()
            if entry.trace is None:
                unusable += 1
                _unusable(entry, as_json=options.json)
            else:
                report = grounding.check(entry.trace)
                tally[report.verdict] += 1
                if options.json:
                    print(json.dumps({"trace": entry.name, **report.to_dict()}))
                else:
                    _print(entry.name, report)
            line.step()
    if not options.json and tally.total() > 1:
        counts = ", ".join(f"{tally[verdict]} {verdict}" for verdict in GroundingVerdict)
        print(f"\n{counted(tally.total(), 'trace')}: {counts}")
    if unusable:
        return UNUSABLE
    return VIOLATED if tally[GroundingVerdict.UNGROUNDED] else OK


def _unusable(entry: Entry, *, as_json: bool) -> None:
    diagnostics = entry.error.diagnostics if entry.error else ()
    if as_json:
        print(json.dumps({"trace": entry.name, "errors": [d.to_dict() for d in diagnostics]}))
    else:
        print(f"{'unusable':<{_COLUMN}}  {safe(entry.name)}")
    sys.stdout.flush()
    print("\n".join(safe(d.render()) for d in diagnostics), file=sys.stderr)


def _print(name: str, report: GroundingReport) -> None:
    word = coloured(f"{report.verdict:<{_COLUMN}}", _COLOURS[report.verdict])
    print(f"{word}  {safe(name)}")
    print(wrapped(report.reason, _COLUMN + 2))
    for kind, found in report.by_class().items():
        for entity in found[:_SHOWN]:
            near = report.nearest(entity.text)
            seen = f"; nearest: {near}" if near else ""
            print(wrapped(safe(f"{kind}: {entity.text}{seen}"), _COLUMN + 2))
        if len(found) > _SHOWN:
            print(f"{'':<{_COLUMN + 2}}{kind}: … and {len(found) - _SHOWN} more")
    for cited in report.misplaced[:_SHOWN]:
        print(wrapped(safe(f"not defined there: {cited}"), _COLUMN + 2))
