"""`--format github`: annotations of GitHub Actions, and the summary of the step.

A line such as `::error file=run.json,line=4::text` makes an annotation. There is one for each rule
that a trace violates, at its first violation, and one for each value for which a rule across runs
is violated, at the latest call to look at. If `GITHUB_STEP_SUMMARY` names a file, the report in
Markdown is appended to it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Final, TextIO

from bylaw.errors import Diagnostic, UsageError, clipped
from bylaw.reports.ci.across_text import across_calls, across_sentence
from bylaw.reports.ci.levels import LEVELS
from bylaw.reports.ci.markdown import MarkdownWriter
from bylaw.reports.ci.regions import Region
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.terminal import counted, safe, score_text

SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The variable that names the file of the step's summary."""
MAX_MESSAGE: Final = 4_000
"""The longest message, in characters."""
MAX_TITLE: Final = 200
_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = _DATA | {":": "%3A", ",": "%2C"}
_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}


class GithubWriter:
    """Writes annotations as the traces come, and the step's summary at the end."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run
        self._summary: Final = io.StringIO()
        self._markdown: Final = MarkdownWriter(self._summary, run)

    def begin(self) -> None:
        """Nothing precedes the first annotation."""

    def add(self, trace: VerifiedTrace) -> None:
        """Writes the annotations of one trace."""
        self._markdown.add(trace)
        for problem in trace.problems:
            region = Region(problem.line, problem.column) if problem.line else None
            title = f"{problem.code}: the record cannot be used"
            self._annotate("error", problem.source or trace.file, region, title, problem.message)
        if trace.report is None:
            return
        for result in trace.report.undecided:
            region = Region(trace.entry.line or 1)
            self._annotate("error", trace.file, region, f"{result.name}: undecided", result.detail)
        for result in trace.report.violated:
            found = trace.of(result)
            excuse = self._run.terms.excuse(trace, found)
            level = "note" if excuse else LEVELS[result.constraint.effective_severity]
            advice = result.constraint.fix
            lines = (excuse, result.detail, f"fix: {advice}" if advice else None)
            message = "\n".join(filter(None, lines))
            region = found[0].region if found else None
            self._annotate(_COMMANDS[level], trace.file, region, result.name, message)

    def end(self, totals: VerifyTotals) -> None:
        """Annotates rules across runs and rules never tested; appends the step's summary."""
        for result in totals.broken_across:
            rule = result.result.constraint
            level = "error" if result.passed is None else LEVELS[rule.effective_severity]
            advice = f"fix: {rule.fix}" if rule.fix else ""
            lines = (across_sentence(result), across_calls(result), advice)
            _, file, region = totals.places_of(result)[0]
            message = "\n".join(filter(None, lines))
            self._annotate(_COMMANDS[level], file, region, rule.name, message)
        if totals.terms.vacuous:
            for name in totals.untested():
                region = self._run.rules.get(name)
                message = "The rule is vacuous in every trace."
                self._annotate("error", self._run.procedure_file, region, name, message)
        mean = score_text(totals.mean)
        message = f"{counted(totals.traces, 'trace')}, mean score {mean}"
        self._out.write(annotation("notice", {"title": self._run.procedure.name}, message))
        self._markdown.end(totals)
        if path := os.environ.get(SUMMARY):
            _append(path, self._summary.getvalue())

    def _annotate(
        self, command: str, file: str, region: Region | None, title: str, message: str
    ) -> None:
        place: dict[str, str] = {"file": file}
        if region is not None:
            place |= {"line": str(region.line), "endLine": str(region.end_line or region.line)}
            if region.column and region.end_column and region.end_line == region.line:
                # Columns are only for annotations of a single line.
                place |= {"col": str(region.column), "endColumn": str(region.end_column)}
        self._out.write(annotation(command, {**place, "title": title}, message))


def annotation(command: str, properties: dict[str, str], message: str) -> str:
    """A line that GitHub Actions reads as a command, whatever its parts contain."""
    written = ",".join(
        f"{name}={_escaped(clipped(value, MAX_TITLE) if name == 'title' else value, _PROPERTY)}"
        for name, value in properties.items()
    )
    return f"::{command} {written}::{_escaped(clipped(message, MAX_MESSAGE), _DATA)}\n"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    kept = (each if each in escapes else safe(each) for each in text)
    return "".join(escapes.get(each, each) for each in kept)


def _append(path: str, text: str) -> None:
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"cannot write the step's summary {path}: {reason}"
        raise UsageError(Diagnostic("E403", message)) from None


open_writer: Final = GithubWriter
