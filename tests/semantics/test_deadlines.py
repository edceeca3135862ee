"""Deadlines: `G(a -> F b within D)`, followed event by event, is what the reference says.

So is `G(a -> let i = args.i: F call(b, i = i))`, where something must follow at any time.
"""

from __future__ import annotations

from random import Random

import pytest
from random_cases import chosen_number
from timed_rules import DEADLINES, RESPONSES
from timed_traces import followed_with_late_results, perhaps_restored, timed_trace

from bylaw import Call, Monitor, Trace, Verdict, holds, parse
from bylaw.logic.formula import Formula
from bylaw.semantics.engines import engine_for
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.past.deadlines import Deadlines
from bylaw.vocabulary.registry import EMPTY

RUNS = chosen_number("BYLAW_DEADLINE_RUNS", 400)


def _can_be_saved(formula: Formula, events: list[Call]) -> bool:
    """Could events that come at once still make the rule true?"""
    starts = [event.start for event in events if event.start is not None]
    now, step = max(starts, default=0.0), (events[-1].step or 0) + 1 if events else 0
    rescue = [Call("b", {"i": i}, {"i": i}, step, start=now) for i in (0, 1, 2, None)]
    alone = [Call("b", {}, {}, step, start=now)]
    return holds(formula, Trace([*events, *rescue, *alone]))


@pytest.mark.parametrize("rule", [*DEADLINES, *RESPONSES])
def test_a_deadline_is_what_the_reference_says(rule: str) -> None:
    formula, random = parse(rule), Random(rule)
    assert isinstance(engine_for(formula, "position", "calls", EMPTY, {}, {}), Deadlines)
    for _ in range(RUNS):
        events = timed_trace(random)
        monitor = Monitor(formula)
        for number, event in enumerate(events):
            monitor.step(event)
            seen = events[: number + 1]
            doomed = monitor.verdict is Verdict.VIOLATED
            satisfied = monitor.verdict is Verdict.PRESUMABLY_SATISFIED
            assert satisfied is holds(formula, Trace(seen)), seen
            assert doomed is not (_can_be_saved(formula, seen) or satisfied), seen
            monitor = perhaps_restored(random, monitor, formula)


@pytest.mark.parametrize("rule", [*DEADLINES, *RESPONSES])
def test_results_may_arrive_late(rule: str) -> None:
    """Once all results are in, it does not matter when they came."""
    formula, random = parse(rule), Random(rule)
    for _ in range(RUNS):
        events = timed_trace(random)
        monitor = followed_with_late_results(random, formula, events)
        satisfied = monitor.verdict is Verdict.PRESUMABLY_SATISFIED
        assert satisfied is holds(formula, Trace(events)), events


def test_events_must_come_in_the_order_of_time() -> None:
    monitors = Monitors([parse("G(a -> F b within 10 s)")])
    monitors.step(Call("a", start=5))
    monitors.step(Call("b", start=4))
    assert "starts before an earlier one" in monitors.faults()[0]
