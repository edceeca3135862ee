"""Every rule of the example procedures is specified by two runs: it tells them apart, also live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import airline_cases
import assistant_cases
import pytest
import retail_cases
from runs import Pair

from bylaw import Call, Constraint, Monitor, Outcome, Procedure, Trace, Verdict, verify_trace
from bylaw.procedure.lint import lint
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = {
    "retail": retail_cases.PAIRS,
    "airline": airline_cases.PAIRS,
    "assistant": assistant_cases.PAIRS,
}
FEWEST_RULES = {"retail": 15, "airline": 15, "assistant": 8}

each_procedure = pytest.mark.parametrize("name", PAIRS)
each_rule = pytest.mark.parametrize(
    ("name", "rule"), [(name, rule) for name, pairs in PAIRS.items() for rule in pairs]
)


@cache
def load(name: str) -> Procedure:
    return Procedure.load(file_of(name))


def file_of(name: str) -> Path:
    return EXAMPLES / name / "procedure.yaml"


# ── every rule by example ─────────────────────────────────────────────────────────────────


@each_procedure
def test_every_rule_has_a_pair_of_runs(name: str) -> None:
    assert list(PAIRS[name]) == [constraint.name for constraint in load(name).constraints]


@each_rule
def test_a_pair_differs_in_one_event(name: str, rule: str) -> None:
    """One is replaced or left out; or all are the same, and only share their turns otherwise."""
    one, other = map(told, PAIRS[name][rule])
    while one and other and one[0] == other[0]:
        del one[0], other[0]
    while one and other and one[-1] == other[-1]:
        del one[-1], other[-1]
    assert max(len(one), len(other)) <= 1


def told(trace: Trace) -> list[Event]:
    """What happened, whichever turn it was in."""
    return [replace(event, step=None) for event in trace.events]


@each_rule
def test_a_finished_run_satisfies_or_violates_the_rule(name: str, rule: str) -> None:
    pair = PAIRS[name][rule]
    assert outcomes(name, pair.satisfies)[rule] is Outcome.SATISFIED
    assert outcomes(name, pair.violates)[rule] is Outcome.VIOLATED


def outcomes(name: str, trace: Trace) -> dict[str, Outcome]:
    report = verify_trace(trace, load(name))
    return {result.name: result.outcome for result in report.constraints}


# ── while the agent acts ──────────────────────────────────────────────────────────────────


def follow(follower: Monitor | Monitors, trace: Trace) -> None:
    """Proposes each call without its result, then records that."""
    for event in trace.events:
        position = follower.length
        follower.step(proposal(event))
        if isinstance(event, Call):
            follower.record(position, event.result, error=event.error)


def proposal(event: Event) -> Event:
    return replace(event, result=MISSING, error=None) if isinstance(event, Call) else event


def monitor_of(procedure: Procedure, constraint: Constraint) -> Monitor:
    events = procedure.events_of(constraint)
    return Monitor(constraint.formula, order=procedure.order, events=events)


@each_rule
def test_live_the_verdicts_are_the_same(name: str, rule: str) -> None:
    procedure = load(name)
    good = monitor_of(procedure, procedure[rule])
    follow(good, procedure.marked(PAIRS[name][rule].satisfies))
    assert good.verdict.holds_now
    bad = monitor_of(procedure, procedure[rule])
    follow(bad, procedure.marked(PAIRS[name][rule].violates))
    assert bad.verdict is Verdict.VIOLATED
    assert good.exact
    assert bad.exact
