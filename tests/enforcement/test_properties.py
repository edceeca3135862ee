"""Laws of the gate, over random rules and runs."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_formulas, data_traces, formulas, past_rules, quantified, traces

from bylaw import (
    Call,
    Constraint,
    Message,
    Monitor,
    Procedure,
    Trace,
    Verdict,
    verify_trace,
)
from bylaw.enforcement.decision import SOFT_BLOCK_MODES, Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.replay import Replayer, replay
from bylaw.enforcement.severity import SETTINGS
from bylaw.logic.formula import Formula
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import SEVERITIES
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event

ORDERS: Any = st.sampled_from(["position", "step"])
KINDS: Any = st.sampled_from(["calls", "all"])
RULES = st.one_of(formulas(3), formulas(3), quantified(), past_rules(), data_formulas(2))
RUNS = st.one_of(traces(max_size=8), data_traces(max_size=8))
RANDOMS = st.randoms(use_true_random=False)


@st.composite
def procedures(draw: st.DrawFn) -> Procedure:
    """A few random rules."""
    constraints = [
        Constraint(
            f"rule-{number}",
            formula,
            weight=draw(st.sampled_from([1.0, 2.5, 1e-9])),
            layer=draw(st.sampled_from([None, "L1", "L6"])),
            severity=draw(st.sampled_from(SEVERITIES)),
        )
        for number, formula in enumerate(draw(st.lists(RULES, min_size=1, max_size=4)))
    ]
    finish: Any = draw(st.sampled_from(["free", "met"]))
    return Procedure(constraints, order=draw(ORDERS), events=draw(KINDS), finish=finish)


@st.composite
def guards(draw: st.DrawFn, procedure: Procedure) -> dict[str, Any]:
    """Random options of a gate."""
    return {
        "setting": draw(st.sampled_from(SETTINGS)),
        "soft_block": draw(st.sampled_from(SOFT_BLOCK_MODES)),
        "soft_block_limit": draw(st.sampled_from([2, 3, 50])),
        "ask": draw(st.sampled_from([None, lambda call, rules: len(rules) == 1])),
    }


class Run:
    """A gate on a recorded run: the executed calls, and the decisions."""

    def __init__(self, guard: Guard, random: Random, *, saves: bool = False) -> None:
        self.guard = guard
        self.random = Random(random.random())
        self.saves = Random(random.random()) if saves else None
        self.said: list[Any] = []
        self.executed: list[Event] = []
        self.waiting: list[tuple[Decision, Call, int]] = []
        self.overridden: set[str] = set()

    def play(self, subject: Trace) -> None:
        """Proposes the run turn by turn, some turns again. Results come late, or never."""
        turns: dict[int, list[Event]] = {}
        for event in subject.seen("all", answer=True):
            turns.setdefault(event.step or 0, []).append(event)
        for events in turns.values():
            for event in events:
                if isinstance(event, Message):
                    self._say(event)
            calls = [event for event in events if isinstance(event, Call)]
            self._propose(calls)
            while calls and self.random.random() < 0.4:  # it insists, or is slow to learn
                self._propose(calls)
            self._record(0.7)
        self._record(0.5)

    def _say(self, message: Message) -> None:
        step = self.guard.turn + self.guard._run.speaking
        self.guard.say(message.role, message.text)
        self.executed.append(replace(message, step=step))
        self._reopen()

    def _propose(self, calls: list[Call]) -> None:
        if self.guard.finished:
            return
        decisions = self.guard.propose(calls)
        for call, decision in zip(calls, decisions, strict=True):
            names = [(v.constraint.name, v.kind) for v in decision.violations]
            self.said.append((decision.action, names, decision.overridden, decision.position))
            if decision.allowed:
                self.overridden |= set(decision.overridden)
                if call.tool != FINAL_ANSWER and (call.result is not MISSING or call.failed):
                    self.waiting.append((decision, call, len(self.executed)))
                self.executed.append(decision.call)
        self._reopen()

    def _record(self, chance: float) -> None:
        self.random.shuffle(self.waiting)
        for each in list(self.waiting):
            if self.random.random() < chance:
                decision, call, at = each
                self.waiting.remove(each)
                result = None if call.result is MISSING else call.result
                self.guard.record(decision, result, error=call.error)
                self.executed[at] = replace(decision.call, result=result, error=call.error)
        self._reopen()

    def _reopen(self) -> None:
        """Saves the run and restores it in another guard."""
        if self.saves is not None and self.saves.random() < 0.5:
            saved = json.loads(json.dumps(self.guard.save()))
            self.guard = self.fresh()
            self.guard.restore(saved)
            mine = {each.position: each for each in self.guard.awaiting}
            self.waiting = [(mine[each.position], call, at) for each, call, at in self.waiting]

    fresh: Any = None

    def trace(self, subject: Trace) -> Trace:
        """The trace of executed events."""
        return Trace(self.executed, labels=subject.labels)


def _play(
    procedure: Procedure, options: dict[str, Any], subject: Trace, seed: int, *, saves: bool = False
) -> Run:
    def fresh() -> Guard:
        return Guard(procedure, labels=subject.labels, unenforceable="score", **options)

    run = Run(fresh(), Random(seed), saves=saves)
    run.fresh = fresh
    run.play(subject)
    return run


@cases(120)
@given(st.data(), procedures(), RUNS, st.integers(0, 99))
def test_no_call_that_was_allowed_dooms_a_rule_that_blocks(
    data: st.DataObject, procedure: Procedure, subject: Trace, seed: int
) -> None:
    """Only results and overrides doom an enforced rule on the executed trace."""
    options = data.draw(guards(procedure))
    run = _play(procedure, options, subject, seed)
    excused = {each.name: each.excused for each in run.guard.finish().constraints}
    for index, constraint in enumerate(procedure.constraints):
        if run.guard._run.judge.severities[index] == "TOLERATE":
            continue
        monitor = Monitor(
            constraint.formula,
            order=procedure.order,
            events=procedure.events_of(constraint),
            labels=subject.labels,
        )
        start = monitor.verdict
        for event in run.executed:  # as they were proposed: without results
            bare = replace(event, result=MISSING, error=None) if isinstance(event, Call) else event
            monitor.step(bare)
        if monitor.verdict is Verdict.VIOLATED and start is not Verdict.VIOLATED:
            assert excused[constraint.name] is not None
            if excused[constraint.name] == "overridden":
                assert constraint.name in run.overridden


@cases(120)
@given(st.data(), procedures(), RUNS, st.integers(0, 99))
def test_the_score_is_that_of_the_executed_trace(
    data: st.DataObject, procedure: Procedure, subject: Trace, seed: int
) -> None:
    run = _play(procedure, data.draw(guards(procedure)), subject, seed)
    executed = run.trace(subject)
    report, expected = run.guard.finish(), verify_trace(executed, procedure)
    passed = {each.name: each.passed for each in report.constraints}
    assert passed == {result.name: result.passed for result in expected.constraints}
    assert (report.score, report.label) == (expected.score, expected.label)


@cases(120)
@given(st.data(), procedures(), RUNS, st.integers(0, 99))
def test_saving_and_restoring_changes_no_decision(
    data: st.DataObject, procedure: Procedure, subject: Trace, seed: int
) -> None:
    options = data.draw(guards(procedure))
    straight = _play(procedure, options, subject, seed)
    again = _play(procedure, options, subject, seed, saves=True)
    assert straight.said == again.said
    reports = [run.guard.finish() for run in (straight, again)]
    assert reports[0].constraints == reports[1].constraints
    assert reports[0].statistics == reports[1].statistics


@cases(120)
@given(st.lists(RULES, min_size=1, max_size=4), RUNS, ORDERS, KINDS, RANDOMS)
def test_a_call_that_is_taken_back_has_no_effect(
    rules: list[Formula], subject: Trace, order: Any, kind: Any, random: Random
) -> None:
    """A second monitor that never attempted it agrees from then on."""

    def fresh() -> Monitors:
        return Monitors(rules, order=order, events=kind, labels=subject.labels)

    tried, twin = fresh(), fresh()
    events = subject.seen("all", answer=True)
    pool = [event for event in events if event != events[-1]] or list(events)
    waiting: list[tuple[int, Call]] = []
    for event in events:
        for other in random.sample(pool, min(len(pool), random.randrange(3))):
            bare = replace(other, step=event.step)
            if isinstance(bare, Call):
                bare = replace(bare, result=MISSING, error=None)
            tried.attempt(bare).take_back()
            assert tried.verdicts == twin.verdicts
        if isinstance(event, Call) and event.tool != FINAL_ANSWER:
            waiting.append((twin.length, event))
            event = replace(event, result=MISSING, error=None)
        if random.random() < 0.5:
            assert set(tried.attempt(event).doomed) == set(twin.attempt(event).doomed)
        else:
            assert set(tried.step(event)) == set(twin.step(event))
        assert tried.verdicts == twin.verdicts
        random.shuffle(waiting)
        while waiting and random.random() < 0.5:
            position, call = waiting.pop()
            if call.result is not MISSING or call.failed:
                found = [
                    set(each.record(position, call.result, error=call.error))
                    for each in (tried, twin)
                ]
                assert found[0] == found[1]
                assert tried.verdicts == twin.verdicts


@cases(120)
@given(st.lists(RULES, min_size=1, max_size=4), RUNS, ORDERS, KINDS)
def test_many_rules_together_agree_with_each_rule_alone(
    rules: list[Formula], subject: Trace, order: Any, kind: Any
) -> None:
    """Also where rules that see only calls skip messages."""
    together = Monitors(rules, order=order, events=kind, labels=subject.labels)
    alone = [Monitor(rule, order=order, events=kind, labels=subject.labels) for rule in rules]
    for event in subject.seen("all", answer=True):
        together.step(event)
        for monitor in alone:
            monitor.step(event)
        assert together.verdicts == [monitor.verdict for monitor in alone]


@cases(120)
@given(procedures(), RUNS, st.sampled_from(SETTINGS), st.integers(0, 99))
def test_a_withdrawn_answer_has_no_effect(
    procedure: Procedure, subject: Trace, setting: Any, seed: int
) -> None:
    """A second guard without the answer agrees from then on, whatever happens in between."""
    random = Random(seed)
    tried, twin = (
        Guard(procedure, setting, labels=subject.labels, unenforceable="score") for _ in range(2)
    )
    waiting: list[tuple[Decision, Decision, Call]] = []
    for event in subject.seen("all"):
        if isinstance(event, Message):
            tried.say(event.role, event.text)
            twin.say(event.role, event.text)
            continue
        (mine,), (other,) = tried.propose([event]), twin.propose([event])
        assert (mine.action, mine.overridden) == (other.action, other.overridden)
        if mine.allowed and (event.result is not MISSING or event.failed):
            waiting.append((mine, other, event))
        (answered,) = tried.propose([Call(FINAL_ANSWER, {"answer": "done"})])
        if not answered.allowed:  # a refusal is remembered
            return
        twin.propose([])
        random.shuffle(waiting)
        while waiting and random.random() < 0.6:
            mine, other, call = waiting.pop()
            result = None if call.result is MISSING else call.result
            tried.record(mine, result, error=call.error)
            twin.record(other, result, error=call.error)
        tried.withdraw()
    assert tried.finish().constraints == twin.finish().constraints


@cases(80)
@given(procedures(), st.lists(RUNS, min_size=2, max_size=4), st.sampled_from(SETTINGS))
def test_one_gate_for_many_runs_agrees_with_a_gate_for_each(
    procedure: Procedure, subjects: list[Trace], setting: Any
) -> None:
    gate = Replayer(procedure, setting)
    for subject in subjects:
        assert gate.replay(subject) == replay(subject, procedure, setting)
