"""The interface of report writers, and the facts about a run that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from bylaw.procedure.procedure import Procedure
from bylaw.reports.ci.regions import Region, rule_regions
from bylaw.reports.ci.totals import FailureTerms, VerifyTotals
from bylaw.reports.ci.verified import VerifiedTrace

if TYPE_CHECKING:  # slow to import, and text has no origin
    from bylaw.reports.provenance import HashedFile, Provenance


@dataclass
class VerifyRun:
    """The facts about a run that writers share. Costly ones are found when they are asked for."""

    procedure: Procedure
    procedure_file: str
    terms: FailureTerms
    single: bool
    """Is there only one record?"""
    origin: Callable[[], Provenance]
    repairs: bool = False
    """Were repairs asked for?"""
    edits_results: bool = False
    """May repairs change results?"""

    @cached_property
    def provenance(self) -> Provenance:
        """The origin of the report. The inputs are hashed when it is first asked for."""
        return self.origin()

    @cached_property
    def inputs(self) -> dict[str, HashedFile]:
        """The inputs, by path."""
        return {each.path: each for each in self.provenance.inputs}

    @cached_property
    def rules(self) -> dict[str, Region]:
        """The region of each rule in the procedure's file, by name."""
        return rule_regions(self.procedure_file, self.procedure)


class ReportWriter(Protocol):
    """Writes a report as the traces come in. It may keep what its format needs at the end."""

    def begin(self) -> None:
        """Called before the first trace."""
        ...

    def add(self, trace: VerifiedTrace) -> None:
        """Takes in one record."""
        ...

    def end(self, totals: VerifyTotals) -> None:
        """Called after the last trace, unless the run was interrupted."""
        ...
