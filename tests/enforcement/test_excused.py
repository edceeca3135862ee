"""Excused is the call, never the rule.

After any excused events, an enforced rule refuses exactly what it would refuse on the run without
them; and the score is that of what was executed, excused events included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_formulas, data_traces, formulas, past_rules, quantified, traces

from bylaw import Call, Guard, Message, Procedure, Trace
from bylaw.logic.formula import Formula
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event
from bylaw.vocabulary.view import Order

RULES = st.one_of(formulas(3), formulas(3), quantified(), past_rules(), data_formulas(2))
RUNS = st.one_of(traces(max_size=8), data_traces(max_size=8))


class ExcusingRun:
    """A run in which every call goes through, and each rule excuses what would doom it."""

    def __init__(self, rule: Formula, order: Order, labels: Any) -> None:
        self._settings: dict[str, Any] = {"order": order, "events": "all", "labels": labels}
        self._rule = rule
        self.monitors = self._new()
        self.events: list[Event] = []
        self.excused: set[int] = set()

    def _new(self) -> Monitors:
        return Monitors([self._rule], excuses=True, **self._settings)

    def take(self, event: Event) -> None:
        """Takes in an event, without its result; it is excused if it dooms the rule."""
        bare = replace(event, result=MISSING, error=None) if isinstance(event, Call) else event
        attempt = self.monitors.attempt(bare)
        attempt.keep(attempt.doomed)
        if attempt.doomed:
            self.excused.add(len(self.events))
        self.events.append(bare)

    def record(self, position: int, call: Call) -> None:
        """Takes in a result; its call is excused if it dooms the rule."""
        if self.monitors.record(position, call.result, error=call.error):
            self.excused.add(position)
        self.events[position] = call

    def without_excused(self) -> Monitors:
        """A monitor that has seen only the events that were not excused."""
        monitors = self._new()
        for position, event in enumerate(self.events):
            if position not in self.excused:
                monitors.step(event)
        return monitors


def _refused(monitors: Monitors, call: Call) -> bool:
    attempt = monitors.attempt(call)
    refused = bool(attempt.doomed or attempt.early)
    attempt.take_back()
    return refused


def _played(rule: Formula, order: Order, subject: Trace, random: Random) -> ExcusingRun:
    run = ExcusingRun(rule, order, subject.labels)
    waiting: list[tuple[int, Call]] = []
    for event in subject.seen("all"):
        run.take(event)
        if isinstance(event, Call) and (event.result is not MISSING or event.failed):
            waiting.append((len(run.events) - 1, event))
        while waiting and random.random() < 0.7:
            run.record(*waiting.pop())
    return run


@cases(250)
@given(RULES, RUNS, st.sampled_from(["position", "step"]), st.integers(0, 99))
def test_a_rule_refuses_what_it_would_refuse_without_the_excused_events(
    rule: Formula, subject: Trace, order: Order, seed: int
) -> None:
    run = _played(rule, order, subject, Random(seed))
    twin = run.without_excused()
    step = (run.events[-1].step or 0) if run.events else 0
    probes: Sequence[Event] = [*subject.seen("all"), Call("a"), Call("b"), Call("other")]
    for probe in probes:
        if isinstance(probe, Message) or probe.tool == FINAL_ANSWER:
            continue
        for at in (step, step + 1):
            call = Call(probe.tool, probe.args, step=at)
            assert _refused(run.monitors, call) is _refused(twin, call)


GUARDED = [
    ("ASK", {"ask": lambda call, violations: True}),
    ("TOLERATE", {}),
    ("BLOCK_AND_WARN", {}),
]


@pytest.mark.parametrize(("severity", "options"), GUARDED, ids=[name for name, _ in GUARDED])
def test_every_offence_is_reported(severity: str, options: dict[str, Any]) -> None:
    """Whatever lets it pass, the next offence is found again."""
    rule = {"name": "small", "rule": "G(pay -> args.n <= 5)", "severity": severity}
    guard = Guard(Procedure.from_dict({"constraints": [rule]}), **options)
    for number in (9, 10, 11):
        pay = Call("pay", {"n": number})
        if severity == "BLOCK_AND_WARN":
            assert guard.propose([pay])[0].action == "warn"
        assert guard.propose([pay])[0].allowed
    assert [event.call.args["n"] for event in guard.events] == [9, 10, 11]
    assert guard.finish().score == 0
