"""Rules about time on traces without times (W527).

An event without a time makes every comparison of times false: a rule is then violated, or holds,
for a reason that has nothing to do with what the agent did.
"""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.errors import Diagnostic, listing
from bylaw.logic.walk import is_timed
from bylaw.procedure.procedure import Constraint, Procedure
from bylaw.scoring.verify import Report
from bylaw.trace.trace import Trace


def undated_events(constraint: Constraint, procedure: Procedure, trace: Trace) -> int:
    """The number of events without a time that a rule about time sees; 0 for other rules."""
    if not is_timed(constraint.formula):
        return 0
    return sum(event.start is None for event in trace.seen(procedure.events_of(constraint)))


def notes_on_times(report: Report) -> Iterator[Diagnostic]:
    """A note on the rules about time, if they saw events without one."""
    procedure, trace = report.procedure, report.trace
    met = {rule.name: undated_events(rule, procedure, trace) for rule in procedure.constraints}
    names = [name for name, events in met.items() if events]
    if names:
        most = max(met.values())
        events = "1 event has" if most == 1 else f"{most:,} events have"
        message = f"{events} no time, and these rules compare times: {listing(names, 3)}"
        help = "Record `start` with each call and message: seconds since 1970, UTC."
        yield Diagnostic("W527", message, help)
