"""`--format junit`: JUnit XML, as Jenkins' xUnit schema (junit-10) describes it.

A trace is a test suite and a rule a test case. A violated rule is a failure, one that could not be
decided is an error, and a vacuous one is skipped: nothing was tested. So is a violation that does
not fail the run. A record that cannot be used is a suite with one error. Counts are kept for each
suite only, so suites are written as the traces come. At the end come the rules across runs: a suite
for each value of a label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, TextIO
from xml.sax.saxutils import escape, quoteattr

from bylaw.errors import clipped
from bylaw.reports.ci.across_text import across_calls, across_sentence
from bylaw.reports.ci.formats import JUNIT_MARK
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace, sentences
from bylaw.reports.ci.writer import VerifyRun
from bylaw.scoring.across import AcrossResult
from bylaw.scoring.verify import ConstraintResult
from bylaw.semantics.verdict import Outcome
from bylaw.terminal import safe

MAX_NAME: Final = 1_000
"""The longest name or message in an attribute, in characters."""
MAX_BODY: Final = 100_000
"""The longest text of a failure, in characters."""
_COUNTED: Final = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class JunitWriter:
    """Writes a suite for each trace."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run

    def begin(self) -> None:
        """Opens the document."""
        name = _attribute(self._run.procedure.name)
        self._out.write(f"{JUNIT_MARK}\n<testsuites name={name}>\n")

    def add(self, trace: VerifiedTrace) -> None:
        """Writes the suite of one record."""
        facts = dict(self._run.provenance.facts())
        source = self._run.inputs.get(trace.file)
        if source is not None and source.sha256 is not None:
            facts["input sha256"] = source.sha256
        if trace.report is None:
            text = "\n".join(problem.render() for problem in trace.problems)
            self._suite(trace.name, facts, [("record", "error", "the record cannot be used", text)])
            return
        facts |= {"score": str(trace.report.score), "label": str(trace.report.label)}
        cases = [
            (result.name, *self._verdict(trace, result)) for result in trace.report.constraints
        ]
        self._suite(trace.name, facts, cases)

    def end(self, totals: VerifyTotals) -> None:
        """Adds suites about rules across runs, and about rules that were never tested; closes it.

        A rule that was never tested has a suite only if it fails the run.
        """
        values: dict[str, list[AcrossResult]] = {}
        for each in totals.across:
            values.setdefault(each.title, []).append(each)
        for title, found in values.items():
            cases = [(each.name, *self._across(totals, each)) for each in found]
            self._suite(title, self._run.provenance.facts(), cases)
        if totals.terms.vacuous:
            untested = set(totals.untested())
            message = "vacuous in every trace"
            cases = [
                (rule.name, "failure" if rule.name in untested else "", message, "")
                for rule in totals.rules()
            ]
            self._suite("every rule is tested", self._run.provenance.facts(), cases)
        self._out.write("</testsuites>\n")

    def _verdict(self, trace: VerifiedTrace, result: ConstraintResult) -> tuple[str, str, str]:
        """The element inside the test case, its message and its text."""
        if result.outcome is Outcome.SATISFIED:
            return "", "", ""
        if result.outcome is Outcome.VACUOUS:
            return "skipped", f"vacuous: {result.detail}", ""
        if result.outcome is Outcome.ERROR:
            return "error", result.detail, ""
        found = trace.of(result)
        excuse = self._run.terms.excuse(trace, found)
        text = "\n".join(self._failure(trace, result))
        if excuse is not None:
            return "skipped", f"{excuse}: {result.detail}", ""
        return "failure", result.detail, text

    def _failure(self, trace: VerifiedTrace, result: ConstraintResult) -> Iterator[str]:
        found = trace.of(result)
        region = found[0].region if found else None
        yield f"{trace.file}:{region.line}" if region else trace.name
        yield from sentences(found)
        yield from self._about(result)

    def _across(self, totals: VerifyTotals, result: AcrossResult) -> tuple[str, str, str]:
        """The element inside the test case of a rule across runs, its message and its text."""
        detail = result.result.detail
        if result.passed:
            vacuous = result.outcome is Outcome.VACUOUS
            return ("skipped", f"vacuous: {detail}", "") if vacuous else ("", "", "")
        places = [f"{file}:{at.line}" if at else file for _, file, at in totals.places_of(result)]
        sentences = filter(None, (across_sentence(result), across_calls(result)))
        text = "\n".join((places[0], *sentences, *self._about(result.result)))
        return "failure" if result.passed is False else "error", detail, text

    def _about(self, result: ConstraintResult) -> Iterator[str]:
        """The rule: why it is there, how to keep it, and its text."""
        for label, text in (("why", result.constraint.why), ("fix", result.constraint.fix)):
            if text:
                yield f"{label}: {text}"
        rule = self._run.rules.get(result.name)
        place = f" ({self._run.procedure_file}:{rule.line})" if rule else ""
        yield f"rule: {result.constraint.rule}{place}"

    def _suite(
        self, name: str, facts: Mapping[str, str], cases: list[tuple[str, str, str, str]]
    ) -> None:
        kinds = Counter(kind for _, kind, _, _ in cases)
        counts = " ".join(f'{plural}="{kinds[kind]}"' for kind, plural in _COUNTED.items())
        self._out.write(f'<testsuite name={_attribute(name)} tests="{len(cases)}" {counts}>\n')
        self._out.write("<properties>\n")
        for key, value in facts.items():
            self._out.write(f"<property name={_attribute(key)} value={_attribute(value)}/>\n")
        self._out.write("</properties>\n")
        for case, kind, message, text in cases:
            opened = f"<testcase classname={_attribute(name)} name={_attribute(case)}"
            self._out.write(f"{opened}/>\n" if not kind else f"{opened}>\n")
            if kind:
                head = f"<{kind} message={_attribute(message)}"
                body = f">{xml_text(clipped(text, MAX_BODY))}</{kind}>" if text else "/>"
                self._out.write(f"{head}{body}\n</testcase>\n")
        self._out.write("</testsuite>\n")


def _attribute(text: str) -> str:
    return quoteattr(_allowed(clipped(text, MAX_NAME)))


def xml_text(text: str) -> str:
    """The text as the content of an element."""
    return escape(_allowed(text))


_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no XML document can hold, escaped or not."""


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: safe(found[0]), text)


open_writer: Final = JunitWriter
