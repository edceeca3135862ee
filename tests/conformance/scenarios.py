"""The promises that every adapter has to keep: one table of scenarios, which the docs list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from desk import Desk, Seen, answer, fetch, lookup, pay
from driver import ASSIST, TASK, Driver, Setup

from bylaw.audit.log import AuditLog
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.trace.event import Call
from bylaw.trace.formats import read
from bylaw.values import equal

LOOKED_UP = "G(pay -> O lookup)"
FOUND = "G(pay -> earlier call(lookup, ok))"
SMALL = "G(pay -> args.amount < 10)"
HINT = """\
pay: Not executed.
Rule looked-up: this call would break it for good. Only orders are paid.
  What to do: Look it up."""

Check = Callable[[Driver, Path], None]


@dataclass(frozen=True)
class Scenario:
    """One thing that an adapter has to show."""

    name: str
    promise: str
    """The promise, as the docs state it."""
    check: Check


SCENARIOS: dict[str, Scenario] = {}


def scenario(name: str, promise: str) -> Callable[[Check], Check]:
    """Adds a scenario to the table."""

    def add(check: Check) -> Check:
        SCENARIOS[name] = Scenario(name, promise, check)
        return check

    return add


def rules(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    """A procedure with one rule."""
    told = {"why": "Only orders are paid.", "fix": "Look it up."}
    constraint = {"name": "looked-up", "rule": rule, "severity": severity, **told}
    return Procedure.from_dict({"bylaw": 1, "name": "desk", "constraints": [constraint], **more})


def entries(path: Path, kind: str) -> list[dict[str, Any]]:
    """The entries of one kind in an audit log."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if entry.get("kind") == kind]


@scenario("refused", "A refused call does not run, the model reads why, and the run continues.")
def refused(drive: Driver, _: Path) -> None:
    seen = drive(rules(LOOKED_UP), [[pay()], [lookup()], [pay()], [answer()]])
    assert seen.ran == [lookup(), pay()]
    assert "pay: Not executed." in seen.shown[1]
    assert "paid 5" in seen.shown[3]
    assert seen.answer == seen.final == "done"
    assert seen.events == [("block", "pay", "listened")]


@scenario("hint", "The model reads the hint word for word.")
def hint(drive: Driver, folder: Path) -> None:
    path = folder / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        seen = drive(rules(LOOKED_UP), [[pay()], [lookup()], [answer()]], log=log)
    (said,) = [entry["message"] for entry in entries(path, "decision") if "message" in entry]
    assert said == HINT
    assert said in seen.shown[1]


@scenario("together", "The calls of a turn are decided together: a sibling is no evidence.")
def together(drive: Driver, _: Path) -> None:
    seen = drive(rules(FOUND), [[lookup(), pay()], [pay()], [answer()]])
    assert seen.ran == [lookup(), pay()]
    assert len(seen.events) == 1
    seen = drive(rules(LOOKED_UP), [[pay(1), lookup(), pay(2)], [answer()]])
    assert sorted(call.tool for call in seen.ran) == ["lookup", "pay"]
    assert pay(1) not in seen.ran


@scenario("failed", "A tool that fails has failed: its call is not evidence.")
def failed(drive: Driver, _: Path) -> None:
    script = [[fetch("missing")], [pay()], [fetch()], [pay()], [answer()]]
    seen = drive(rules("G(pay -> earlier call(fetch, ok))"), script)
    assert "there is no such file" in seen.shown[1]
    assert seen.ran == [fetch("missing"), fetch(), pay()]
    assert seen.events == [("block", "pay", "listened")]


@scenario("stop", "When the gate ends the run, nothing more happens, and the last text says so.")
def stop(drive: Driver, _: Path) -> None:
    small = rules(SMALL, "HARD_STOP")
    seen = drive(small, [[lookup(1), pay(50), lookup(2)], [lookup(3)], [answer()]])
    assert seen.stopped
    assert seen.answer is None
    assert len(seen.shown) == 1, "the model is not asked again"
    assert pay(50) not in seen.ran
    assert lookup(2) not in seen.ran
    assert "The run ends here." in seen.final


@scenario("answer", "An answer is held back until obligations are met.")
def held_back(drive: Driver, _: Path) -> None:
    met = rules("F lookup", finish="met")
    seen = drive(met, [[answer("too early")], [lookup()], [answer("in time")]])
    assert "final_answer: Not executed." in seen.shown[1]
    assert seen.ran == [lookup()]
    assert seen.answer == seen.final == "in time"


@scenario("insist", "The same call in the next turn overrides a warning, once.")
def insist(drive: Driver, _: Path) -> None:
    script = [[pay()], [pay()], [pay()], [answer()]]
    seen = drive(rules(LOOKED_UP, "BLOCK_AND_WARN"), script)
    assert seen.ran == [pay()]
    assert "exactly the same call again" in seen.shown[1]
    assert [event[0] for event in seen.events] == ["warn", "warn"]


@scenario("ask", "A function of yours is asked, and approves a call or does not.")
def ask(drive: Driver, _: Path) -> None:
    def under_20(call: Call, violations: Any) -> bool:
        return bool(call.args["amount"] < 20)

    script = [[pay(50)], [pay(15)], [pay(5)], [answer()]]
    seen = drive(rules(SMALL, "ASK"), script, ask=under_20)
    assert seen.ran == [pay(15), pay(5)]
    assert "did not approve it" in seen.shown[1]


@scenario("approval", "A call waits for a person as the framework lets people approve calls.")
def approval(drive: Driver, _: Path) -> None:
    for yes, ran in ((True, [pay(50)]), (False, [])):
        setup = Setup(rules(SMALL, "ASK"), {TASK: [[pay(50)], [answer()]]})
        agent = drive.agent(setup)
        seen = drive.start(agent)
        assert seen.ran == []
        assert "looked-up" in str(seen.question)
        seen = drive.answer_person(agent, yes)
        assert seen.ran == ran
        assert ("did not approve it" in seen.shown[1]) is not yes
        assert seen.answer == "done"


@scenario("apart", "Two runs of one agent at once do not mix.")
def apart(drive: Driver, folder: Path) -> None:
    scripts = {
        "first run": [[lookup(1)], [pay(1)], [answer("a")]],
        "second run": [[pay(2)], [pay(3)], [answer("b")]],
    }
    setup = Setup(rules(FOUND), scripts, desk=Desk(delay=0.01))
    path = folder / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        setup.options["log"] = log
        first, second = at_once(drive, setup)
    assert [call for call in setup.desk.ran if call.tool == "pay"] == [pay(1)]
    assert [first.answer, second.answer] == ["a", "b"]
    assert first.events == []
    assert len(second.events) == 2
    of_run = {entry["run"] for entry in entries(path, "decision") if entry["action"] == "block"}
    assert len(of_run) == 1


def at_once(drive: Driver, setup: Setup) -> list[Seen]:
    """The runs of all tasks, by one agent, at the same time: in threads, or in one event loop."""
    agent = drive.agent(setup)
    if drive.asynchronous:

        async def runs() -> list[Seen]:
            return await asyncio.gather(*(drive.run_async(agent, task) for task in setup.scripts))

        return asyncio.run(runs())
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda task: drive.run(agent, task), setup.scripts))


@scenario("helper", "An agent that another one calls, or hands over to, is judged in the same run.")
def helper(drive: Driver, _: Path) -> None:
    hand_over = Call("helper", {"task": ASSIST})
    scripts = {
        ASSIST: [[pay(50)], [pay(2)], [answer("paid 2")]],
        TASK: [[lookup()], [hand_over], [answer()]],
    }
    both = f"{LOOKED_UP[:-1]} & args.amount < 10)"
    setup = Setup(rules(both), scripts, helper=True)
    seen = drive.start(drive.agent(setup))
    assert setup.desk.ran == [lookup(), pay(2)], "its own lookup is evidence for the helper"
    assert "pay: Not executed." in setup.turns.shown[ASSIST][1]
    assert ("block", "pay", "listened") in seen.events


@scenario("cancelled", "A call that is cancelled, or interrupted by Ctrl-C, has failed.")
def cancelled(drive: Driver, folder: Path) -> None:
    path = folder / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        setup = Setup(rules(FOUND), {TASK: [[fetch("endless")], [answer()]]}, {"log": log})
        agent = drive.agent(setup)

        async def cancel() -> None:
            running = asyncio.create_task(drive.run_async(agent, TASK))
            while not setup.desk.begun.is_set():
                await asyncio.sleep(0.001)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

        if drive.asynchronous:
            asyncio.run(cancel())
        else:
            with suppress(KeyboardInterrupt):
                drive.run(agent, TASK)
    assert setup.desk.ran == [fetch("endless")]
    (decision,) = entries(path, "decision")
    (result,) = entries(path, "result")
    assert decision["action"] == "allow"
    assert "error" in result


@scenario("judged", "The arguments that a tool receives are the arguments that were judged.")
def judged(drive: Driver, folder: Path) -> None:
    path = folder / "log.jsonl"
    script = [[Call("pay", {"amount": "50"})], [Call("pay", {"amount": "5"})], [pay(7)], [answer()]]
    setup = Setup(rules("G(pay -> !(args.amount > 10))"), {TASK: script})
    with AuditLog(path, durable=False) as log:
        setup.options["log"] = log
        drive.start(drive.agent(setup))
    assert 50 not in setup.desk.received, "it was judged as the text '50'"
    decisions = entries(path, "decision")
    allowed = [e["arguments"]["amount"] for e in decisions if e["tool"] == "pay" and _ran(e)]
    for received in setup.desk.received:
        assert any(equal(received, each) for each in allowed), (received, allowed)
    assert pay(7) in setup.desk.ran


def _ran(entry: dict[str, Any]) -> bool:
    return bool(entry["action"] == "allow")


@scenario("resumed", "A conversation that one process saves continues in another, with its guard.")
def resumed(drive: Driver, folder: Path) -> None:
    from elsewhere import run_elsewhere

    looked = Setup(rules(FOUND), {TASK: [[lookup()], [answer("found")]]}, storage=folder)
    assert run_elsewhere(drive, looked).answer == "found"
    paid = Setup(rules(FOUND), {TASK: [[pay()], [answer("paid")]]}, storage=folder)
    seen = drive.start(drive.agent(paid))
    assert seen.ran == [pay()], "the lookup of the other process is evidence"
    assert seen.answer == "paid"
    assert seen.score == 1.0


TRANSCRIPTS: list[tuple[str, str, list[list[Call]]]] = [
    (LOOKED_UP, "SOFT_BLOCK", [[pay()], [lookup()], [pay()], [answer()]]),
    (LOOKED_UP, "BLOCK_AND_WARN", [[pay()], [pay()], [answer()]]),
    (LOOKED_UP, "HARD_STOP", [[fetch()], [lookup(), pay(), fetch()], [answer()]]),
    (LOOKED_UP, "HARD_STOP", [[fetch()], [pay(), lookup()], [answer()]]),
    (LOOKED_UP, "SOFT_BLOCK", [[pay()], [pay(6)], [pay()], [answer()]]),
    (SMALL, "SOFT_BLOCK", [[lookup(1), pay(50), lookup(2)], [answer()]]),
    ("G(final_answer -> O lookup)", "SOFT_BLOCK", [[answer("a")], [lookup()], [answer("b")]]),
    ("G(final_answer -> O lookup)", "HARD_STOP", [[answer("a")], [lookup()], [answer("b")]]),
    ("CalledN(pay, <= 2)", "SOFT_BLOCK", [[pay(), pay(), pay()], [answer()]]),
    ("CalledN(pay, = 0)", "TOLERATE", [[pay()], [answer()]]),
]


@scenario("transcript", "The framework's own transcript has the score of the run.")
def transcript(drive: Driver, _: Path) -> None:
    for rule, severity, script in TRANSCRIPTS:
        procedure = rules(rule, severity)
        seen = drive(procedure, script)
        assert seen.transcript is not None
        trace = read(seen.transcript).trace
        assert _sorted(list(trace.calls)) == _sorted(seen.ran), (rule, severity)
        assert trace.answer == seen.answer, (rule, severity)
        assert verify_trace(trace, procedure).score == seen.score, (rule, severity)


def _sorted(calls: list[Call]) -> list[str]:
    return sorted(f"{call.tool} {json.dumps(dict(call.args))}" for call in calls)


@scenario("race", f"In {Driver.races} runs at once, no call runs ahead of its evidence.")
def race(drive: Driver, _: Path) -> None:
    """A run asks for evidence and acts on it in one turn, and again; odd orders are not found."""
    numbers = range(101, 101 + drive.races)
    scripts = {f"task {n}.": [[lookup(n), pay(n)], [pay(n)], [answer(str(n))]] for n in numbers}
    own = "G(pay -> let n = args.amount: earlier call(lookup, order = n, ok))"
    setup = Setup(rules(own), scripts, desk=Desk(delay=0.002))
    for number, seen in zip(numbers, at_once(drive, setup), strict=True):
        assert seen.answer == str(number)
        assert len(seen.events) == 1 + number % 2
    paid = sorted(int(call.args["amount"]) for call in setup.desk.ran if call.tool == "pay")
    assert paid == [number for number in numbers if number % 2 == 0], "0 wrong executions"
