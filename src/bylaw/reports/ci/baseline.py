"""Violations that are known: those of an earlier run, in a file that `--format jsonl` wrote.

A violation is known if the baseline has one of the same rule, in a trace of the same file, with
the same fingerprint. They are counted: if the baseline has two, the third is new. The number of a
line is not compared, so traces may be added to a file; a file that is renamed is a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from bylaw.errors import Diagnostic, UsageError
from bylaw.opening import open_regular
from bylaw.reports.ci.places import TracePlaces
from bylaw.reports.ci.verified import LocatedViolation, fingerprint
from bylaw.scoring.verify import Report
from bylaw.trace.files import Entry
from bylaw.values import JsonError, read_json

ViolationKey: TypeAlias = tuple[str, str, str]
"""The rule's name, the file, and the fingerprint."""
_REMEDY: Final = "Write one: bylaw verify … --format jsonl=baseline.jsonl."


class ViolationLocator:
    """Locates the violations of each trace, and marks those that a baseline has."""

    def __init__(self, places: TracePlaces, baseline: Counter[ViolationKey] | None = None) -> None:
        self._places: Final = places
        self._baseline: Final = Counter(baseline or ())
        self._file: str | None = None
        self._met: Counter[ViolationKey] = Counter()
        """The violations so far in the file that is being read."""

    def __call__(self, entry: Entry, report: Report) -> Sequence[LocatedViolation]:
        """The violations of one trace."""
        if not report.violated:
            return ()
        file = stable_path(entry.source or entry.name)
        if file != self._file:
            self._file, self._met = file, Counter()
        places = self._places.places(entry)
        found: list[LocatedViolation] = []
        for result in report.violated:
            for occurrence in result.occurrences:
                digest = fingerprint(result.name, occurrence)
                key = (result.name, file, digest)
                known = self._baseline[key] > 0
                if known:
                    self._baseline[key] -= 1
                ordinal = self._met[key]
                self._met[key] += 1
                found.append(LocatedViolation(result, occurrence, places, digest, ordinal, known))
        return found


def stable_path(path: str) -> str:
    """The path as it is compared: with `/`, and without a leading `./`."""
    return PurePath(path).as_posix()


def read_baseline(path: str) -> Counter[ViolationKey]:
    """The violations in a file that `bylaw verify --format jsonl` wrote."""
    found: Counter[ViolationKey] = Counter()
    recognised, number = False, 0
    try:
        with open_regular(path) as file:
            for line in file:
                number += 1
                if line.strip():
                    record = read_json(line.decode("utf-8-sig"))
                    found.update(_violations(record))
                    recognised |= "compliance_label" in record or "provenance" in record
    except OSError as error:
        message = f"the baseline {path} cannot be read: {error.strerror or error}"
        raise UsageError(Diagnostic("E404", message, _REMEDY)) from None
    except (JsonError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        message = f"line {number} is not a line of a report on a trace"
        raise UsageError(Diagnostic("E404", message, _REMEDY, path, number)) from None
    if not recognised:
        raise UsageError(Diagnostic("E404", "the file has no report on a trace", _REMEDY, path))
    return found


def _violations(record: Any) -> list[ViolationKey]:
    """The violations of one line; none of an unusable record, or of the summary."""
    if "compliance_label" not in record:
        record.keys()  # raises unless it is an object
        return []
    file = stable_path(record["file"])
    return [
        (rule["name"], file, each["fingerprint"])
        for rule in record["constraints"]
        for each in rule["occurrences"]
    ]
