"""`--format jsonl`: an object a line for each trace, as in JSON, then one with the summary.

The last line has `summary` and `provenance`, and no `trace`.
"""

from __future__ import annotations

import json
from typing import Final, TextIO

from bylaw.reports.ci.totals import VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace
from bylaw.reports.ci.writer import VerifyRun
from bylaw.values import Json
from bylaw.version import __version__


class JsonLinesWriter:
    """Writes a line for each trace."""

    def __init__(self, out: TextIO, run: VerifyRun) -> None:
        self._out: Final = out
        self._run: Final = run

    def begin(self) -> None:
        """There is nothing before the first trace."""

    def add(self, trace: VerifiedTrace) -> None:
        """Writes one line."""
        self._write(trace.to_dict())

    def end(self, totals: VerifyTotals) -> None:
        """Writes the last line."""
        origin = self._run.provenance.to_dict()
        self._write({"summary": totals.to_dict(), "provenance": origin})

    def _write(self, record: dict[str, Json]) -> None:
        self._out.write(f"{json.dumps({'bylaw': __version__} | record)}\n")


open_writer: Final = JsonLinesWriter
