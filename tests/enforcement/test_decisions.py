"""The decisions of the gate: every severity, mode and setting, turn by turn."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from gate_notation import Scenario, play, said, scenarios
from notation import trace

from bylaw import BylawError, Call, Procedure, verify_trace
from bylaw.enforcement.decision import (
    HINTS,
    SOFT_BLOCK_MODES,
    Action,
    ConstraintViolationError,
    Violation,
)
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import GuardReport
from bylaw.enforcement.severity import SETTINGS
from bylaw.procedure.procedure import SEVERITIES
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json

TABLES = ("decisions.cases", "attacks.cases")
TABLE = [each for name in TABLES for each in scenarios(Path(__file__).parent / name)]


@pytest.mark.parametrize("scenario", TABLE, ids=lambda scenario: scenario.title)
def test_scenario(scenario: Scenario) -> None:
    scenario.check()


def test_the_table_covers_all_options() -> None:
    """Each severity, setting, mode and action appears in some scenario."""
    shown = Counter(rule["severity"] for scenario in TABLE for rule in scenario.rules)
    assert set(shown) == set(SEVERITIES)
    options: dict[str, set[str]] = {}
    for scenario in TABLE:
        for option, value in scenario.options.items():
            options.setdefault(option, set()).add(value)
    assert options["setting"] == set(SETTINGS)
    assert options["mode"] | {"same-constraint"} == set(SOFT_BLOCK_MODES)
    words = {word for scenario in TABLE for turn in scenario.turns for word in turn.split()}
    assert set(get_args(Action)) <= {word.partition(":")[0] for word in words}


def _procedure(**rules: str) -> Procedure:
    """`_procedure(no_pay="ASK: G !pay")`"""
    constraints = []
    for name, text in rules.items():
        severity, _, rule = text.partition(": ")
        constraints.append({"name": name, "rule": rule, "severity": severity})
    return Procedure.from_dict({"constraints": constraints})


# ── asking ────────────────────────────────────────────────────────────────────────────────

PAY = Call("pay")
NO_PAY = _procedure(no_pay="ASK: G !pay", noted="TOLERATE: G !pay")


def test_a_person_sees_the_call_and_all_rules_that_it_breaks() -> None:
    asked: list[Any] = []

    def ask(call: Call, violations: tuple[Violation, ...]) -> bool:
        asked.append((call.tool, dict(call.args), [v.constraint.name for v in violations]))
        return True

    Guard(NO_PAY, ask=ask).propose([Call("get"), Call("pay", {"n": 1})])
    assert asked == [("pay", {"n": 1}, ["no_pay", "noted"])]


def test_a_question_without_an_answer_times_out() -> None:
    answer = threading.Event()

    def ask(call: Call, violations: tuple[Violation, ...]) -> bool:
        return answer.wait()

    guard = Guard(NO_PAY, ask=ask, ask_timeout=0.05)
    (decision,) = guard.propose([PAY])
    assert not answer.is_set()
    assert said(decision) == "block:no_pay,noted"
    assert "a person was asked, and did not answer within 0.05 s." in decision.message
    answer.set()
    assert said(guard.propose([Call("get")])[0]) == "allow", "what is said too late changes nothing"


def test_a_person_who_does_not_answer_does_not_keep_the_program_alive(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import time\n"
        "from bylaw import Call, Procedure\n"
        "from bylaw.enforcement.guard import Guard\n"
        "rule = {'name': 'n', 'rule': 'G !pay', 'severity': 'ASK'}\n"
        "p = Procedure.from_dict({'constraints': [rule]})\n"
        "g = Guard(p, ask=lambda call, rules: time.sleep(60), ask_timeout=0.05)\n"
        "print(g.propose([Call('pay')])[0].action)\n"
    )
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.strip() == "block"


def test_other_turns_are_decided_while_a_person_is_asked() -> None:
    """Other turns do not wait for the person; an approved call is judged again."""
    thinking, answer = threading.Event(), threading.Event()

    def ask(call: Call, violations: tuple[Violation, ...]) -> bool:
        thinking.set()
        return answer.wait(10)

    rules = _procedure(ask_pay="ASK: G !pay", no_pay_then="HARD_STOP: G !(pay & O freeze)")
    guard = Guard(rules, ask=ask)
    found: list[str] = []
    asking = threading.Thread(
        target=lambda: found.extend(map(said, guard.propose([Call("get"), PAY, Call("end")])))
    )
    asking.start()
    assert thinking.wait(10)
    (other,) = guard.propose([Call("freeze")])
    guard.record(other, "done")
    guard.say("user", "wait")
    answer.set()
    asking.join(10)
    assert found == ["allow", "stop:ask_pay,no_pay_then", "stop"]


def test_steps_never_decrease_when_a_message_arrives_while_a_person_is_asked() -> None:
    guard: Guard

    def ask(call: Call, violations: tuple[Violation, ...]) -> bool:
        guard.say("user", "hello?")
        return True

    guard = Guard(NO_PAY, ask=ask)
    first, second, third = guard.propose([Call("get"), PAY, Call("get")])
    assert (first.call.step, second.call.step, third.call.step) == (0, 2, 2)


class _Async:
    """A person who answers slowly, asked in an event loop."""

    def __init__(self, approves: bool, delay: float = 0.0) -> None:
        self.approves = approves
        self.delay = delay

    async def __call__(self, call: Call, violations: tuple[Violation, ...]) -> bool:
        await asyncio.sleep(self.delay)
        return self.approves


def _slow_yes(call: Call, violations: tuple[Violation, ...]) -> bool:
    time.sleep(0.2)
    return True


def _fails(call: Call, violations: tuple[Violation, ...]) -> bool:
    raise RuntimeError


@pytest.mark.parametrize(
    ("ask", "timeout", "expected"),
    [
        (_Async(True), None, "allow^no_pay^noted"),
        (_Async(False), None, "block:no_pay,noted"),
        (_Async(True, 30), 0.05, "block:no_pay,noted"),
        (_slow_yes, None, "allow^no_pay^noted"),
        (_slow_yes, 0.02, "block:no_pay,noted"),
        (_fails, None, "block:no_pay,noted"),
        (None, None, "ask:no_pay,noted"),
    ],
)
def test_asking_in_an_event_loop(ask: Any, timeout: float | None, expected: str) -> None:
    async def main() -> tuple[list[str], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        guard = Guard(NO_PAY, ask=ask, ask_timeout=timeout)
        decisions = await guard.propose_async([Call("get"), PAY])
        ticking.cancel()
        return list(map(said, decisions)), ticks

    decisions, ticks = asyncio.run(main())
    assert decisions == ["allow", expected]
    if ask is _slow_yes:
        assert ticks >= (5 if timeout is None else 1), "the loop went on"


def test_a_cancelled_question_is_not_an_answer() -> None:
    async def main() -> list[str]:
        guard = Guard(NO_PAY, ask=_Async(True, 30))
        waiting = asyncio.create_task(guard.propose_async([PAY]))
        await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return [said(d) for d in await guard.propose_async([Call("get")])]

    assert asyncio.run(main()) == ["allow"]


def _divides(call: Call, violations: tuple[Violation, ...]) -> bool:
    return bool(1 / 0)


def _slow(call: Call, violations: tuple[Violation, ...]) -> bool:
    time.sleep(0.5)
    return True


def _gives_up(call: Call, violations: tuple[Violation, ...]) -> bool:
    raise TimeoutError("no line")


async def _divides_later(call: Call, violations: tuple[Violation, ...]) -> bool:
    return bool(1 / 0)


async def _says_yes_later(call: Call, violations: tuple[Violation, ...]) -> Any:
    return "yes"


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda *_: False, "a person was asked, and did not approve it"),
        (lambda *_: "yes", "the answer was 'yes', which is neither True nor False"),
        (lambda *_: None, "the answer was None, which is neither True nor False"),
        (lambda *_: 1, "the answer was 1, which is neither True nor False"),
        (_divides, "nobody could be asked: ZeroDivisionError: division by zero"),
        (lambda: True, "nobody could be asked: TypeError: "),
        (_gives_up, "nobody could be asked: TimeoutError: no line"),
        (_slow, "a person was asked, and did not answer within 0.1 s"),
        (_Async(False), "a person was asked, and did not approve it"),
        (_Async(True, 30), "a person was asked, and did not answer within 0.1 s"),
        (_divides_later, "nobody could be asked: ZeroDivisionError: division by zero"),
        (_says_yes_later, "the answer was 'yes', which is neither True nor False"),
    ],
)
def test_a_call_without_approval_is_refused_with_the_reason(ask: Any, reason: str) -> None:
    (decision,) = Guard(NO_PAY, ask=ask, ask_timeout=0.1).propose([PAY])
    (later,) = asyncio.run(Guard(NO_PAY, ask=ask, ask_timeout=0.1).propose_async([PAY]))
    for each in (decision, later):
        assert said(each) == "block:no_pay,noted"
        assert each.message.startswith(f"pay: Not executed: {reason}")


def test_an_approval_is_an_event_without_a_resolution() -> None:
    report = _played(Guard(NO_PAY, ask=lambda *_: True), ["pay"])
    assert [(e.constraint, e.action, e.resolution) for e in report.events] == [
        ("no_pay", "approve", None),
        ("noted", "approve", None),
    ]
    counts = report.statistics
    assert (counts.events, counts.approved, counts.insist_rate) == (0, 2, None)


def test_an_approval_after_the_turn_is_also_an_event() -> None:
    guard = Guard(NO_PAY)
    (decision,) = guard.propose([PAY])
    guard.approve(decision)
    again = Guard(NO_PAY)
    again.restore(guard.save())
    report = _played(again, ["pay"])
    assert [(e.constraint, e.action, e.resolution) for e in report.events] == [
        ("no_pay", "ask", "insisted"),
        ("noted", "ask", "insisted"),
        ("no_pay", "approve", None),
        ("noted", "approve", None),
    ]


def test_insisting_is_not_an_approval_event() -> None:
    guard = Guard(_procedure(no_pay="BLOCK_AND_WARN: G !pay"))
    report = _played(guard, ["pay", "pay"])
    assert [(e.action, e.resolution) for e in report.events] == [("warn", "insisted")]


def _played(guard: Guard, turns: list[str]) -> GuardReport:
    for turn in turns:
        play(guard, turn)
    return guard.finish()


def test_only_calls_refused_with_ask_can_be_approved() -> None:
    guard = Guard(_procedure(no_pay="SOFT_BLOCK: G !pay"))
    with pytest.raises(BylawError, match="the decision on the call was block, not ask"):
        guard.approve(guard.propose([PAY])[0])


# ── the message to the agent ─────────────────────────────────────────────────────────────


def test_a_refusal_is_an_exception_that_an_agent_can_read() -> None:
    rule = {"name": "once", "rule": "CalledN(pay, <= 1)", "why": "Money.", "fix": "Ask."}
    guard = Guard(Procedure.from_dict({"constraints": [rule]}), run_id="r1")
    guard.propose([PAY])
    error = guard.propose([PAY])[0].error()
    assert isinstance(error, ConstraintViolationError)
    assert error.violation_type == "block"
    text, mark = str(error).rsplit("\n", 1)
    assert mark.startswith("[bylaw:block:r1.1.0:")
    assert text == unmarked(str(error))
    assert text == (
        "pay: Not executed.\n"
        "Rule once: this call would break it for good. Money.\n"
        "  What to do: Ask.\n"
        "Calls that led here: #1 pay."
    )
    assert error.to_dict() == {
        "error": "ConstraintViolationError",
        "violation_type": "block",
        "tool": "pay",
        "constraints": ["once"],
        "message": str(error),
    }


def test_no_hint_reveals_a_value() -> None:
    """A rule may hold the answer; the agent reads names, the author's words, its own calls."""
    rules = _procedure(right='SOFT_BLOCK: CalledN(pay, = 1) & G(pay -> call(pay, n = "s3cret"))')
    for hints in HINTS:
        guard = Guard(rules, hints=hints)
        (decision,) = guard.propose([Call("pay", {"n": 1})])
        assert not decision.allowed
        assert "s3cret" not in decision.message


def test_hints() -> None:
    def message(hints: Any) -> str:
        rules = [{"name": "first", "rule": "!pay W get"}]
        tools = ["get", "pay", "look"]
        guard = Guard(Procedure.from_dict({"tools": tools, "constraints": rules}), hints=hints)
        return unmarked(guard.propose([PAY])[0].message)

    assert message("none") == "pay: Not executed."
    assert "first" in message("rule")
    assert "Tools" not in message("rule")
    assert message("open").endswith("Tools that can still be called: get, look.")


def test_an_approval_is_for_one_call() -> None:
    guard = Guard(_procedure(checked="ASK: G(pay -> Y verify)"))
    (asked,) = guard.propose([PAY])
    guard.approve(asked)
    assert guard.propose([Call("verify")])[0].allowed
    assert guard.propose([PAY])[0].allowed  # it breaks nothing, and consumes the approval
    assert guard.propose([PAY])[0].action == "ask"


class Interrupt(BaseException):
    """As Ctrl-C, but not for pytest."""


@pytest.mark.parametrize("alone", [True, False])
def test_an_aborted_turn_ends_the_run_if_it_allowed_calls(alone: bool) -> None:
    """The guard has seen a `verify` that never ran: it must not enable other calls."""

    def interrupted(*_: object) -> bool:
        raise Interrupt

    rules = _procedure(boss="ASK: G(wire -> O boss)", checked="HARD_STOP: G(pay -> O verify)")
    guard = Guard(rules, ask=interrupted)
    turn = [Call("wire")] if alone else [Call("verify"), Call("wire")]
    with pytest.raises(Interrupt):
        guard.propose(turn)
    assert guard.stopped is not alone
    assert not guard.propose([PAY])[0].allowed


def test_a_cancelled_task_aborts_its_turn() -> None:
    async def forever(*_: object) -> bool:
        await asyncio.sleep(60)
        return True

    rules = _procedure(boss="ASK: G(wire -> O boss)", checked="HARD_STOP: G(pay -> O verify)")
    guard = Guard(rules, ask=forever)

    async def run() -> None:
        turn = guard.propose_async([Call("verify"), Call("wire")])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turn, timeout=0.05)

    asyncio.run(run())
    assert guard.stopped
    assert not guard.propose([PAY])[0].allowed


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("error", [StopIteration(), Mute(), TimeoutError("slow")])
def test_any_exception_of_ask_refuses_the_call(error: Exception) -> None:
    def failing(*_: object) -> bool:
        raise error

    rules = _procedure(boss="ASK: G(pay -> O boss)")
    for (decision,) in (
        Guard(rules, ask=failing).propose([PAY]),
        asyncio.run(Guard(rules, ask=failing).propose_async([PAY])),
    ):
        assert not decision.allowed
        refusal = f"pay: Not executed: nobody could be asked: {type(error).__name__}"
        assert decision.message.startswith(refusal)


@pytest.mark.parametrize(
    ("rule", "refused", "open_tools"),
    [
        ("G(pay -> args.amount <= 100)", {"amount": 500}, "get, pay"),
        ('G(pay -> args.to ~ "^DE[0-9]+$" & args.amount > 0)', {"to": "FR1"}, "get, pay"),
        ("G(pay -> args.order.id in [7, 8])", {"order": {"id": 9}}, "get, pay"),
        ("G(pay -> args.id = last(call(get)).args.id)", {"id": 1}, "get"),
        ("G(pay -> args.amount < 1 & args.amount > 2)", {"amount": 1}, "get"),
        ("CalledN(pay, = 0)", {}, "get"),
    ],
)
def test_a_tool_is_open_if_some_arguments_break_no_rule(
    rule: str, refused: dict[str, Json], open_tools: str
) -> None:
    rules = [{"name": "only", "rule": rule}]
    guard = Guard(
        Procedure.from_dict({"tools": ["get", "pay"], "constraints": rules}), hints="open"
    )
    (decision,) = guard.propose([Call("pay", refused)])
    assert unmarked(decision.message).endswith(f"Tools that can still be called: {open_tools}.")


def test_the_open_rules_are_named_when_an_answer_is_refused() -> None:
    rules = [{"name": "must", "rule": "Called(a)"}, {"name": "also", "rule": "Called(b)"}]
    guard = Guard(Procedure.from_dict({"finish": "met", "constraints": rules}))
    guard.propose([Call("b")])
    (decision,) = guard.propose([Call("final_answer", {"answer": "42"})])
    assert "Rule must: it is not met yet." in decision.message
    assert "also" not in decision.message
    assert not guard.finished


# ── the ends of a run ─────────────────────────────────────────────────────────────────────


def test_nothing_follows_the_answer() -> None:
    guard = Guard(_procedure(must="TOLERATE: Called(a)"))
    answer = Call("final_answer", {"answer": "42"})
    assert list(map(said, guard.propose([answer, Call("a")]))) == ["allow", "block"]
    with pytest.raises(BylawError, match="the run has finished"):
        guard.propose([Call("a")])
    assert guard.finish("another answer").label == "NONE"


def test_a_result_belongs_to_a_call_that_ran() -> None:
    guard = Guard(_procedure(never="SOFT_BLOCK: G !a"))
    with pytest.raises(BylawError, match="it was refused"):
        guard.record(guard.propose([Call("a")])[0], 1)


def test_arguments_that_are_not_json_are_refused_before_anything_happens() -> None:
    guard = Guard(_procedure(never="SOFT_BLOCK: G !a"))
    for odd in (object(), float("nan"), {1: 2}):
        with pytest.raises(BylawError, match="'b' are not JSON"):
            guard.propose([Call("c"), Call("b", {"x": odd})])
    assert guard.turn == 0


# ── the record ────────────────────────────────────────────────────────────────────────────


def test_events_and_their_resolutions() -> None:
    rules = _procedure(a="BLOCK_AND_WARN: G !a", b="BLOCK_AND_WARN: G !b", c="TOLERATE: G !c")
    guard = Guard(rules)
    for turn in ('a{"n":1} c', "", 'a{"n":1.0}', "b", "go", "b"):
        play(guard, turn)
    statistics = guard.finish().statistics
    assert [(e.constraint, e.action, e.resolution) for e in guard.events] == [
        ("a", "warn", "insisted"),  # a turn without calls resolves nothing; 1 is 1.0 here
        ("c", "tolerate", "listened"),
        ("a", "warn", "listened"),
        ("b", "warn", "listened"),
        ("b", "warn", None),
    ]
    assert (statistics.events, statistics.resolved, statistics.insist_rate) == (5, 4, 0.2)
    assert statistics.by_action == {"warn": 4, "tolerate": 1}


def test_lost_rules_are_not_counted_against_the_agent() -> None:
    rules = _procedure(fine="SOFT_BLOCK: G !call(get, failed)", a="SOFT_BLOCK: G !a")
    guard = Guard(rules, unenforceable="score")
    play(guard, 'get!"timeout" a')
    play(guard, "a")
    statistics = guard.finish().statistics
    assert (statistics.events, statistics.lost, statistics.insist_rate) == (2, 1, 0.5)


# ── mistakes of other gates ───────────────────────────────────────────────────────────────


def test_an_obligation_never_deadlocks() -> None:
    """Each call leaves the obligation unmet, and makes progress towards it."""
    for severity in SEVERITIES:
        guard = Guard(_procedure(twice=f"{severity}: CalledN(a, >= 2)"))
        assert [said(guard.propose([Call("a")])[0]) for _ in range(3)] == ["allow"] * 3
        assert guard.finish().label == "FULL"


def test_an_override_covers_one_warning() -> None:
    rules = _procedure(warned="BLOCK_AND_WARN: !a W get", stop="HARD_STOP: CalledN(a, <= 1)")
    guard = Guard(rules)
    assert said(guard.propose([Call("a")])[0]) == "warn:warned"
    first, second = guard.propose([Call("a"), Call("a")])
    assert (said(first), said(second)) == ("allow^warned", "stop:warned,stop")


@pytest.mark.parametrize(
    ("rule", "prefix"),
    [
        ("G(a -> X b)", "a c"),
        ("F(a & X b) & CalledN(b, <= 1)", "b"),
        ("(a U b) | (c U d)", "e"),
        ("G(a -> F b) & CalledN(b, <= 1) & CalledN(a, <= 1)", "a a"),
        ("F G a & CalledN(b, = 0)", "b"),
        ("Before(a, b) & Before(b, c)", "c"),
        ("InstanceBefore(a, 1, b, 0)", "a b"),
        ("(F a) <-> (F b) & G !a & G !b", "a"),
        ("forall x in [1, 2]: CalledN(a, <= 2) & CalledWith(a, i = x)", 'a{"i":1} a{"i":1}'),
    ],
)
def test_a_doomed_prefix_is_recognised(rule: str, prefix: str) -> None:
    guard = Guard(_procedure(r=f"SOFT_BLOCK: {rule}"))
    decisions, _ = play(guard, prefix)
    assert not decisions[-1].allowed


def test_rounding_does_not_decide_scores() -> None:
    with pytest.raises(BylawError, match="no constraints"):
        Procedure.from_dict({"constraints": []})
    rules = [
        {"name": "tiny", "rule": "Called(a)", "weight": 1e-30},
        {"name": "large", "rule": "G !b", "weight": 1e30},
    ]
    report = Guard(Procedure.from_dict({"constraints": rules})).finish()
    assert (report.score, report.label) == (1.0, "PARTIAL")


def test_a_report_agrees_with_that_of_verify() -> None:
    procedure = _procedure(
        first="TOLERATE: G(b -> O a)", must="TOLERATE: Called(a)", no="ASK: G !c"
    )
    for tools in ("", "b", "a", "a b"):
        guard = Guard(procedure)
        play(guard, tools)
        live, read = guard.finish(), verify_trace(trace(tools), procedure)
        for name in ("score", "label", "reason", "details"):
            assert getattr(live, name) == getattr(read, name), (tools, name)
        for kind in ("constraints", "violated", "undecided"):
            pairs = [[(r.name, r.passed) for r in getattr(each, kind)] for each in (live, read)]
            assert pairs[0] == pairs[1], (tools, kind)
