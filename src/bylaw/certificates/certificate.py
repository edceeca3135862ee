"""The certificate of a report: everything that an independent checker needs, and no more.

    {"certificate": 1, "version": "0.1.0", "trace": {"sha256": "…"}, "procedure": {"sha256": "…"},
     "rules": [{"name": "verify-first", "outcome": "violated", "formula": […], "tables": […]}],
     "score": 0.4, "label": "PARTIAL"}

`formula` is the JSON form, and `tables` has the rows of each of its parts. A row says where the
part is `true` and, if that differs, where something was `checked`, in run lengths; with `values` of
its variables. `docs/explanation/certificates.md` describes the format and what it proves.
"""

from __future__ import annotations

import hashlib
from typing import Final

from bylaw.certificates.truth_tables import truth_tables
from bylaw.frozen import frozen, replace
from bylaw.logic import formula as f
from bylaw.logic.walk import everything
from bylaw.procedure.failure import Failure
from bylaw.scoring.verify import ConstraintResult, Report
from bylaw.semantics.scope import EvaluationScope
from bylaw.semantics.verdict import Outcome
from bylaw.syntax.json_writer import to_json
from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.version import __version__
from bylaw.vocabulary.view import View, mask_of

VERSION: Final = 1


@frozen
class CertifiedFile:
    """A file that a certificate is about."""

    name: str
    content: bytes

    def to_dict(self) -> dict[str, Json]:
        return {"file": self.name, "sha256": hashlib.sha256(self.content).hexdigest()}


def certificate(
    report: Report, unmarked: Trace, trace: CertifiedFile, procedure: CertifiedFile
) -> dict[str, Json]:
    """The certificate of a report. `unmarked` is the trace as it was read.

    `trace` is the file with its record, and `procedure` the file with the procedure.
    """
    about = {"name": report.procedure.name, "order": report.procedure.order}
    failed = report.procedure.failed
    return {
        "certificate": VERSION,
        "version": __version__,
        "trace": trace.to_dict(),
        "procedure": procedure.to_dict() | about,
        **({} if failed is None else {"failed": _failures(failed, unmarked)}),
        "rules": [_rule(result) for result in report.constraints],
        "score": report.score,
        "label": report.label,
    }


def _rule(result: ConstraintResult) -> dict[str, Json]:
    constraint = result.constraint
    claim = {
        "name": constraint.name,
        "weight": constraint.weight,
        "events": result.checked.procedure.events_of(constraint),
        "outcome": result.outcome.value,
        "formula": to_json(constraint.formula)["formula"],
    }
    if reason := _not_certified(result):
        return claim | {"reason": reason}
    return claim | {"tables": truth_tables(constraint.formula, result.evaluation.scope)}


def _not_certified(result: ConstraintResult) -> str | None:
    """The reason why an outcome has no tables, or None if it has."""
    if result.outcome is Outcome.ERROR:
        return "the rule could not be decided"
    for part in everything(result.constraint.formula):
        match part:
            case f.OpenPredicate(name) | f.Extracted(name):
                return f"it calls '{name}', which is registered in Python"
            case f.TracePredicate("CalledWithResult"):
                if not result.checked.procedure.vocabulary.compares_plainly:
                    return "it compares results by a function that is registered in Python"
    return None


def _failures(failed: Failure, trace: Trace) -> dict[str, Json]:
    """The tables of the test for failed calls, at the calls that it decides."""
    alone = Trace([replace(event, step=0) for event in trace.events])
    scope = EvaluationScope(View(alone, alone.events))
    asked = [
        at
        for at, event in enumerate(alone.events)
        if isinstance(event, Call) and not event.failed and event.result is not MISSING
    ]
    tables = truth_tables(failed.formula, scope, mask_of(asked))
    return {"formula": to_json(failed.formula)["formula"], "tables": tables}
