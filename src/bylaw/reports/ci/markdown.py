"""`--format markdown`: a summary for a pull request, a wiki, or the page of a CI job.

Names and sentences come from agents and their tools. Every character that Markdown or HTML could
obey is written as an entity, and mentions of people are broken up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, TextIO

from bylaw.errors import clipped
from bylaw.reports.ci.across_text import across_calls, across_sentence
from bylaw.reports.ci.formats import MARKDOWN_MARK
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.terminal import counted, in_line, score_text

MAX_SHOWN: Final = 50
"""The most traces that are listed. GitHub takes 1 MiB of summary for a step."""
MAX_CELL: Final = 300
"""The longest text that is shown, in characters."""
_MARKUP: Final = re.compile(r"[^\w\s.,:;/#=(){}'\"-]|[@_*]", re.ASCII)


class MarkdownWriter:
    """Collects the first traces with violations, and writes at the end."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run
        self._lines: Final[list[str]] = []
        self._listed = 0
        self._more = 0

    def begin(self) -> None:
        """Everything is written at the end: the counts come first."""

    def add(self, trace: VerifiedTrace) -> None:
        """Keeps the violations of a trace, if there is room."""
        if trace.report is not None and not trace.report.violated and not trace.report.undecided:
            return
        if self._listed >= MAX_SHOWN:
            self._more += 1
            return
        self._listed += 1
        self._lines.extend(self._trace(trace))

    def end(self, totals: VerifyTotals) -> None:
        """Writes the summary."""
        self._out.write(f"{MARKDOWN_MARK}\n")
        self._out.write("".join(f"{line}\n" for line in self._page(totals)))

    def _page(self, totals: VerifyTotals) -> Iterator[str]:
        verdict = "failed" if totals.failed or totals.undecided else "passed"
        yield f"### {markdown_code(self._run.procedure.name)}: {verdict}"
        labels = ", ".join(f"{count} {label}" for label, count in totals.label_counts().items())
        yield ""
        yield (
            f"{counted(totals.traces, 'trace')}: {labels or 'none'}; "
            f"mean score {score_text(totals.mean)}."
        )
        if totals.unusable:
            yield f"{counted(totals.unusable.total(), 'record')} could not be used."
        if totals.terms.baseline:
            yield f"{counted(totals.new, 'new violation')}, {totals.known} known."
        yield from ("", "| rule | in play | violated |", "| --- | ---: | ---: |")
        for rule in totals.rules():
            name, in_play = markdown_code(rule.name), rule.traces - rule.vacuous
            yield f"| {name} | {in_play} | {rule.violated} |"
        yield from _across(totals)
        if untested := totals.untested():
            names = ", ".join(map(markdown_code, untested[:MAX_SHOWN]))
            yield from ("", f"No trace puts these rules to the test: {names}.")
        if self._lines:
            yield from ("", "| trace | rule | |", "| --- | --- | --- |", *self._lines)
        if self._more:
            yield from ("", f"… and {counted(self._more, 'more trace')}.")
        yield ""
        facts = self._run.provenance.facts().items()
        yield f"<sub>{'; '.join(f'{name} {markdown_code(text)}' for name, text in facts)}</sub>"

    def _trace(self, trace: VerifiedTrace) -> Iterator[str]:
        name = markdown_code(trace.name)
        if trace.report is None:
            problem = trace.problems[0].message if trace.problems else ""
            yield f"| {name} | | cannot be used: {markdown_text(problem)} |"
            return
        for result in trace.report.undecided:
            rule = markdown_code(result.name)
            yield f"| {name} | {rule} | undecided: {markdown_text(result.detail)} |"
        for result in trace.report.violated:
            excuse = self._run.terms.excuse(trace, trace.of(result))
            note = f" ({markdown_text(excuse)})" if excuse else ""
            detail = markdown_text(result.detail)
            yield f"| {name} | {markdown_code(result.name)} | {detail}{note} |"


def _across(totals: VerifyTotals) -> Iterator[str]:
    """The rules across runs, with the first values for which they are violated."""
    if not totals.across:
        return
    yield from ("", "| rule across runs | values | violated |", "| --- | ---: | ---: |")
    values = Counter((each.name, each.label) for each in totals.across)
    broken = Counter((each.name, each.label) for each in totals.broken_across)
    for (name, label), number in values.items():
        rule = f"{markdown_code(name)} across {markdown_code(label)}"
        yield f"| {rule} | {number} | {broken[name, label]} |"
    if totals.broken_across:
        yield from ("", "| value | rule | |", "| --- | --- | --- |")
        for each in totals.broken_across[:MAX_SHOWN]:
            said = filter(None, (across_sentence(each), across_calls(each)))
            detail = " ".join(map(markdown_text, said))
            yield f"| {markdown_code(each.title)} | {markdown_code(each.name)} | {detail} |"
        if (more := len(totals.broken_across) - MAX_SHOWN) > 0:
            yield from ("", f"… and {counted(more, 'more value')}.")


def markdown_text(text: str) -> str:
    """The text on one line, and nothing in it but text."""
    shown = in_line(clipped(text, MAX_CELL))
    return _MARKUP.sub(lambda found: _entity(found[0]), shown)


def markdown_code(text: str) -> str:
    """The text as code."""
    return f"<code>{markdown_text(text)}</code>"


def _entity(character: str) -> str:
    """The character as an entity. A space of no width follows an at sign: it mentions nobody."""
    if not character.isascii():
        return character
    return f"&#{ord(character)};" + ("&#8203;" if character == "@" else "")


open_writer: Final = MarkdownWriter
