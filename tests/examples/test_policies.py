"""Every rule of the example procedures is specified by two runs: it tells them apart, also live."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import airline_cases
import assistant_cases
import budgets_cases
import coding_cases
import pytest
import retail_cases
from runs import Pair

from bylaw import Call, Monitor, Outcome, Procedure, Trace, Verdict, verify_trace
from bylaw.enforcement.replay import replay
from bylaw.procedure.lint import lint
from bylaw.procedure.packaged import packaged_file
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.monitors import Monitors
from bylaw.trace.event import MISSING, Event

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS: dict[str, dict[str, Pair]] = {
    "retail": retail_cases.PAIRS,
    "airline": airline_cases.PAIRS,
    "assistant": assistant_cases.PAIRS,
    "budgets": budgets_cases.PAIRS,
    "coding": coding_cases.PAIRS,
}
FEWEST_RULES = {"retail": 15, "airline": 15, "assistant": 8, "budgets": 12, "coding": 20}
MOST_LINES = {"retail": 3, "airline": 3, "assistant": 3, "budgets": 2, "coding": 3}

IMPLIED = {
    "swap-once": {"only-delivered"},
    "new-items-looked-up": {"new-items-available"},
    "look-before-change": {"cancel-unflown"},
    "basic-economy-flights-stay": {"flights-proposed"},
    "no-downloaded-code": {"opaque-commands"},
    "tests-before-commit": {"tests-before-finishing"},
    "devices-untouched": {"no-writing-outside"},
}
"""An order whose exchange is requested is not a delivered one any more. And what nobody looked up
is not known to be available, or unflown. A flight that the reservation lacks was not proposed."""
ABOUT_A_RESULT = {"one-customer", "gift-card-covers-difference", "cancelled-rightly"}
"""Rules that only the result of a call can break: `call(tool, ok) -> …`."""

OBLIGATIONS = {"customer-notified"}
"""Rules that are violated until something follows."""

NEVER_DOOMED = {"tests-before-finishing"}
"""Rules that can be met as long as the run lasts."""

each_procedure = pytest.mark.parametrize("name", PAIRS)
each_rule = pytest.mark.parametrize(
    ("name", "rule"), [(name, rule) for name, pairs in PAIRS.items() for rule in pairs]
)


@cache
def load(name: str) -> Procedure:
    return Procedure.load(file_of(name))


def file_of(name: str) -> Path:
    return packaged_file(name) if name == "coding" else EXAMPLES / name / "procedure.yaml"


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
    """The events, without their turns."""
    return [replace(event, step=None) for event in trace.events]


@each_rule
def test_a_finished_run_satisfies_or_violates_the_rule(name: str, rule: str) -> None:
    good, bad = outcomes(name, rule)
    assert good[rule] is Outcome.SATISFIED  # and not vacuous: it comes into play
    assert bad[rule] is Outcome.VIOLATED


@each_rule
def test_what_a_pair_differs_in_is_the_matter_of_one_rule(name: str, rule: str) -> None:
    good, bad = outcomes(name, rule)
    assert violated(bad) - violated(good) == {rule, *IMPLIED.get(rule, ())}


@cache
def outcomes(name: str, rule: str) -> list[dict[str, Outcome]]:
    """The outcomes of the whole procedure for the two runs of a rule."""
    reports = [verify_trace(trace, load(name)) for trace in PAIRS[name][rule]]
    return [{result.name: result.outcome for result in r.constraints} for r in reports]


def violated(results: dict[str, Outcome]) -> set[str]:
    return {rule for rule, outcome in results.items() if outcome is Outcome.VIOLATED}


# ── while the agent acts ──────────────────────────────────────────────────────────────────


def follow(follower: Monitor | Monitors, trace: Trace) -> None:
    """Takes in each call as it is proposed, without its result, and then the result."""
    for event in trace.events:
        position = propose(follower, event)
        if isinstance(event, Call):
            follower.record(position, event.result, error=event.error)


def propose(follower: Monitor | Monitors, event: Event) -> int:
    """Takes in an event without its result, and tells its position."""
    position = follower.length
    proposed = replace(event, result=MISSING, error=None) if isinstance(event, Call) else event
    follower.step(proposed)
    return position


def monitor_of(name: str, rule: str) -> Monitor:
    procedure = load(name)
    constraint = procedure[rule]
    events = procedure.events_of(constraint)
    return Monitor(constraint.formula, order=procedure.order, events=events)


@each_rule
def test_live_the_rule_holds_on_the_run_that_satisfies_it(name: str, rule: str) -> None:
    monitor = monitor_of(name, rule)
    follow(monitor, load(name).marked(PAIRS[name][rule].satisfies))
    assert monitor.verdict.holds_now
    assert monitor.exact


@each_rule
def test_live_the_rule_is_violated_by_the_last_event_of_the_other(name: str, rule: str) -> None:
    """By the call itself, before there is a result, unless the rule is about the result."""
    monitor = monitor_of(name, rule)
    *before, last = load(name).marked(PAIRS[name][rule].violates).events
    follow(monitor, Trace(before))
    assert monitor.verdict.holds_now is (rule not in OBLIGATIONS)
    position = propose(monitor, last)
    if rule in NEVER_DOOMED:
        assert monitor.verdict is Verdict.PRESUMABLY_VIOLATED
        return
    if rule in ABOUT_A_RESULT:
        assert monitor.verdict.holds_now
        assert isinstance(last, Call)
        monitor.record(position, last.result, error=last.error)
    assert monitor.verdict is Verdict.VIOLATED
    assert monitor.exact


@each_procedure
def test_live_all_rules_together_say_what_they_say_of_finished_runs(name: str) -> None:
    procedure = load(name)
    formulas = [constraint.formula for constraint in procedure.constraints]
    events = [procedure.events_of(constraint) for constraint in procedure.constraints]
    cache = MachineCache(procedure.vocabulary)
    for rule, pair in PAIRS[name].items():
        for trace, finished in zip(pair, outcomes(name, rule), strict=True):
            monitors = Monitors(formulas, order=procedure.order, events=events, cache=cache)
            follow(monitors, procedure.marked(trace))
            for verdict, (each, outcome) in zip(monitors.verdicts, finished.items(), strict=True):
                doomed = outcome is Outcome.VIOLATED and each not in NEVER_DOOMED
                assert (verdict is Verdict.VIOLATED) is doomed
                assert verdict.holds_now is outcome.passed


# ── behind a gate ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", budgets_cases.PAIRS)
def test_a_gate_lets_the_one_run_pass_and_stops_the_other(rule: str) -> None:
    """The last call is refused, unless a deadline was lost before it."""
    kept, broken = PAIRS["budgets"][rule]
    allowed, stopped = replay(kept, load("budgets")), replay(broken, load("budgets"))
    assert (allowed.refusals, allowed.lost, allowed.score) == ((), (), 1.0)
    if rule == "customer-notified":
        assert (stopped.refusals, stopped.lost) == ((), (rule,))
    else:
        (refusal,) = stopped.refusals
        assert (refusal.call, refusal.constraints) == (len(broken.calls) - 1, (rule,))
        assert (stopped.lost, stopped.score) == ((), 1.0)


# ── the files ─────────────────────────────────────────────────────────────────────────────


@each_procedure
def test_rules_have_a_name_of_their_own_a_reason_and_a_remedy(name: str) -> None:
    constraints = load(name).constraints
    assert len({constraint.name for constraint in constraints}) == len(constraints)
    assert len(constraints) >= FEWEST_RULES[name]
    assert all(constraint.why and constraint.fix for constraint in constraints)


@each_procedure
def test_rules_are_a_few_lines_of_a_hundred_columns(name: str) -> None:
    texts = rule_texts(file_of(name).read_text("utf-8"))
    assert len(texts) == len(load(name).constraints)
    most = MOST_LINES[name]
    assert [text for text in texts if len(text) > most or max(map(len, text)) > 100] == []


def rule_texts(source: str) -> list[list[str]]:
    """The lines of each rule's text: that of `rule:`, unless it says `>-`, and those under it."""
    rules = re.findall(r"^    rule: .*\n(?: {6}.*\n)*", source, re.MULTILINE)
    return [[line for line in rule.splitlines() if line != "    rule: >-"] for rule in rules]


@each_procedure
def test_lint_warns_of_nothing(name: str) -> None:
    assert [finding for finding in lint(load(name)) if finding.severity == "warning"] == []


@each_procedure
def test_the_procedure_reads_back_from_what_it_writes(name: str) -> None:
    procedure = load(name)
    again = Procedure.from_dict(json.loads(json.dumps(procedure.to_dict())))
    assert again == procedure
    assert again.constraints == procedure.constraints  # formulas included
