"""`--format json`: one object, of the same shape for one trace and for many.

    {"bylaw": "0.1.0", "traces": [{"trace": …, …}, …], "summary": {…}, "provenance": {…}}

Traces are written as they come, a line each, so memory does not grow with them. `summary_object` is
the same object where no traces are wanted: then `traces` is null.
"""

from __future__ import annotations

import json
from typing import Final, TextIO

from bylaw.reports.ci.formats import JSON_MARK
from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.reports.provenance import Provenance
from bylaw.values import Json
from bylaw.version import __version__

_OPENING: Final = f'{JSON_MARK}{__version__}", "traces": '


class JsonWriter:
    """Writes one object."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run
        self._separator = ""

    def begin(self) -> None:
        """Opens the object and its list."""
        self._out.write(f"{_OPENING}[")

    def add(self, trace: VerifiedTrace) -> None:
        """Writes one trace, on a line of its own."""
        record = trace.to_dict()
        if self._run.repairs:
            record["repair"] = trace.repair.to_dict() if trace.repair else None
        self._out.write(f"{self._separator}\n{json.dumps(record)}")
        self._separator = ","

    def end(self, totals: VerifyTotals) -> None:
        """Closes the list, and adds the summary."""
        self._out.write(f"\n],\n{_closing(totals.to_dict(), self._run.provenance)}")


def summary_object(summary: Json, provenance: Provenance) -> str:
    """The object for a corpus of which only the summary is wanted."""
    return f"{_OPENING}null,\n{_closing(summary, provenance)}"


def _closing(summary: Json, provenance: Provenance) -> str:
    origin = json.dumps(provenance.to_dict())
    return f'"summary": {json.dumps(summary)},\n"provenance": {origin}}}\n'


open_writer: Final = JsonWriter
