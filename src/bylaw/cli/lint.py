"""`bylaw lint`: finds rules that do not mean what they seem to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Final

from bylaw.cli.coverage_table import print_coverage
from bylaw.cli.main import exit_code
from bylaw.cli.options import add_json, add_max_line, add_vocabulary, load_procedure
from bylaw.cli.traces import entries
from bylaw.enforcement.coverage import coverage, find_broken_promises
from bylaw.enforcement.joint.clash import find_clash
from bylaw.procedure.lint import lint
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.procedure import Procedure
from bylaw.terminal import coloured, counted, progress, safe, wrapped
from bylaw.trace.trace import Trace

EPILOG: Final = """\
A rule can be well formed and still not say what its author meant:
Before(verify, refund) is violated by every run that refunds nothing. Lint finds
such traps, rules that can never fail or never hold, and pairs of rules that
contradict each other. Where it can, it prints the rule to write instead. With
sample traces it also finds rules that never apply in them, and tools that the
procedure does not list.

  bylaw lint refund.yaml
  bylaw lint refund.yaml --traces runs/ more.jsonl
  bylaw explain W508                            what a code means

The table at the end says where a gate enforces each rule, and why: before the
call, at the answer, or only afterwards. If the file states a severity that no
gate can keep, that is a warning.

A warning calls for a change; a note may be intended. Lint reports only what it
has proved, or seen in the traces.

Exit code: 0 without warnings, 1 with warnings, 2 if a file cannot be used.
"""
_COLOURS: Final = {"warning": "yellow", "note": "grey"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("procedure", metavar="PROCEDURE", help="the procedure, YAML or JSON")
    parser.add_argument(
        "--traces", nargs="+", default=[], metavar="TRACE", help="sample trace files, folders or -"
    )
    add_vocabulary(parser)
    add_json(parser)
    add_max_line(parser)


def run(options: argparse.Namespace) -> int:
    """Lints a procedure."""
    procedure = load_procedure(options)
    findings = lint(procedure, _samples(options.traces, options.max_line))
    findings += [*find_clash(procedure), *find_broken_promises(procedure)]
    covered = coverage(procedure)
    warnings = sum(finding.severity == "warning" for finding in findings)
    if options.json:
        counts = {"warnings": warnings, "notes": len(findings) - warnings}
        listed = [finding.to_dict() for finding in findings]
        found = {"findings": listed, "coverage": [rule.to_dict() for rule in covered]}
        print(json.dumps({"procedure": procedure.name, **counts, **found}, indent=2))
    else:
        _print(procedure, findings, warnings)
        print()
        print_coverage(covered)
    return exit_code(violated=warnings)


def _samples(paths: Sequence[str], max_line: int) -> Iterator[Trace]:
    """The sample traces. An unusable one is an error, since lint speaks of all of them."""
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
    more = f" `bylaw explain {findings[0].code}` explains a code." if findings else ""
    print(wrapped(f"{safe(procedure.name)}: {total}{more}", 0))


def _print_finding(finding: Finding) -> None:
    head = f"{finding.severity}[{finding.code}]"
    print(f"  {coloured(head, _COLOURS[finding.severity])}")
    print(wrapped(safe(finding.message), 4))
    print(wrapped(safe(finding.suggestion), 4))
    if finding.rewrite is not None:
        print(wrapped(safe(finding.rewrite), 8))
