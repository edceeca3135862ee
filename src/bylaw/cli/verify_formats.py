"""The reports that `bylaw verify` is asked for, and the files that they are written to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bylaw.cli.options import OutputOption, check_output, input_paths
from bylaw.cli.outputs import errors_explained
from bylaw.reports.ci.formats import ReportFormat
from bylaw.writing import replacing

if TYPE_CHECKING:  # slow to import, and not needed for --help
    from bylaw.reports.ci.writer import ReportWriter, VerifyRun


@dataclass(frozen=True, slots=True)
class RequestedReport:
    """A report that was asked for."""

    format: ReportFormat
    path: Path | None = None
    """The file to write; None for standard output."""


def check_report(report: RequestedReport, options: argparse.Namespace) -> None:
    """Raises a UsageError if the report would destroy something."""
    if report.path is not None:
        output = OutputOption("format", report.format.wrote, folder=False, resumes=False)
        check_output(output, report.path, input_paths(options), force=options.force)


@contextmanager
def open_reports(
    reports: Sequence[RequestedReport], run: VerifyRun, options: argparse.Namespace
) -> Iterator[list[ReportWriter]]:
    """The writers. Files are put in place at the end, unless an exception is raised."""
    with ExitStack() as files:
        writers = [each.format.open(_stream(each, files, options), run) for each in reports]
        for writer in writers:
            writer.begin()
        yield writers


def _stream(report: RequestedReport, files: ExitStack, options: argparse.Namespace) -> TextIO:
    if report.path is None:
        return sys.stdout
    check_report(report, options)  # somebody may have put a file there in the meantime
    files.enter_context(errors_explained(report.path))
    return files.enter_context(replacing(report.path))
