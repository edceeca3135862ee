"""The page to watch a resident gate: its runs, what each owes, what was refused, who must decide.

The page comes without data. Its script asks the server for the runs and their changes, with the
token that is in the address after `#`, which browsers send nowhere.
"""

from __future__ import annotations

from typing import Final

from bylaw.procedure.procedure import Procedure
from bylaw.reports.html.page import asset, page
from bylaw.reports.provenance import provenance

STYLES: Final = ("theme.css", "watch.css")
SCRIPTS: Final = ("dom.js", "watch_runs.js", "watch.js")


def watched_rules(procedure: Procedure) -> dict[str, dict[str, str]]:
    """The rules as the page shows them, for those who have a token."""
    return {
        rule.name: {"severity": rule.effective_severity, "why": rule.why or ""}
        for rule in procedure.constraints
    }


def render_watch(procedure: Procedure) -> str:
    """The page, for the runs of one procedure."""
    return page(
        "watch.html",
        title=procedure.name or "Bylaw gate",
        data={},
        styles=[asset(name) for name in STYLES],
        scripts=[asset(name) for name in SCRIPTS],
        connects=True,
        provenance=provenance(procedure=procedure),
    )
