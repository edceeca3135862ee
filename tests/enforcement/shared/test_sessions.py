"""Rules across runs: calls that are cut into sessions in any way are decided as one long run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from random_cases import chosen_number
from sessions import Answer, Clock, ListStore, Script, guard_of

from bylaw import Call, Guard, Procedure, SharedRules, across_results
from bylaw.enforcement.replay import Replayer

CASES = chosen_number("BYLAW_ACROSS_CASES", 60)


class Sessions:
    """Random sessions under one value: some run at the same time, some end, and new ones begin."""

    def __init__(self, seed: int, shared: SharedRules, clock: Clock) -> None:
        self._rng = Random(seed)
        self._shared, self._clock = shared, clock
        self.open: list[Guard] = []
        self.all: list[Guard] = []

    def __iter__(self) -> Iterator[Guard]:
        while True:
            if not self.open or self._rng.random() < 0.2:
                self.open.append(guard_of(self._shared, self._clock))
                self.all.append(self.open[-1])
            guard = self._rng.choice(self.open)
            if self._rng.random() < 0.1 and len(self.open) > 1:
                self.open.remove(guard)
                guard.propose([Call("final_answer", {"answer": "done"})])
                guard = self._rng.choice(self.open)
            yield guard


@pytest.mark.parametrize("seed", range(CASES))
def test_sessions_are_decided_as_one_long_run(seed: int) -> None:
    script, clock, store = Script(seed), Clock(), ListStore()
    expected, report = script.as_one_run()
    shared = script.shared(store=store)
    sessions = Sessions(seed, shared, clock)
    assert script.play(iter(sessions), clock) == expected

    labels = {"customer": "c7"}
    standing = {each.name: each.passed for each in shared.standings(labels)}
    assert standing == {each.name: each.passed for each in report.constraints}

    # Rebuilt from its entries, or restored from what was saved, it goes on in the same way.
    rebuilt, restored = script.shared(store=ListStore(store.stored)), script.shared()
    resumed = script.shared(store=_with_snapshot(script, store, Random(seed)))
    restored.restore(shared.save())
    assert restored.save() == shared.save()
    assert rebuilt.standings(labels) == restored.standings(labels) == shared.standings(labels)
    more = Script(seed + 1000, turns=10)
    later = [_continued(more, each, clock.now) for each in (rebuilt, restored, resumed)]
    assert later[0] == later[1] == later[2]

    # Offline, the traces of the sessions give the same outcomes, in any order of the corpus.
    traces = [guard.finish().trace for guard in sessions.all]
    Random(seed).shuffle(traces)
    found = across_results(traces, shared.procedure)
    assert {each.name: each.passed for each in found} == standing
    assert [len(each.trace.calls) for each in found] == [sum(map(len, traces))] * len(found)


def _with_snapshot(script: Script, store: ListStore, rng: Random) -> ListStore:
    """The same store with a snapshot that was made after some of its entries."""
    known = script.shared(store=ListStore(store.stored[: rng.randint(0, len(store.stored))]))
    later = ListStore(store.stored)
    later.snapshots = {("customer", "c7"): known.snapshot(("customer", "c7"))}
    return later


def _continued(script: Script, shared: SharedRules, now: float) -> list[Answer]:
    clock = Clock()
    clock.now = now
    return script.play(iter(Sessions(0, shared, clock)), clock)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_processes_that_take_turns_decide_as_one_long_run(seed: int) -> None:
    """Each turn is decided by another process, which learns of the others from the store."""
    script, clock, store = Script(seed), Clock(), ListStore()
    expected, _ = script.as_one_run()
    rng = Random(seed)
    tables = [script.shared(store=store) for _ in range(3)]
    guards = [guard_of(each, clock) for each in tables for _ in range(2)]

    def catch_up() -> None:
        for table in tables:
            table.replay(store.read("customer", "c7"))

    def turns() -> Iterator[Guard]:
        while True:
            yield rng.choice(guards)

    assert script.play(turns(), clock, before_each=catch_up) == expected


def test_threads_never_allow_more_than_one_run_would() -> None:
    rule = "G(refund -> sum(sofar(refund).args.amount) <= 300)"
    script = Script(0)
    script.rules, script.order = [rule, "G(refund -> O approve)"], "position"
    store, clock = ListStore(), Clock()
    shared = script.shared(store=store)
    barrier = threading.Barrier(8)

    def session(seed: int) -> tuple[int, Guard]:
        rng, guard, paid = Random(seed), guard_of(shared, clock), 0
        barrier.wait()
        for _ in range(60):
            amount = rng.randrange(1, 6)
            turn = [Call("approve"), Call("refund", {"amount": amount})]
            for decision in guard.propose(turn):
                if decision.allowed:
                    paid += decision.call.args.get("amount", 0)
                    guard.record(decision, "fine")
        return paid, guard

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # switch threads as often as possible
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(session, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert sum(paid for paid, _ in found) == 300, "calls of 1 fill it up"
    rebuilt = script.shared(store=ListStore(store.stored))
    assert rebuilt.standings({"customer": "c7"}) == shared.standings({"customer": "c7"})
    traces = [guard.finish().trace for _, guard in found]
    results = across_results(traces, shared.procedure)
    assert [each.passed for each in results] == [True, True]
    entries = [each["event"] for each in store.stored if each["kind"] == "call"]
    assert [call.tool for call in results[0].trace.calls] == [each["tool"] for each in entries]


def test_a_turn_that_waits_for_a_person_continues_after_what_others_did() -> None:
    store, clock = ListStore(), Clock()
    rules = [{"name": "ask", "rule": "G !pay", "severity": "ASK", "across": "labels.customer"}]
    shared = SharedRules(Procedure.from_dict({"constraints": rules, "order": "step"}), store=store)
    other = guard_of(shared, clock)

    def person(call: Call, violations: object) -> bool:
        return other.propose([Call("close")])[0].allowed

    guard = guard_of(shared, clock, ask=person)
    guard.say("assistant", "Let me see.")
    guard.propose([Call("lookup"), Call("pay"), Call("lookup")])
    (result,) = across_results([guard.finish().trace, other.finish().trace], shared.procedure)
    assert [call.tool for call in result.trace.calls] == ["lookup", "close", "pay", "lookup"]
    assert [call.step for call in result.trace.calls] == [0, 1, 2, 2]
    stored = [each["event"]["tool"] for each in store.stored]
    assert stored == ["lookup", "close", "pay", "lookup"]
    assert result.passed is False
    assert [each.passed for each in shared.standings({"customer": "c7"})] == [False]


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_a_replay_of_what_was_allowed_refuses_nothing(seed: int) -> None:
    """A gate decides on the traces of its own runs as it did then."""
    script, clock = Script(seed), Clock()
    script.turns = [(1.0, calls, [1] * len(calls)) for _, calls, _ in script.turns]
    shared = script.shared()
    sessions = Sessions(seed, shared, clock)
    script.play(iter(sessions), clock)
    traces = [guard.finish().trace for guard in sessions.all]
    found = Replayer(shared.procedure).replay_together(traces)
    assert [each.refused for each in found] == [()] * len(traces)
