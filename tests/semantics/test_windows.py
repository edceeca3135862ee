"""Rules about time and the past: followed event by event, they are what the reference says."""

from __future__ import annotations

from random import Random

import pytest
from random_cases import chosen_number
from timed_rules import WINDOWS
from timed_traces import (
    followed_with_late_results,
    perhaps_restored,
    timed_event,
    timed_trace,
    unfinished,
)

from bylaw import Call, Monitor, Trace, Verdict, holds, parse
from bylaw.semantics.engines import engine_for
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.past.registers import Registers
from bylaw.vocabulary.registry import EMPTY

RUNS = chosen_number("BYLAW_WINDOW_RUNS", 120)


@pytest.mark.parametrize("rule", WINDOWS)
def test_windows_are_what_the_reference_says(rule: str) -> None:
    formula, random = parse(rule), Random(rule)
    assert isinstance(engine_for(formula, "position", "calls", EMPTY, {}, {}), Registers)
    for _ in range(RUNS):
        events = timed_trace(random, 14)
        monitor = Monitor(formula)
        for number, event in enumerate(events):
            monitor.step(event)
            seen = events[: number + 1]
            assert (monitor.verdict is not Verdict.VIOLATED) is holds(formula, Trace(seen)), seen
            monitor = perhaps_restored(random, monitor, formula)


@pytest.mark.parametrize("rule", WINDOWS)
def test_results_may_arrive_late(rule: str) -> None:
    """Once all results are in, it does not matter when they came."""
    formula, random = parse(rule), Random(rule)
    for _ in range(RUNS):
        events = timed_trace(random)
        monitor = followed_with_late_results(random, formula, events)
        satisfied = monitor.verdict is not Verdict.VIOLATED
        assert satisfied is holds(formula, Trace(events)), events


@pytest.mark.parametrize("rule", WINDOWS)
def test_an_attempt_that_is_taken_back_leaves_no_trace(rule: str) -> None:
    formula, random = parse(rule), Random(rule)
    for _ in range(RUNS // 2):
        plain, tried = Monitors([formula], excuses=True), Monitors([formula], excuses=True)
        executed: list[Call] = []
        now, step = 0.0, 0
        for _ in range(random.randint(0, 14)):
            now, step = now + random.choice([0, 0.1, 1, 3, 5, 11]), step + 1
            call = timed_event(random, now, step)
            attempt = tried.attempt(unfinished(call))
            refused = bool(attempt.doomed) or random.random() < 0.3
            if refused:
                attempt.take_back()
                continue
            attempt.keep()
            plain.step(unfinished(call))
            executed.append(call)
            for monitors in (plain, tried):
                told = {"error": call.error, "end": call.end, "usage": call.usage}
                monitors.record(len(executed) - 1, call.result, **told)  # type: ignore[arg-type]  # as a call has them
        assert tried.save() == plain.save()
        assert tried.executed_verdict(0).holds_now is holds(formula, Trace(executed))  # type: ignore[union-attr]  # it is decided
