"""`--format text`: for people. One trace shows every rule; several have a line each, and counts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from bylaw.codes import CODES
from bylaw.errors import Diagnostic, clipped
from bylaw.reports.ci.across_text import across_lines
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.reports.outcome_words import WORDS
from bylaw.scoring.edits import Repair
from bylaw.scoring.occurrences import summary
from bylaw.scoring.verify import ConstraintResult, Report
from bylaw.terminal import coloured, counted, in_line, safe, score_text, shortened, wrapped

LABEL_COLOURS: Final = {"FULL": "green", "PARTIAL": "yellow", "NONE": "red", None: "yellow"}
_SHOWN_NOTES: Final = 5
_LONGEST_NAME: Final = 60


class TextWriter:
    """Writes for a terminal, or for a file without colours."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run
        in_actions = os.environ.get("GITHUB_ACTIONS") == "true" and out is sys.stdout
        self._stopped: Final = os.urandom(16).hex() if in_actions else ""
        """The word that lets the runner read commands again; no text can guess it."""

    def begin(self) -> None:
        """Keeps GitHub's runner from taking a name at the start of a line for a command."""
        if self._stopped:
            self._line(f"::stop-commands::{self._stopped}")

    def add(self, trace: VerifiedTrace) -> None:
        """Writes a trace: all of its rules if it is the only one, else a line."""
        if not self._run.single:
            self._line(self._row(trace))
        elif trace.report is not None:  # otherwise the diagnostics say it all
            self._write_report(trace, trace.report)

    def end(self, totals: VerifyTotals) -> None:
        """Writes the counts, if there was more than one record."""
        if not self._run.single:
            self._write_counts(totals)
        if totals.across:
            self._line()
            for line in across_lines(totals.across, self._out):
                self._line(line)
        if totals.terms.baseline:
            self._line(f"\n{counted(totals.new, 'new violation')}; {totals.known} in the baseline")
        if totals.terms.vacuous and (untested := totals.untested()):
            names = in_line(", ".join(untested))
            self._line(f"\n{wrapped(f'No trace puts these rules to the test: {names}', 0)}")
        if self._stopped:
            self._line(f"::{self._stopped}::")

    def _line(self, text: str = "") -> None:
        self._out.write(f"{text}\n")

    def _coloured(self, text: str, colour: str) -> str:
        return coloured(text, colour, self._out)

    # ── one trace ────────────────────────────────────────────────────────────────────────

    def _write_report(self, verified: VerifiedTrace, report: Report) -> None:
        trace = report.trace
        size = counted(len(trace.calls), "call")
        if trace.refusals:
            size += f", {len(trace.refusals)} more refused by a gate"
        self._line(in_line(f"{report.procedure.name} on {trace.name} ({size})"))
        self._line()
        for result in report.constraints:
            self._write_rule(result)
        if report.layers:
            rates = [
                f"{name} {layer.passed}/{layer.total}" for name, layer in report.layers.items()
            ]
            self._line(f"\n{'layers':<8}  {'  '.join(rates)}")
        else:
            self._line()
        label = self._coloured(report.label or "UNDECIDED", LABEL_COLOURS[report.label])
        self._line(f"{'score':<8}  {score_text(report.score)}  {label}")
        self._line(wrapped(safe(report.details), 10))
        for line in _note_lines(verified.notes):
            self._line(self._coloured(wrapped(safe(line), 10), "grey"))
        if self._run.repairs and report.violated:
            self._write_repair(verified.repair)

    def _write_rule(self, result: ConstraintResult) -> None:
        word, colour = WORDS[result.outcome]
        layer = result.constraint.layer or ""
        about = self._coloured(f"{layer} weight {result.constraint.weight:g}".strip(), "grey")
        self._line(f"{self._coloured(f'{word:<8}', colour)}  {in_line(result.name)}  {about}")
        self._line(wrapped(safe(result.detail), 10))
        if times := summary(result.occurrences):
            self._line(wrapped(safe(times), 10))
        if result.passed is False:
            for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
                if text:
                    self._line(wrapped(safe(f"{label}: {text}"), 10))

    def _write_repair(self, found: Repair | None) -> None:
        if found is None:
            advice = " What tools returned was left alone: see --edit-results."
            kept = "" if self._run.edits_results else advice
            text = wrapped(f"No edits were found that fix all rules at once.{kept}", 0)
            self._line(f"\n{text}")
            return
        bound = "" if found.exact else ", an upper bound"
        self._line(f"\nWhat would have kept every rule (cost {found.cost:g}{bound}):")
        for sentence in found.sentences():
            self._line(wrapped(safe(sentence), 2))

    # ── many traces ──────────────────────────────────────────────────────────────────────

    def _row(self, trace: VerifiedTrace) -> str:
        report = trace.report
        if report is None:
            return f"  none  {self._coloured('unusable', 'yellow')}  {in_line(trace.name)}"
        label = report.label or "UNDECIDED"
        row = f"{score_text(report.score):>6}  {label:<9} {in_line(trace.name)}"
        broken = ", ".join(result.name for result in (*report.undecided, *report.violated))
        text = shortened(f"{row}  {in_line(broken)}" if broken else row)
        return text.replace(label, self._coloured(label, LABEL_COLOURS[report.label]), 1)

    def _write_counts(self, totals: VerifyTotals) -> None:
        labels = ", ".join(f"{count} {label}" for label, count in totals.label_counts().items())
        mean = score_text(totals.mean)
        traces = counted(totals.traces, "trace")
        self._line(f"\n{traces}: {labels or 'none'}; mean score {mean}")
        if totals.unusable:
            number = counted(totals.unusable.total(), "record")
            self._line(f"{number} could not be used; see the errors above")
        if totals.notes:
            kinds = "; ".join(
                f"{n} × {code}, {CODES[code].title}" for code, n in totals.notes.items()
            )
            number = counted(totals.notes.total(), "note")
            text = wrapped(f"{number} on the traces: {kinds}", 0)
            self._line(self._coloured(text, "grey"))
        if not totals.traces or not totals.rules():
            return
        longest = min(_LONGEST_NAME, max(4, *(len(rule.name) for rule in totals.rules())))
        self._line(f"\n{'rule':<{longest}}  in play  violated")
        for rule in totals.rules():
            name, in_play = clipped(in_line(rule.name), longest), rule.traces - rule.vacuous
            self._line(f"{name:<{longest}}  {in_play:>7}  {rule.violated:>8}")


def _note_lines(notes: Sequence[Diagnostic]) -> Iterator[str]:
    """`note[W521]: a result answers no call (at messages[3])`, for the first few notes."""
    for note in notes[:_SHOWN_NOTES]:
        where = f" (at {note.where})" if note.where else ""
        yield f"note[{note.code}]: {note.message}{where}"
    if len(notes) > _SHOWN_NOTES:
        yield f"… and {counted(len(notes) - _SHOWN_NOTES, 'more note')}"


open_writer: Final = TextWriter
