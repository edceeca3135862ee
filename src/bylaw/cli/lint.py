"""`bylaw lint`: finds rules that do not mean what they seem to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Final

from bylaw.cli.inputs import add_max_line, entries, load_procedure
from bylaw.cli.main import OK, VIOLATED
from bylaw.cli.terminal import coloured, counted, progress, safe, wrapped
from bylaw.enforcement.joint.clash import find_clash
from bylaw.procedure.lint import Finding, lint
from bylaw.procedure.procedure import Procedure
from bylaw.trace.trace import Trace

EPILOG: Final = """\
A rule can be well formed and still say something else than its author meant:
Before(verify, refund) is violated by every run that refunds nothing. Lint finds
rules that can never fail or never hold, pairs that contradict each other, and
such traps, and prints the rule to write instead where there is one. With sample
traces it also finds rules that nothing in them ever brought into play, and
tools that the procedure does not list.

  bylaw lint refund.yaml
  bylaw lint refund.yaml --traces runs/ more.jsonl
  bylaw explain W508                            what a code means

A warning asks for a change; a note may be just as intended. Every finding is
proven, or seen in the traces; where a rule cannot be decided lint is silent.

Exit code: 0 if there are no warnings, 1 if there are, 2 if a file could not be
used.
"""
_COLOURS: Final = {"warning": "yellow", "note": "grey"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("procedure", metavar="PROCEDURE", help="the procedure, YAML or JSON")
    parser.add_argument(
        "--traces", nargs="+", default=[], metavar="TRACE", help="sample trace files, folders or -"
    )
    parser.add_argument(
        "--with",
        dest="vocabulary",
        metavar="MODULE:NAME",
        help="a bylaw.Vocabulary with the open predicates and extractors that rules use",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_max_line(parser)


def run(options: argparse.Namespace) -> int:
    """Lints; the exit code says whether there are warnings."""
    procedure = load_procedure(options)
    findings = lint(procedure, _samples(options.traces, options.max_line))
    findings += find_clash(procedure)
    warnings = sum(finding.severity == "warning" for finding in findings)
    if options.json:
        counts = {"warnings": warnings, "notes": len(findings) - warnings}
        listed = [finding.to_dict() for finding in findings]
        print(json.dumps({"procedure": procedure.name, **counts, "findings": listed}, indent=2))
    else:
        _print(procedure, findings, warnings)
    return VIOLATED if warnings else OK


def _samples(paths: Sequence[str], max_line: int) -> Iterator[Trace]:
    """The sample traces. A damaged one is an error: what they never show would be said wrongly."""
    with progress("traces") as line:
        for entry in entries(paths, max_line):
            yield entry.required()
            line.step()


def _print(procedure: Procedure, findings: Sequence[Finding], warnings: int) -> None:
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.constraints, []).append(finding)
    for names, group in groups.items():
        print(wrapped(safe(" and ".join(names) or "the procedure"), 0))
        if len(names) == 1:
            print(coloured(wrapped(safe(f"rule: {procedure[names[0]].rule}"), 2), "grey"))
        for finding in group:
            _print_finding(finding)
        print()
    rules = counted(len(procedure.constraints), "rule")
    notes = len(findings) - warnings
    total = f"{counted(warnings, 'warning')}, {counted(notes, 'note')} on {rules}."
    more = f" `bylaw explain {findings[0].code}` tells more about a code." if findings else ""
    print(wrapped(f"{safe(procedure.name)}: {total}{more}", 0))


def _print_finding(finding: Finding) -> None:
    head = f"{finding.severity}[{finding.code}]"
    print(f"  {coloured(head, _COLOURS[finding.severity])}")
    print(wrapped(safe(finding.message), 4))
    print(wrapped(safe(finding.suggestion), 4))
    if finding.rewrite is not None:
        print(wrapped(safe(finding.rewrite), 8))
