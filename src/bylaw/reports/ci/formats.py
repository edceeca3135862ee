"""The formats of `bylaw verify --format`: one file and one row each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:  # the table is read for every `--help`
    from bylaw.reports.ci.writer import ReportWriter, VerifyRun

JSON_MARK: Final = '{"bylaw": "'
"""Reports name the version first. In trace records, the field is a number."""
JUNIT_MARK: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- bylaw verify -->'
SARIF_MARK: Final = '{"properties": {"writer": "bylaw verify"}, '
MARKDOWN_MARK: Final = "<!-- bylaw verify -->"


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One format that `bylaw verify` can report in."""

    name: str
    about: str
    """The readers of the format, for the help."""
    module: str
    """The module that has `open_writer`, imported when the format is used."""
    mark: str = ""
    """The beginning of each report. A file that begins so may be replaced; empty: none may."""

    def open(self, out: TextIO, run: VerifyRun) -> ReportWriter:
        """A writer to a stream."""
        writer: ReportWriter = import_module(f"bylaw.reports.ci.{self.module}").open_writer(
            out, run
        )
        return writer

    def wrote(self, path: Path) -> bool:
        """Was this file written in this format before?"""
        with path.open("rb") as file:
            return bool(self.mark) and file.read(len(self.mark)) == self.mark.encode()


_ROWS: Final = (
    ReportFormat("text", "people, in a terminal", "terminal_text"),
    ReportFormat("json", "programs: one object", "json_object", JSON_MARK),
    ReportFormat("jsonl", "programs: a line per trace; baselines", "json_lines", JSON_MARK),
    ReportFormat("junit", "test reports of CI servers", "junit", JUNIT_MARK),
    ReportFormat("sarif", "code scanning", "sarif", SARIF_MARK),
    ReportFormat("markdown", "pull requests and wikis", "markdown", MARKDOWN_MARK),
    ReportFormat("github", "GitHub Actions: annotations, step summary", "github", "::"),
)
REPORT_FORMATS: Final = {row.name: row for row in _ROWS}
"""The formats by name."""
