"""The cause that dooms a rule without a machine, by search: rules about the past, universals."""

from __future__ import annotations

from dataclasses import replace

from bylaw.logic.terms import Apply
from bylaw.logic.walk import everything
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.dooming import DoomingEvent, Enforceability, doom_reason, too_late
from bylaw.semantics.dooming_calls import DoomingCalls
from bylaw.semantics.examples.trace_search import TraceSearch
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.reachability import OutOfBudget
from bylaw.semantics.machine.search import Path
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.monitor import Monitor
from bylaw.semantics.verdict import FALSE, Verdict
from bylaw.trace.event import MISSING, Call, may_get_result
from bylaw.trace.trace import Trace


def for_past_rule(search: TraceSearch) -> Enforceability:
    """The answer for a rule about the past: any violation dooms it."""
    # No search writes commands.
    shell = any(isinstance(p, Apply) and p.function == "shell" for p in everything(search.formula))
    violating = None if shell else search.find(FALSE)
    if violating is None:
        reason = "any violation dooms it, but no violating call could be generated"
        return Enforceability("call", reason, exact=False)

    def by_a_call(trace: Trace) -> bool:
        return _dooms_unanswered(search, trace)

    refused = violating if by_a_call(violating) else search.find(FALSE, by_a_call)
    path = _path(refused or violating)
    if refused is None:
        return too_late(path, search.settings[1], sure="was found to")
    by: DoomingEvent = "answer" if refused.calls[-1].tool == FINAL_ANSWER else "call"
    return Enforceability(by, doom_reason(path), path, can_be_lost=refused is not violating)


def for_universal(search: TraceSearch, *, examples: bool) -> Enforceability | None:
    """The answer for a universal over values of later events: one doomed instance dooms it.

    None if no instance is. Without `examples`, no trace is looked for that shows it.
    """
    try:
        order, events, vocabulary = search.settings
        slices = Slices(search.formula, order, events, MachineCache(vocabulary))
        calls = DoomingCalls(slices.generic)
        if not slices.universal or (by := calls.what_dooms()) is None:
            return None
        lost, unmet = calls.can_be_lost(), calls.can_be_unmet()
    except (Unsupported, OutOfBudget):
        return None
    accepted = _dooms if by == "result" else _dooms_unanswered
    found = search.find(FALSE, lambda trace: accepted(search, trace)) if examples else None
    if found is None:
        reason = "one doomed instance dooms it"
        return Enforceability(by, reason, None, False, lost, unmet)
    path = _path(found)
    if by == "result":
        return too_late(path, search.settings[1], can_be_unmet=unmet)
    return Enforceability(by, doom_reason(path), path, True, lost, unmet)


def _path(trace: Trace) -> Path:
    return tuple((event, True) for event in trace.events)


def _dooms(search: TraceSearch, trace: Trace) -> bool:
    order, events, vocabulary = search.settings
    monitor = Monitor(
        search.formula, order=order, events=events, vocabulary=vocabulary, labels=trace.labels
    )
    for event in trace.events:
        monitor.step(event)
    return monitor.verdict is Verdict.VIOLATED


def _dooms_unanswered(search: TraceSearch, trace: Trace) -> bool:
    """Does the last event doom the rule while its result is still unknown?"""
    order, events, vocabulary = search.settings
    monitor = Monitor(
        search.formula, order=order, events=events, vocabulary=vocabulary, labels=trace.labels
    )
    *before, last = trace.events
    for event in before:
        at = monitor.length
        monitor.step(event)
        if may_get_result(event):
            monitor.record(at, event.result)  # no result will arrive
    if not isinstance(last, Call) or monitor.verdict.final:
        return False
    monitor.step(replace(last, result=MISSING, error=None))
    return monitor.verdict is Verdict.VIOLATED
