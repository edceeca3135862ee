"""The guarantees of a gate, for every adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from declared import Declared, declared
from desk import answer, fetch, lookup, pay
from driver import Driver

from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.trace.event import Call
from bylaw.trace.formats import read


def _declared(adapter: Declared, mode: str) -> Any:
    marks = [pytest.mark.frameworks] if adapter.package else []
    return pytest.param((adapter, mode), marks=marks, id=f"{adapter.name}-{mode}")


@pytest.fixture(
    params=[_declared(adapter, mode) for adapter in declared() for mode in adapter.modes]
)
def drive(request: pytest.FixtureRequest) -> Driver:
    adapter, mode = request.param
    if not adapter.is_installed:
        pytest.skip(f"NOT TESTED: {adapter.package} is not installed")
    for scenario in getattr(request.function, "about", ()):
        if reason := adapter.why_not(scenario, mode):
            pytest.skip(f"declared: {reason}")
    made: Driver = adapter.make(mode)
    return made


_Test = TypeVar("_Test", bound=Callable[..., Any])


def about(*scenarios: str) -> Callable[[_Test], _Test]:
    """The scenarios of the suite that a test is about: it is skipped where one cannot be done."""

    def add(test: _Test) -> _Test:
        test.about = scenarios  # type: ignore[attr-defined]  # functions take attributes
        return test

    return add


def _rule(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    constraint = {"name": "looked-up", "rule": rule, "severity": severity, "fix": "Look it up."}
    return Procedure.from_dict({"bylaw": 1, "name": "desk", "constraints": [constraint], **more})


LOOKED_UP = "G(pay -> O lookup)"
FOUND = "G(pay -> O call(lookup, ok))"


def test_a_refused_call_does_not_run_and_the_agent_reads_why(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP), [[pay()], [lookup()], [pay()], [answer()]])
    assert seen.ran == [lookup(), pay()]
    assert "Not executed" not in seen.shown[0]
    for told in ("pay: Not executed.", "looked-up", "Look it up."):
        assert told in seen.shown[1]
    assert "paid 5" in seen.shown[3]
    assert seen.answer == "done"
    assert seen.events == [("block", "pay", "listened")]


@about("insist")
def test_an_agent_that_insists_overrides_a_warning(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP, "BLOCK_AND_WARN"), [[pay()], [pay()], [answer()]])
    assert seen.ran == [pay()]
    assert "exactly the same call again" in seen.shown[1]
    assert seen.events == [("warn", "pay", "insisted")]


@about("insist")
def test_an_override_excuses_one_call(drive: Driver) -> None:
    script = [[pay()], [pay()], [pay()], [lookup()], [pay()], [answer()]]
    seen = drive(_rule(LOOKED_UP, "BLOCK_AND_WARN"), script)
    assert seen.ran == [pay(), lookup(), pay()]
    assert seen.events == [("warn", "pay", "insisted"), ("warn", "pay", "listened")]


def test_evidence_of_the_same_turn_is_too_early(drive: Driver) -> None:
    seen = drive(_rule(FOUND), [[lookup(), pay()], [pay()], [answer()]])
    if drive.turns_are_decided_together:
        assert seen.ran == [lookup(), pay()]
        assert seen.events == [("early", "pay", "unresolved")]
        assert "the result of lookup is outstanding" in seen.shown[1]
    else:
        assert seen.ran == [lookup(), pay(), pay()]


@about("insist", "answer")
def test_only_the_same_call_overrides(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP, "BLOCK_AND_WARN"), [[pay(5)], [pay(6)], [answer()]])
    assert seen.ran == []
    assert seen.events == [("warn", "pay", "listened"), ("warn", "pay", "listened")]


@about("insist")
@pytest.mark.parametrize("between", [[fetch()], []], ids=["another call", "no call"])
def test_only_the_very_next_turn_overrides(drive: Driver, between: list[Call]) -> None:
    if not between and drive.text_is_the_answer:
        pytest.skip("a turn without calls is the answer")
    script = [[pay()], between, [pay()], [answer()]]
    seen = drive(_rule(LOOKED_UP, "BLOCK_AND_WARN"), script)
    assert pay() not in seen.ran
    assert [action for action, _, _ in seen.events] == ["warn", "warn"]


@about("stop")
def test_the_third_soft_block_ends_the_run(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP), [[pay()], [fetch()], [pay(6)], [pay()], [answer()]])
    assert seen.stopped
    assert seen.ran == [fetch()]
    assert seen.answer is None
    assert len(seen.shown) == 4
    assert [action for action, _, _ in seen.events] == ["block", "block", "stop"]


@about("stop")
def test_a_hard_stop_ends_the_run(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP, "HARD_STOP"), [[fetch()], [pay()], [lookup()], [answer()]])
    assert seen.stopped
    assert seen.ran == [fetch()]
    assert seen.answer is None
    assert len(seen.shown) == 2


@about("answer")
def test_tolerated_calls_run(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP, "TOLERATE"), [[pay()], [answer()]])
    assert seen.ran == [pay()]
    assert seen.events == [("tolerate", "pay", "listened")]


def test_the_setting_replaces_severities(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP, "HARD_STOP"), [[pay()], [answer()]], setting="baseline")
    assert seen.ran == [pay()]
    assert not seen.stopped


# ── turns of several calls ───────────────────────────────────────────────────────────────────


def test_the_siblings_of_a_refused_call_run(drive: Driver) -> None:
    rule = _rule("G(pay -> args.amount < 10)")
    seen = drive(rule, [[lookup(1), pay(50), lookup(2)], [answer()]])
    assert _sorted(seen.ran) == [lookup(1), lookup(2)]
    assert "pay: Not executed." in seen.shown[1]
    assert seen.answer == "done"


def test_a_turn_is_decided_in_the_order_proposed(drive: Driver) -> None:
    seen = drive(_rule(LOOKED_UP), [[pay(1), lookup(), pay(2)], [answer()]])
    assert _sorted(seen.ran) == [lookup(), pay(2)]
    assert seen.events == [("block", "pay", "listened")]


def test_siblings_do_not_see_each_other(drive: Driver) -> None:
    seen = drive(_rule("G(pay -> earlier lookup)"), [[lookup(), pay(1)], [pay(2)], [answer()]])
    at_once = [] if drive.turns_are_decided_together else [pay(1)]
    assert seen.ran == [lookup(), *at_once, pay(2)]


@about("answer")
def test_equal_calls_of_a_turn_are_distinguished(drive: Driver) -> None:
    seen = drive(_rule("CalledN(pay, <= 2)"), [[pay(), pay(), pay()], [answer()]])
    assert seen.ran == [pay(), pay()]
    assert seen.events == [("block", "pay", "listened")]


UNIQUE_IDS = {"google_adk", "openai_agents", "pydantic_ai"}
"""Frameworks that themselves refuse a turn whose calls share an id, or run no second call of an
id."""


def test_calls_of_a_turn_may_share_an_id(drive: Driver, request: pytest.FixtureRequest) -> None:
    (adapter, _) = request.node.callspec.params["drive"]
    if adapter.name in UNIQUE_IDS:
        pytest.skip("the framework itself does not run such calls")
    same = [Call(call.tool, call.args, id="c") for call in (lookup(1), pay(50), lookup(2), pay(3))]
    seen = drive(_rule("G(pay -> args.amount < 10)"), [same, same[:1], [answer()]])
    assert _sorted(seen.ran[:3]) == [lookup(1), lookup(2), pay(3)]
    assert seen.ran[3:] == [lookup(1)]


@about("stop")
def test_a_stop_refuses_the_rest_of_the_turn(drive: Driver) -> None:
    rule = _rule("G(pay -> args.amount < 10)", "HARD_STOP")
    seen = drive(rule, [[pay(1)], [lookup(1), pay(50), lookup(2)], [answer()]])
    assert seen.stopped
    assert pay(50) not in seen.ran
    assert lookup(2) not in seen.ran


# ── results ──────────────────────────────────────────────────────────────────────────────────


@about("refused")
def test_rules_see_results(drive: Driver) -> None:
    rule = _rule("G(pay -> let o = last(lookup).result: o.open = true)")
    seen = drive(rule, [[lookup(13)], [pay()], [lookup(7)], [pay()], [answer()]])
    assert seen.ran == [lookup(13), lookup(7), pay()]
    assert seen.events == [("block", "pay", "listened")]


@about("failed")
def test_a_tool_that_raises_has_failed(drive: Driver) -> None:
    rule = _rule("G(pay -> earlier call(fetch, ok))")
    script = [[fetch("missing")], [pay()], [fetch()], [pay()], [answer()]]
    seen = drive(rule, script)
    assert "there is no such file" in seen.shown[1]
    assert seen.ran == [fetch("missing"), fetch(), pay()]
    assert seen.events == [("block", "pay", "listened")]


@about("failed")
def test_a_failure_does_not_hide_a_sibling_that_was_refused(drive: Driver) -> None:
    rule = _rule("G(pay -> earlier call(fetch, ok))")
    seen = drive(rule, [[fetch("missing"), pay()], [pay()], [answer()]])
    assert seen.ran == [fetch("missing")]
    assert "there is no such file" in seen.shown[1]
    assert "pay: Not executed." in seen.shown[1]


# ── the answer ───────────────────────────────────────────────────────────────────────────────


@about("answer")
def test_an_answer_can_be_refused_and_then_allowed(drive: Driver) -> None:
    rule = _rule("G(final_answer -> O lookup)")
    seen = drive(rule, [[answer("too early")], [lookup()], [answer("in time")]])
    assert "final_answer: Not executed." in seen.shown[1]
    assert seen.answer == "in time"
    assert seen.ran == [lookup()]


@about("answer", "stop")
def test_an_answer_may_end_the_run(drive: Driver) -> None:
    rule = _rule("G(final_answer -> O lookup)", "HARD_STOP")
    seen = drive(rule, [[answer("too early")], [answer("again")]])
    assert seen.stopped
    assert seen.answer is None
    assert len(seen.shown) == 1


@about("answer")
def test_an_unmet_obligation_keeps_the_agent_at_work(drive: Driver) -> None:
    rule = _rule("F lookup", finish="met")
    seen = drive(rule, [[answer("too early")], [lookup()], [answer("in time")]])
    assert seen.answer == "in time"
    assert seen.ran == [lookup()]


# ── the transcript ───────────────────────────────────────────────────────────────────────────


@about("transcript")
@pytest.mark.parametrize(
    ("rule", "severity", "script"),
    [
        (LOOKED_UP, "SOFT_BLOCK", [[pay()], [lookup()], [pay()], [answer()]]),
        (LOOKED_UP, "BLOCK_AND_WARN", [[pay()], [pay()], [answer()]]),
        (LOOKED_UP, "HARD_STOP", [[fetch()], [lookup(), pay(), fetch()], [answer()]]),
        (LOOKED_UP, "HARD_STOP", [[fetch()], [fetch(), pay(), lookup()], [answer()]]),
        (LOOKED_UP, "SOFT_BLOCK", [[pay()], [], [pay(6)], [pay()], [answer()]]),
        ("G(pay -> args.amount < 10)", "ASK", [[lookup(1), pay(50), lookup(2)], [answer()]]),
        ("G(final_answer -> O lookup)", "SOFT_BLOCK", [[answer("a")], [lookup()], [answer("b")]]),
        ("CalledN(pay, <= 2)", "SOFT_BLOCK", [[pay(), pay(), pay()], [answer()]]),
        ("CalledN(pay, = 0)", "TOLERATE", [[pay()], [answer()]]),
    ],
)
def test_the_transcript_has_the_score_of_the_run(
    drive: Driver, rule: str, severity: str, script: list[list[Call]]
) -> None:
    """The refusals stand in it as the agent read them; what ran is what ran at the gate."""
    if [] in script and drive.text_is_the_answer:
        pytest.skip("a turn without calls is the answer")
    procedure = _rule(rule, severity)
    seen = drive(procedure, script)
    if seen.question is not None:
        pytest.skip("the run waits for a person")
    if seen.transcript is None:
        return
    trace = read(seen.transcript).trace
    assert _sorted(list(trace.calls)) == _sorted(seen.ran)
    assert trace.answer == seen.answer
    assert verify_trace(trace, procedure).score == seen.score
    # Inspect's agents leave answers out of their messages.
    refused = [
        each.call for each in trace.refusals if each.call.tool not in (FINAL_ANSWER, "submit")
    ]
    proposed = [call for calls in script[: len(seen.shown)] for call in calls]
    tools = [call for call in proposed if call.tool != FINAL_ANSWER]
    assert _sorted([*trace.calls, *refused]) == _sorted(tools)


def _sorted(calls: list[Call]) -> list[Call]:
    made = [Call(call.tool, call.args) for call in calls]
    return sorted(made, key=lambda call: (call.tool, sorted(call.args.items())))
