"""The guard's clock: what happens is stamped, and deadlines that pass are lost."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from random_cases import share

from bylaw import AuditLog, Call, Decision, Guard, Procedure, Trace, UsageError, holds, read_trace
from bylaw.enforcement.replay import replay

NOON = 1_763_294_400.0  # 16 November 2025, 12:00 UTC


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def _procedure(*rules: str, severity: str | None = "SOFT_BLOCK", finish: str = "free") -> Procedure:
    constraints = [
        {"name": f"rule {number}", "rule": rule, **({"severity": severity} if severity else {})}
        for number, rule in enumerate(rules)
    ]
    return Procedure.from_dict(
        {"bylaw": 1, "name": "desk", "finish": finish, "constraints": constraints}
    )


def _due(guard: Guard) -> float | None:
    return guard.next_deadline


def _one(guard: Guard, tool: str, **arguments: object) -> bool:
    """Proposes one call and records a result; was it allowed?"""
    (decision,) = guard.propose([Call(tool, arguments)])
    if decision.allowed:
        guard.record(decision, "done")
    return decision.allowed


# ── stamps ───────────────────────────────────────────────────────────────────────────────────


def test_calls_results_and_messages_are_stamped() -> None:
    clock = Clock()
    guard = Guard(_procedure("G(a -> O b within 1 h)", severity=None), clock=clock)
    guard.say("user", "Go on.")
    clock.now += 2
    (decision,) = guard.propose([Call("b", start=5.0)])  # an agent does not say when it starts
    clock.now += 3
    guard.record(decision, "done", usage={"tokens": 7})
    clock.now += 1
    trace = guard.finish("Done.").trace
    assert trace is not None
    message, call = trace.events
    assert message.start == NOON
    assert isinstance(call, Call)
    assert (call.start, call.end, call.usage) == (NOON + 2, NOON + 5, {"tokens": 7})
    assert trace.answered == NOON + 6


def test_siblings_start_together_and_refusals_have_times() -> None:
    guard = Guard(_procedure("G(length(sofar(a, 1 min)) <= 1)"), clock=Clock())
    first, second = guard.propose([Call("a"), Call("a")])
    assert (first.allowed, second.allowed) == (True, False)
    trace = guard.finish().trace
    assert trace is not None
    assert trace.refusals[0].call.start == NOON == trace.calls[0].start


def test_a_clock_that_goes_back_stands_still() -> None:
    clock = Clock()
    guard = Guard(_procedure("G(length(sofar(a, 1 min)) <= 1)"), clock=clock)
    assert _one(guard, "a")
    clock.now -= 3600
    assert not _one(guard, "a")
    clock.now = NOON + 61
    assert _one(guard, "a")


@pytest.mark.parametrize("time", [None, "noon", float("nan"), float("inf"), NOON * 1000, True])
def test_a_clock_that_makes_no_sense_stops_the_turn(time: object) -> None:
    clock = Clock()
    guard = Guard(_procedure("G(length(sofar(a, 1 min)) <= 1)"), clock=clock)
    clock.now = time  # type: ignore[assignment]  # that is the case
    with pytest.raises(UsageError, match="the time by the clock"):
        guard.propose([Call("a")])
    clock.now = NOON
    assert _one(guard, "a")


def test_only_a_guard_without_a_clock_is_given_the_time() -> None:
    guard = Guard(_procedure("G(a -> O b within 1 h)"))
    with pytest.raises(UsageError, match="`start` cannot be given"):
        guard.say("user", "Go on.", start=NOON)
    with pytest.raises(UsageError, match="clock cannot be"):
        Guard(_procedure("G(a -> O b within 1 h)"), clock=12)  # type: ignore[arg-type]  # that is the case
    guard = Guard(_procedure("G(a -> O b within 1 h)"), clock=None)
    assert guard.propose([Call("b", start=NOON)])[0].allowed
    assert not guard.propose([Call("a", start=NOON + 3601)])[0].allowed
    assert not guard.propose([Call("a")])[0].allowed  # nobody knows when it starts
    assert guard.propose([Call("a", start=NOON + 3600)])[0].allowed


# ── deadlines ────────────────────────────────────────────────────────────────────────────────

REPLY = "G(ask -> F reply within 10 min)"


def test_a_deadline_that_passes_is_lost_when_it_fell_due() -> None:
    clock = Clock()
    guard = Guard(_procedure(REPLY, finish="met"), clock=clock)
    assert _due(guard) is None
    assert _one(guard, "ask")
    assert _due(guard) == NOON + 600
    clock.now += 600
    assert guard.tick() == []
    clock.now += 60
    (lost,) = guard.tick()
    assert (lost.constraint, lost.action, lost.time) == ("rule 0", "lost", NOON + 600)
    assert _due(guard) is None
    assert _one(guard, "other")  # it is lost, and holds nothing back any more
    (standing,) = guard.finish("Done.").constraints
    assert not standing.passed


def test_a_deadline_that_passes_between_calls_is_noticed_at_the_next() -> None:
    clock = Clock()
    guard = Guard(_procedure(REPLY, finish="met"), clock=clock)
    assert _one(guard, "ask")
    clock.now += 601
    assert _one(guard, "reply")
    assert [event.time for event in guard.events] == [NOON + 600]


def test_each_deadline_is_lost_by_itself() -> None:
    clock = Clock()
    rule = "G(ask -> let i = args.id: F call(reply, id = i) within 10 min)"
    guard = Guard(_procedure(rule, finish="met"), clock=clock)
    for id in range(3):
        assert _one(guard, "ask", id=id)
        clock.now += 60
    assert _one(guard, "reply", id=1)
    assert [event.time for event in guard.tick(NOON + 3600)] == [NOON + 600, NOON + 720]
    assert guard.tick(NOON + 7200) == []


def test_a_lost_deadline_ends_the_run_if_the_rule_says_so() -> None:
    clock = Clock()
    guard = Guard(_procedure(REPLY, severity="HARD_STOP", finish="met"), clock=clock)
    assert _one(guard, "ask")
    clock.now += 601
    assert guard.propose([Call("reply")])[0].action == "stop"
    assert guard.stopped


def test_an_answer_is_held_back_until_the_reply_or_the_deadline() -> None:
    clock = Clock()
    guard = Guard(_procedure(REPLY, finish="met"), clock=clock)
    assert _one(guard, "ask")
    answer = Call("final_answer", {"answer": "Done."})
    assert not guard.propose([answer])[0].allowed
    assert _one(guard, "reply")
    assert guard.propose([answer])[0].allowed
    clock.now += 3600
    assert guard.tick() == []  # after the answer nothing is due
    assert guard.finish().score == 1.0


def test_a_result_that_may_have_met_a_deadline_is_awaited() -> None:
    clock = Clock()
    guard = Guard(
        _procedure("G(ask -> F call(reply, ok) within 10 min)", finish="met"), clock=clock
    )
    assert _one(guard, "ask")
    (reply,) = guard.propose([Call("reply")])
    clock.now += 3600
    assert guard.tick() == []  # the reply is out, and may have been in time
    guard.record(reply, None, error="bounced")
    (lost,) = guard.tick()
    assert lost.time == NOON + 600


def test_deadlines_outlive_the_process() -> None:
    clock = Clock()
    procedure = _procedure(REPLY, finish="met")
    guard = Guard(procedure, clock=clock)
    assert _one(guard, "ask")
    saved = json.loads(json.dumps(guard.save()))
    other = Guard(procedure, clock=clock)
    other.restore(saved)
    assert other.next_deadline == NOON + 600
    clock.now = NOON - 5  # the other machine's clock is behind
    assert _one(other, "reply")
    trace = other.finish().trace
    assert trace is not None
    assert [call.start for call in trace.calls] == [NOON, NOON]
    with pytest.raises(UsageError, match="another procedure"):
        Guard(procedure, clock=None).restore(saved)


# ── offline, live and from the log ───────────────────────────────────────────────────────────

RULES = (
    "G(length(sofar(a, 10 s)) <= 2)",
    "G(b -> earlier a within 10 s)",
    "G(b -> let i = args.i: O call(a, i = i) within 5 s)",
    "G(a -> F b within 10 s)",
    "G(a -> let i = args.i: later call(b, i = i, ok) within 10 s)",
    "G(b -> sum(sofar(call(a, ok), 20 s).args.i) <= 3)",
    "G(call & duration > 4 -> F c within 3 s)",
    'G(c -> hour(start, "UTC") < 13)',
    "G(sum(sofar(call).usage.tokens) <= 60)",
    'G(c -> earlier (b & agent != "x"))',
)


def _run(random: Random, guard: Guard, clock: Clock) -> None:
    waiting: list[Decision] = []
    for _ in range(random.randint(1, 14)):
        clock.now += random.choice([0, 0, 0.1, 1, 3, 5, 11])
        deed = random.random()
        if deed < 0.15:
            guard.tick()
        elif deed < 0.35 and waiting:
            decision = waiting.pop(random.randrange(len(waiting)))
            failed = "no" if random.random() < 0.3 else None
            guard.record(decision, "done", error=failed, usage={"tokens": random.randint(0, 30)})
        else:
            turn = [
                Call(random.choice("aabbc"), {"i": random.randint(0, 2)}, agent=random.choice("xy"))
                for _ in range(random.randint(1, 2))
            ]
            waiting += [each for each in guard.propose(turn) if each.allowed]


def _verdicts(procedure: Procedure, trace: Trace) -> list[bool]:
    return [holds(constraint.formula, trace) for constraint in procedure.constraints]


@pytest.mark.parametrize("seed", range(share(60)))
def test_a_run_scores_the_same_live_offline_and_from_the_log(seed: int, tmp_path: Path) -> None:
    random, clock = Random(seed), Clock()
    severity = random.choice([None, "SOFT_BLOCK", "TOLERATE"])
    procedure = _procedure(*RULES, severity=severity)
    with AuditLog(tmp_path / "run.log") as log:
        guard = Guard(procedure, clock=clock, log=log, unenforceable="score")
        _run(random, guard, clock)
        report = guard.finish(random.choice([None, "Done."]))
    assert report.trace is not None
    assert [each.passed for each in report.constraints] == _verdicts(procedure, report.trace)
    assert read_trace(tmp_path / "run.log") == report.trace
    if severity == "TOLERATE":  # nothing was refused: a replay sees what the guard saw
        assert replay(report.trace, procedure).score == report.score
