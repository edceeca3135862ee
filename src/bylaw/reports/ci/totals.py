"""The counts over a whole run, and the decision whether it fails."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.batch.output.summary import RuleCounts, layer_rates
from bylaw.procedure.procedure import Procedure, label_of, value_of
from bylaw.reports.ci.regions import Region
from bylaw.reports.ci.verified import MAX_WITNESSES, LocatedViolation, VerifiedTrace
from bylaw.scoring.across import AcrossResult
from bylaw.semantics.verdict import Outcome
from bylaw.values import Json

_COUNTED: Final = (Outcome.VIOLATED, Outcome.VACUOUS, Outcome.SATISFIED, Outcome.ERROR)
"""The outcomes in the order of the fields of `RuleCounts`."""


@dataclass(frozen=True, slots=True)
class FailureTerms:
    """The conditions under which a run fails."""

    under: float | None = None
    """A trace fails only if its score is below this; without it, if a rule is violated."""
    vacuous: bool = False
    """Does the run fail if there is a rule that no trace put to the test?"""
    baseline: bool = False
    """Is there a baseline? Then only a new violation fails."""

    def fails(self, trace: VerifiedTrace) -> bool:
        """Does this trace fail the run?"""
        report = trace.report
        if report is None or not report.violated:
            return False
        if self.baseline and not any(trace.new):
            return False
        return self.under is None or report.score is None or report.score < self.under

    def excuse(self, trace: VerifiedTrace, found: Sequence[LocatedViolation]) -> str | None:
        """The reason why these violations of a trace do not fail the run; None if they do."""
        if self.baseline and all(each.known for each in found):
            return "known: in the baseline"
        if not self.fails(trace):
            return f"tolerated: the score is not below {self.under}"
        return None


class VerifyTotals:
    """Counts over all traces."""

    def __init__(self, procedure: Procedure, terms: FailureTerms) -> None:
        self.procedure: Final = procedure
        self.terms: Final = terms
        self.traces = 0
        self.calls = 0
        self.labels: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        """The number of unusable records in each file."""
        self.notes: Counter[str] = Counter()
        self.known = 0
        """The number of violations that are in the baseline."""
        self.new = 0
        self.failing = 0
        """The number of traces that fail the run."""
        self.across: Sequence[AcrossResult] = ()
        """The results of rules across runs, for each value; known once all traces are."""
        self._places: Final[dict[str, tuple[str, Region | None]]] = {}
        """The file and the line of each trace, if there are rules across runs."""
        self._outcomes: Final[Counter[tuple[str, Outcome]]] = Counter()
        self._lost: Final[Counter[str]] = Counter()

    def add(self, trace: VerifiedTrace) -> None:
        """Counts one record."""
        self.notes.update(note.code for note in trace.notes)
        report = trace.report
        if report is None:
            self.unusable[trace.file] += 1
            return
        if self.procedure.across:
            line = trace.entry.line
            self._places[trace.name] = trace.file, None if line is None else Region(line)
        self.traces += 1
        self.calls += len(report.trace.calls)
        self.labels[report.label or "UNDECIDED"] += 1
        for result in report.constraints:
            self._outcomes[result.name, result.outcome] += 1
            self._lost[result.name] += report.label is not None and result.passed is False
        if self.terms.baseline:
            self.known += sum(each.known for each in trace.violations)
            self.new += sum(not each.known for each in trace.violations)
        self.failing += self.terms.fails(trace)

    # ── rules across runs ─────────────────────────────────────────────────────────────────

    @property
    def broken_across(self) -> list[AcrossResult]:
        """The results of rules across runs that are violated, or could not be decided."""
        return [each for each in self.across if each.passed is not True]

    def places_of(self, result: AcrossResult) -> list[tuple[str, str, Region | None]]:
        """The calls to look at, the latest first: each in words, its file and its line.

        If there are none, the latest trace of the value.
        """
        calls = [(f"call #{at + 1} in {name}", name) for name, at in reversed(result.witness)]
        found = calls[:MAX_WITNESSES] or [(result.traces[-1], result.traces[-1])]
        return [(text, *self._places[name]) for text, name in found]

    # ── figures ───────────────────────────────────────────────────────────────────────────

    @property
    def mean(self) -> float | None:
        """The mean score; None if no trace has one."""
        scored = self.traces - self.labels["UNDECIDED"]
        if not scored:
            return None
        rules = self.procedure.run_constraints
        lost = math.fsum(rule.weight * self._lost[rule.name] for rule in rules)
        label = label_of(self._lost.total(), len(rules) * scored)
        return value_of(lost, math.fsum(rule.weight for rule in rules) * scored, label)

    def rules(self) -> list[RuleCounts]:
        """The counts of each rule, in the order of the procedure."""
        return [
            RuleCounts(each, *(self._outcomes[each.name, outcome] for outcome in _COUNTED))
            for each in self.procedure.run_constraints
        ]

    def label_counts(self) -> dict[str, int]:
        """The number of traces with each label, the most frequent first."""
        return {name: count for name, count in self.labels.most_common() if count}

    def untested(self) -> list[str]:
        """The rules that are vacuous in every trace."""
        return [rule.name for rule in self.rules() if rule.traces and rule.vacuous == rule.traces]

    @property
    def undecided(self) -> bool:
        """Was there anything that could not be read or decided?"""
        open_across = any(each.passed is None for each in self.broken_across)
        return bool(self.unusable or self.labels["UNDECIDED"] or open_across)

    @property
    def failed(self) -> bool:
        """Does the run fail?"""
        broken_across = any(each.passed is False for each in self.broken_across)
        return bool(self.failing or broken_across or (self.terms.vacuous and self.untested()))

    def to_dict(self) -> dict[str, Json]:
        """The summary as JSON."""
        summary: dict[str, Json] = {
            "procedure": self.procedure.name,
            "traces": self.traces,
            "calls": self.calls,
            "mean_score": self.mean,
            "labels": self.label_counts(),
            "layers": dict(layer_rates(self.rules())),
            "constraints": [rule.to_dict() for rule in self.rules()],
            "unusable": dict(self.unusable),
            "notes": dict(self.notes),
            "untested": self.untested(),
            "failed": self.failed,
        }
        if self.across:
            summary["across"] = [each.to_dict() for each in self.across]
        if self.terms.baseline:
            summary["baseline"] = {"known": self.known, "new": self.new}
        return summary
