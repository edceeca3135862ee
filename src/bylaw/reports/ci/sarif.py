"""`--format sarif`: SARIF 2.1.0, for code scanning.

A violation is a result at the line of its call in the trace's file. Related locations are the rule
in the procedure's file, and the other calls to look at. A record or rule that could not be judged
is a notification of the tool. Results are written as the traces come; those of rules across runs
come last, one for each value for which a rule is violated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import quote

from bylaw.errors import clipped
from bylaw.procedure.procedure import Constraint
from bylaw.reports.ci.across_text import across_sentence
from bylaw.reports.ci.formats import SARIF_MARK
from bylaw.reports.ci.levels import LEVELS
from bylaw.reports.ci.regions import Region
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import LocatedViolation, VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.reports.provenance import HashedFile
from bylaw.scoring.across import AcrossResult
from bylaw.scoring.verify import MAX_SENTENCES
from bylaw.values import Json, canonical
from bylaw.version import __version__

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "bylawViolation/v1"
_LINE_HASH: Final = "primaryLocationLineHash"
"""The fingerprint that GitHub compares; it would otherwise make one of the line's text."""
MAX_ID: Final = 200
"""The longest id of a rule, in characters. A longer name is cut, and gets a digest."""
MAX_TEXT: Final = 10_000
"""The longest message, in characters."""
MAX_NOTIFICATIONS: Final = 1_000
_PLACEHOLDER: Final = re.compile(r"\{(?=\d+\})")
_LINK: Final = re.compile(r"\[(?=[^\[\]]*\]\()")


class SarifWriter:
    """Writes one run with a result for each violation."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run
        self._ids: Final = {each.name: rule_id(each.name) for each in run.procedure.constraints}
        self._numbers: Final = {name: number for number, name in enumerate(self._ids)}
        self._notifications: list[Json] = []
        self._separator = ""

    def begin(self) -> None:
        """Writes the tool and its rules, and opens the results."""
        driver = {
            "name": "bylaw",
            "version": __version__,
            "semanticVersion": __version__,
            "rules": [self._rule(each) for each in self._run.procedure.constraints],
        }
        opened = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
        head = f'"$schema": {json.dumps(SCHEMA)}, "version": "2.1.0", "runs": ['
        self._out.write(f'{SARIF_MARK}{head}\n{json.dumps(opened)[:-1]},\n"results": [')

    def add(self, trace: VerifiedTrace) -> None:
        """Writes the results of one trace."""
        for problem in trace.problems:
            region = Region(problem.line, problem.column) if problem.line else None
            place = self._location(problem.source or trace.file, region)
            self._notify(f"{problem.code}: {problem.message}", place)
        if trace.report is None:
            return
        for result in trace.report.undecided:
            place = self._location(trace.file, Region(trace.entry.line or 1))
            self._notify(result.detail, place, self._ids[result.name])
        for result in trace.report.violated:
            for each in trace.of(result)[:MAX_SENTENCES]:
                self._write(self._result(trace, each))

    def _write(self, result: Json) -> None:
        self._out.write(f"{self._separator}\n{json.dumps(result)}")
        self._separator = ","

    def end(self, totals: VerifyTotals) -> None:
        """Adds the rules across runs, the files, the command and its notifications."""
        for result in totals.broken_across:
            if result.passed is None:
                _, file, region = totals.places_of(result)[0]
                place = self._location(file, region)
                self._notify(across_sentence(result), place, self._ids[result.name])
            else:
                self._write(self._across(totals, result))
        origin = self._run.provenance
        source = origin.procedure_file
        artifacts = [_artifact(each) for each in (*((source,) if source else ()), *origin.inputs)]
        invocation = {
            "executionSuccessful": not totals.undecided,
            "commandLine": " ".join(origin.command),
            "arguments": list(origin.command[1:]),
            "toolExecutionNotifications": self._notifications,
        }
        closed = {
            "artifacts": artifacts,
            "invocations": [invocation],
            "properties": {"provenance": origin.to_dict()},
        }
        self._out.write(f"\n],\n{json.dumps(closed)[1:]}\n]}}\n")

    # ── parts ─────────────────────────────────────────────────────────────────────────────

    def _rule(self, constraint: Constraint) -> Json:
        texts = (("Why", constraint.why), ("Fix", constraint.fix), ("Rule", constraint.rule))
        said = [(label, text) for label, text in texts if text]
        return {
            "id": self._ids[constraint.name],
            "name": clipped(constraint.name, MAX_TEXT),
            "shortDescription": {"text": _message(constraint.why or constraint.rule)},
            "fullDescription": {"text": _message(constraint.rule)},
            "help": {"text": _message("\n".join(f"{label}: {text}" for label, text in said))},
            "defaultConfiguration": {"level": LEVELS[constraint.effective_severity]},
            "properties": {
                "weight": constraint.weight,
                "layer": constraint.layer,
                "severity": constraint.effective_severity,
                "tags": ["procedure"],
            },
        }

    def _result(self, trace: VerifiedTrace, found: LocatedViolation) -> Json:
        digest = f"{found.fingerprint}:{found.ordinal + 1}"
        place = self._location(trace.file, found.region)
        place["logicalLocations"] = [{"fullyQualifiedName": clipped(trace.name, MAX_TEXT)}]
        related = [(text, self._location(trace.file, region)) for text, region in found.witnesses()]
        finding = self._finding(found.constraint, found.detail, place, related, digest)
        return finding | self._state(found)

    def _finding(
        self,
        constraint: Constraint,
        detail: str,
        place: dict[str, Json],
        related: list[tuple[str, dict[str, Json]]],
        digest: str,
    ) -> dict[str, Json]:
        """A violation of a rule, with its place and those of the calls to look at."""
        name = constraint.name
        rule = self._location(self._run.procedure_file, self._run.rules.get(name))
        return {
            "ruleId": self._ids[name],
            "ruleIndex": self._numbers[name],
            "level": LEVELS[constraint.effective_severity],
            "message": {"text": _message(detail)},
            "locations": [place],
            "relatedLocations": [
                {"id": number, "message": {"text": _message(text)}, **where}
                for number, (text, where) in enumerate([(f"the rule '{name}'", rule), *related], 1)
            ],
            "partialFingerprints": {FINGERPRINT: digest, _LINE_HASH: digest},
        }

    def _across(self, totals: VerifyTotals, result: AcrossResult) -> Json:
        """A rule across runs that is violated, at the latest call to look at."""
        (_, file, region), *others = totals.places_of(result)
        place = self._location(file, region)
        place["logicalLocations"] = [{"fullyQualifiedName": clipped(result.title, MAX_TEXT)}]
        related = [(text, self._location(path, at)) for text, path, at in others]
        said: Json = [result.name, result.label, result.value or result.traces[0]]
        text = canonical(said).encode("utf-8", "surrogatepass")
        digest = f"{hashlib.sha256(text).hexdigest()[:32]}:1"
        state = {"baselineState": "new"} if self._run.terms.baseline else {}
        constraint, detail = result.result.constraint, across_sentence(result)
        return self._finding(constraint, detail, place, related, digest) | state

    def _state(self, found: LocatedViolation) -> dict[str, Json]:
        if not self._run.terms.baseline:
            return {}
        return {"baselineState": "unchanged" if found.known else "new"}

    def _notify(self, text: str, place: Json, rule: str | None = None) -> None:
        if len(self._notifications) >= MAX_NOTIFICATIONS:
            return
        about = {} if rule is None else {"associatedRule": {"id": rule}}
        message = {"text": _message(text)}
        self._notifications.append(
            {"level": "error", "message": message, "locations": [place], **about}
        )

    def _location(self, path: str, region: Region | None) -> dict[str, Json]:
        place: dict[str, Json] = {"artifactLocation": artifact_location(path)}
        if region is not None:
            names = ("startLine", "startColumn", "endLine", "endColumn")
            place["region"] = {
                name: value for name, value in zip(names, region, strict=True) if value
            }
        return {"physicalLocation": place}


def rule_id(name: str) -> str:
    """The name of a rule as an id."""
    if len(name) <= MAX_ID:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: MAX_ID - 13]}-{digest}"


def artifact_location(path: str) -> dict[str, Json]:
    """A file as SARIF names it: relative to the root of the sources if that is possible."""
    inside = _relative(path)
    if inside is None:
        return {"uri": f"file://{_quoted(Path(path).as_posix())}"}
    return {"uri": _quoted(inside), "uriBaseId": "%SRCROOT%"}


def _relative(path: str) -> str | None:
    """The path below the working directory; None if it is elsewhere."""
    if not Path(path).is_absolute():
        return os.path.normpath(path).replace(os.sep, "/")
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return None


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape" if _from_system(path) else "surrogatepass"))


def _from_system(path: str) -> bool:
    """Are the characters without a UTF-8 form those that stand for bytes of a file's name?"""
    return all(not "\ud800" <= each <= "\udfff" or "\udc80" <= each <= "\udcff" for each in path)


def _artifact(file: HashedFile) -> Json:
    size = {} if file.size is None else {"length": file.size}
    hashes = {} if file.sha256 is None else {"hashes": {"sha-256": file.sha256}}
    return {"location": artifact_location(file.path), **size, **hashes}


def _message(text: str) -> str:
    """A message in which nothing is read as a placeholder or as a link."""
    text = _PLACEHOLDER.sub("{{", clipped(text, MAX_TEXT))
    return _LINK.sub(r"\\[", text) or "(no text)"


open_writer: Final = SarifWriter
