"""`bylaw verify` trace by trace: one stream of verified traces, and a writer for each report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING

from bylaw.batch.input.files import CorpusFile
from bylaw.cli.main import exit_code
from bylaw.cli.verify_formats import RequestedReport, open_reports
from bylaw.errors import TERMINAL_WIDTH, Diagnostic, UsageError
from bylaw.procedure.known_tools import KnownTools
from bylaw.procedure.procedure import Procedure
from bylaw.reports.ci.baseline import ViolationLocator, read_baseline
from bylaw.reports.ci.places import TracePlaces
from bylaw.reports.ci.totals import FailureTerms, VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.scoring.across import AcrossTraces, notes_on_labels
from bylaw.scoring.missing_times import notes_on_times
from bylaw.scoring.repair import repair_procedure
from bylaw.scoring.verify import verify_trace
from bylaw.terminal import in_line, progress
from bylaw.trace.files import Entry

if TYPE_CHECKING:
    from bylaw.reports.provenance import Provenance


def verify_traces(
    options: argparse.Namespace,
    procedure: Procedure,
    corpus: Sequence[CorpusFile],
    found: Iterator[Entry],
    reports: Sequence[RequestedReport],
) -> int:
    """Scores every trace and writes the reports."""
    known = None if options.baseline is None else read_baseline(options.baseline)
    terms = FailureTerms(options.fail_under, options.fail_vacuous, known is not None)
    first = list(islice(found, 2))
    single = len(first) == 1
    if options.repair and not single:
        raise repairs_one_trace("there are several")
    if options.certificate and not single:
        from bylaw.cli.certify import certifies_one_trace

        raise certifies_one_trace("there are several")
    run = VerifyRun(
        procedure,
        options.procedure,
        terms,
        single,
        lambda: origin_of(options, procedure, corpus),
        repairs=options.repair,
        edits_results=options.edit_results,
    )
    totals = VerifyTotals(procedure, terms)
    with closing(TracePlaces(corpus)) as places, open_reports(reports, run, options) as writers:
        together = AcrossTraces(procedure)
        stream = _verified(options, procedure, chain(first, found), ViolationLocator(places, known))
        with progress("traces") as line:
            for trace in stream:
                line.clear()
                totals.add(trace)
                if trace.report is not None:
                    together.add(trace.report.trace, trace.name)
                for writer in writers:
                    writer.add(trace)
                _print_problems(trace)
                line.step()
        totals.across = list(together.results())
        for writer in writers:
            writer.end(totals)
    if options.certificate and totals.traces:
        _certify(options, procedure, first[0], reports)
    return exit_code(unusable=totals.undecided, violated=totals.failed)


def _verified(
    options: argparse.Namespace,
    procedure: Procedure,
    found: Iterator[Entry],
    locator: ViolationLocator,
) -> Iterator[VerifiedTrace]:
    tools = KnownTools(procedure)
    for entry in found:
        if entry.trace is None:
            yield VerifiedTrace(entry, None)
            continue
        report = verify_trace(entry.trace, procedure)
        unlabelled = notes_on_labels(entry.trace, procedure)
        times = notes_on_times(report)
        notes = (*entry.notes, *tools.notes(report.trace), *times, *unlabelled)
        repair = None
        if options.repair and report.violated:
            edit_results = options.edit_results
            repair = repair_procedure(report.trace, procedure, edit_results=edit_results)
        yield VerifiedTrace(entry, report, notes, repair, locator)


def _certify(
    options: argparse.Namespace,
    procedure: Procedure,
    entry: Entry,
    reports: Sequence[RequestedReport],
) -> None:
    from bylaw.cli.certify import write_certificate  # slow to import, and seldom asked for

    trace = entry.required()
    exported = write_certificate(options, verify_trace(trace, procedure), trace)
    if any(each.path is None and each.format.name == "text" for each in reports):
        print(in_line(f"certificate written to {options.certificate}"))
        if exported is not None:
            print(in_line(f"it is about the record in {exported}, made from the trace"))


def _print_problems(trace: VerifiedTrace) -> None:
    if trace.problems:
        sys.stdout.flush()
        shown = "\n".join(problem.render(TERMINAL_WIDTH) for problem in trace.problems)
        print(shown, file=sys.stderr)


def origin_of(
    options: argparse.Namespace, procedure: Procedure, corpus: Sequence[CorpusFile]
) -> Provenance:
    """The origin of the reports of this command."""
    from bylaw.reports.provenance import provenance  # slow to import

    return provenance(
        options.command_line,
        procedure=procedure,
        procedure_file=options.procedure,
        inputs=[file.path for file in corpus],
    )


def repairs_one_trace(reason: str) -> UsageError:
    """The error for repairs of several traces."""
    message = f"--repair works on one trace, and {reason}"
    help = "Give a file with one record. `bylaw explain RULE` repairs runs.jsonl:17, for one rule."
    return UsageError(Diagnostic("E402", message, help))
