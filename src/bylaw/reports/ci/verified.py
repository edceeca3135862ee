"""One trace of the stream that every writer is fed from: its report, and each violation located."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Constraint
from bylaw.reports.ci.places import RecordPlaces
from bylaw.reports.ci.regions import Region
from bylaw.scoring.edits import Repair
from bylaw.scoring.occurrences import Occurrence
from bylaw.scoring.verify import MAX_SENTENCES, ConstraintResult, Report, call_indices
from bylaw.syntax.printer import to_text
from bylaw.trace.event import Message
from bylaw.trace.files import Entry
from bylaw.values import Json, canonical

MAX_WITNESSES: Final = 10
"""The most calls that are named beside the one that breaks the rule."""


@dataclass(frozen=True)
class LocatedViolation:
    """One occurrence of a violated rule, with its place in the trace's file."""

    result: ConstraintResult
    occurrence: Occurrence
    places: RecordPlaces
    fingerprint: str
    """A digest of the rule's name and of what broke it; the same in every run."""
    ordinal: int
    """The number of equal violations in the same file before this one."""
    known: bool = False
    """Is it in the baseline?"""

    @property
    def constraint(self) -> Constraint:
        """The constraint that is violated."""
        return self.result.constraint

    @property
    def detail(self) -> str:
        """The mistake, in one sentence."""
        return self.occurrence.detail

    @property
    def region(self) -> Region | None:
        """The call that breaks the rule, or else the whole record."""
        return self.places.call(self.occurrence.call)

    def witnesses(self) -> Iterator[tuple[str, Region]]:
        """The other calls to look at, each in words and with its region."""
        calls = self.result.checked.trace.calls
        numbers = call_indices(self.result.evaluation, self.occurrence.witness)[:MAX_WITNESSES]
        for number in numbers:
            region = self.places.call(number)
            if number != self.occurrence.call and number < len(calls) and region is not None:
                yield f"call #{number + 1}, {calls[number].tool}", region


@dataclass
class VerifiedTrace:
    """A record: the report on its trace, or the diagnostics that make it unusable."""

    entry: Entry
    report: Report | None
    notes: Sequence[Diagnostic] = ()
    repair: Repair | None = None
    locate: Callable[[Entry, Report], Sequence[LocatedViolation]] = lambda entry, report: ()
    """Finds the violations; called once, and only if they are asked for."""

    @property
    def name(self) -> str:
        """The record's name: `runs.jsonl:17`."""
        return self.entry.name

    @property
    def file(self) -> str:
        """The file that holds the record."""
        return self.entry.source or self.entry.name

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The reasons why the record cannot be used."""
        return self.entry.error.diagnostics if self.entry.error else ()

    @cached_property
    def violations(self) -> Sequence[LocatedViolation]:
        """Every violation, in the order of the rules, then of the events."""
        return () if self.report is None else self.locate(self.entry, self.report)

    @property
    def new(self) -> Iterator[LocatedViolation]:
        """The violations that are not in the baseline."""
        return (each for each in self.violations if not each.known)

    def of(self, result: ConstraintResult) -> list[LocatedViolation]:
        """The violations of one constraint."""
        return self._by_rule.get(result.name, [])

    @cached_property
    def _by_rule(self) -> dict[str, list[LocatedViolation]]:
        found: dict[str, list[LocatedViolation]] = {}
        for each in self.violations:
            found.setdefault(each.constraint.name, []).append(each)
        return found

    def to_dict(self) -> dict[str, Json]:
        """The record as JSON: the report, the place, and a fingerprint for each violation."""
        entry = self.entry
        place: dict[str, Json] = {"file": self.file}
        place |= {} if entry.line is None else {"line": entry.line}
        if self.report is None:
            problems = [problem.to_dict() for problem in self.problems]
            return {"trace": entry.name, **place, "errors": problems}
        record: dict[str, Json] = {
            "trace": entry.name,
            **self.report.to_dict(across=False),
            **place,
        }
        for written, result in zip(record["constraints"], self.report.constraints, strict=True):
            for shown, found in zip(written["occurrences"], self.of(result), strict=True):
                shown["fingerprint"] = found.fingerprint
                shown |= {"known": True} if found.known else {}
        if self.notes:
            record["notes"] = [note.to_dict() for note in self.notes]
        return record


def sentences(found: Sequence[LocatedViolation]) -> list[str]:
    """The violations in sentences; of very many, the first, and the number of the others."""
    shown = [each.detail for each in found[:MAX_SENTENCES]]
    more = len(found) - len(shown)
    return [*shown, f"… and {more:,} more"] if more > 0 else shown


def fingerprint(rule: str, occurrence: Occurrence) -> str:
    """The digest of a rule's name and of the call, message or values that broke it.

    A call counts with its tool and its arguments, a message with its role, the answer as such: the
    words of a model are different in every run. Positions are left out, because they move.
    """
    view = occurrence.narrator.view
    event: Json = None
    if occurrence.position is not None:
        found = view.events[occurrence.position]
        answer = occurrence.call == len(view.trace.calls)
        if isinstance(found, Message):
            event = ["message", found.role]
        else:
            event = ["answer"] if answer else ["call", found.tool, dict(found.args)]
    values = [[name, value] for name, value in occurrence.values]
    said = [rule, to_text(occurrence.part) if event is None else None, event, values]
    return hashlib.sha256(canonical(said).encode("utf-8", "surrogatepass")).hexdigest()[:32]
