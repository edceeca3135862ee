"""`bylaw ground check`: checks that answers mention only what the tools returned."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Final

from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_traces
from bylaw.cli.traces import UsableTraces, entries
from bylaw.grounding.entities.extraction import CODE, EntityClass
from bylaw.grounding.predicate import READ_FILE, Grounding, entity_classes
from bylaw.grounding.report import GroundingReport, GroundingVerdict
from bylaw.terminal import coloured, counted, in_line, safe, wrapped

EPILOG: Final = f"""\
An answer is grounded if every file, function and identifier that it names
occurs in the result of a tool that counts as evidence. An answer that names
nothing, or refuses, is vacuous. The classes of entities are
  {", ".join(EntityClass)};
the first three are the default.

  bylaw ground check runs/*.json
  bylaw ground check run.json --evidence-tool 'get_*' --classes money,date,id
  bylaw ground check runs.jsonl --location --json > grounding.jsonl

Exit code: 0 if no answer is ungrounded, 1 if one is, 2 if an input cannot be
used.
"""

_COLOURS: Final = {
    GroundingVerdict.GROUNDED: "green",
    GroundingVerdict.UNGROUNDED: "red",
    GroundingVerdict.VACUOUS: "grey",
}
_COLUMN: Final = max(map(len, GroundingVerdict))
_SHOWN: Final = 10
"""The most entities of one class that are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_traces(parser)
    parser.add_argument(
        "--evidence-tool",
        action="append",
        metavar="TOOL",
        help=f"a tool whose results count, or a pattern; repeatable (default: {READ_FILE})",
    )
    parser.add_argument(
        "--classes",
        metavar="CLASS,…",
        default=",".join(CODE),
        help="what to look for in answers (default: %(default)s)",
    )
    parser.add_argument(
        "--prompt-counts",
        action="store_true",
        help="messages of the user and the system count as evidence, too",
    )
    parser.add_argument(
        "--location",
        action="store_true",
        help="a symbol must also be defined in the file that the answer places it in",
    )
    parser.add_argument(
        "--definitions-only",
        action="store_true",
        help="names must be defined in the evidence, as in the paper; occurring is not enough",
    )
    add_json(parser, "a JSON object per trace")


def run(options: argparse.Namespace) -> int:
    """Checks the answer of every trace."""
    grounding = Grounding(
        tuple(options.evidence_tool or (READ_FILE,)),
        entity_classes(options.classes.split(",")),
        prompt_counts=options.prompt_counts,
        location=options.location,
        definitions_only=options.definitions_only,
    )
    tally: Counter[GroundingVerdict] = Counter()
    row = f"{'unusable':<{_COLUMN}}"
    found = entries(options.traces, options.max_line)
    traces = UsableTraces(found, as_json=options.json, row=row)
    for entry, trace in traces:
        report = grounding.check(trace)
        tally[report.verdict] += 1
        if options.json:
            print(json.dumps({"trace": entry.name, **report.to_dict()}))
        else:
            _print(entry.name, report)
    if not options.json and tally.total() > 1:
        counts = ", ".join(f"{tally[verdict]} {verdict}" for verdict in GroundingVerdict)
        print(f"\n{counted(tally.total(), 'trace')}: {counts}")
    return exit_code(unusable=traces.unusable, violated=tally[GroundingVerdict.UNGROUNDED])


def _print(name: str, report: GroundingReport) -> None:
    word = coloured(f"{report.verdict:<{_COLUMN}}", _COLOURS[report.verdict])
    print(f"{word}  {in_line(name)}")
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
