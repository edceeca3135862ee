"""Rules across runs at a resident gate: sessions at any replicas are decided as one long run."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from sessions import Clock, Script
from stores import KINDS, NewAddress, cluster, new_address

from bylaw import BylawError, Call, Decision, Procedure, across_results
from bylaw.enforcement.wire import call_to_json, decision_of
from bylaw.serve import across_store
from bylaw.serve.resident import ResidentGate
from bylaw.serve.tickets import Principal
from bylaw.store.addresses import open_store
from bylaw.store.memory import MemoryStore
from bylaw.store.store import Append, GateStore
from bylaw.trace.trace import Trace

__all__ = ["cluster", "new_address"]

CASES = {"memory": int(os.environ.get("BYLAW_ACROSS_CASES", "20")), "sqlite": 3, "postgresql": 3}
DESK = Principal("desk")


class Replicas:
    """Replicas of a gate, each of which may be replaced at any moment, as if it had crashed."""

    def __init__(self, procedure: Procedure, store: GateStore, clock: Clock, rng: Random) -> None:
        self._made = procedure, store, clock
        self._rng = rng
        self.all: list[ResidentGate] = []
        self._serving = [self._new() for _ in range(3)]

    def _new(self) -> ResidentGate:
        procedure, store, clock = self._made
        options = {"soft_block_limit": 10**6}
        gate = ResidentGate(
            procedure, store, clock=clock, guard=options, unenforceable="score", workers=1
        )
        self.all.append(gate)
        return gate

    def any(self) -> ResidentGate:
        place = self._rng.randrange(3)
        if self._rng.random() < 0.05:
            self._serving[place] = self._new()
        return self._serving[place]


class Session:
    """A run at the replicas, used as a guard is."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self.run = replicas.any().open(DESK, {"labels": {"customer": "c7"}})

    def _perform(self, operation: str, **given: Any) -> dict[str, Any]:
        return self._replicas.any().perform(DESK, self.run, operation, given)

    def propose(self, calls: list[Call]) -> list[Decision]:
        answer = self._perform("propose", calls=[call_to_json(call) for call in calls])
        return [decision_of(each) for each in answer["decisions"]]

    def record(self, decision: Decision, result: Any, *, error: str | None = None) -> None:
        told = {"result": result} if error is None else {"error": error}
        self._perform("record", decision=decision.id, **told)

    def trace(self) -> Trace:
        self._perform("finish")
        return Trace.from_record(self._perform("trace")["trace"])


class Sessions:
    """Random sessions: some run at the same time, and new ones begin."""

    def __init__(self, replicas: Replicas, rng: Random) -> None:
        self._replicas, self._rng = replicas, rng
        self.all: list[Session] = []

    def __iter__(self) -> Iterator[Any]:
        while True:
            if not self.all or self._rng.random() < 0.2:
                self.all.append(Session(self._replicas))
            yield self._rng.choice(self.all[-4:])


ROWS = [(kind, seed) for kind in KINDS for seed in range(CASES[kind])]


@pytest.mark.parametrize(("kind", "seed"), ROWS)
def test_sessions_at_any_replicas_are_decided_as_one_long_run(
    kind: str, seed: int, new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(across_store, "SNAPSHOT_EVERY", 8)
    script, clock, rng = Script(seed), Clock(), Random(seed)
    expected, report = script.as_one_run()
    procedure, store = script.shared().procedure, open_store(new_address(kind))
    replicas = Replicas(procedure, store, clock, rng)
    try:
        sessions = Sessions(replicas, rng)
        assert script.play(iter(sessions), clock) == expected
        traces = [each.trace() for each in sessions.all]
        rng.shuffle(traces)
        found = {each.name: each.passed for each in across_results(traces, procedure)}
        assert found == {each.name: each.passed for each in report.constraints}
    finally:
        for gate in replicas.all:
            gate.close()


LIMIT = Procedure.from_dict(
    {
        "constraints": [
            {
                "name": "five-a-customer",
                "rule": "G(refund -> length(sofar(refund)) <= 5)",
                "across": "labels.customer",
            }
        ]
    }
)


def test_at_the_same_time_no_more_is_allowed_than_in_one_run() -> None:
    """Six threads, three replicas, a session for each request: five refunds, not six."""
    store = MemoryStore()
    gates = [ResidentGate(LIMIT, store) for _ in range(3)]
    allowed: list[str] = []

    def refund(number: int) -> None:
        for turn in range(3):
            gate = gates[(number + turn) % 3]
            run = gate.open(DESK, {"labels": {"customer": "c7"}})
            answer = gate.perform(DESK, run, "propose", {"calls": [{"tool": "refund"}]})
            allowed.extend(each["id"] for each in answer["decisions"] if each["action"] == "allow")

    threads = [threading.Thread(target=refund, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 5
    other = gates[0].open(DESK, {"labels": {"customer": "c8"}})
    answer = gates[0].perform(DESK, other, "propose", {"calls": [{"tool": "refund"}]})
    assert answer["decisions"][0]["action"] == "allow"
    for gate in gates:
        gate.close()


class SlowStore(MemoryStore):
    """A store whose commits take a while, so that requests wait; counts those of each."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def append(self, appends: Sequence[Append]) -> list[bool]:
        time.sleep(0.005)
        self.sizes.append(len(appends))
        return super().append(appends)


def test_requests_of_different_customers_share_a_transaction() -> None:
    """Each customer has two sessions and tries eight refunds in them at the same time."""
    store = SlowStore()
    gate = ResidentGate(LIMIT, store)
    allowed: Counter[str] = Counter()
    customers = [f"c{n}" for n in range(6)]
    runs = [(each, gate.open(DESK, {"labels": {"customer": each}})) for each in customers * 2]
    store.sizes.clear()

    def refund(customer: str, run: str) -> None:
        for _ in range(4):
            answer = gate.perform(DESK, run, "propose", {"calls": [{"tool": "refund"}]})
            allowed[customer] += answer["decisions"][0]["action"] == "allow"

    threads = [threading.Thread(target=refund, args=each) for each in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert allowed == dict.fromkeys(customers, 5)
    assert sum(store.sizes) == 48
    assert 2 <= max(store.sizes) <= len(customers)  # never two of one customer
    gate.close()


def test_a_call_that_two_labels_limit_is_counted_under_both() -> None:
    """Three refunds a customer and five a region, two customers in each, at two replicas."""
    limits = {"customer": 3, "region": 5}
    rules: list[Any] = [
        {
            "name": f"{limit}-a-{label}",
            "rule": f"G(refund -> length(sofar(refund)) <= {limit})",
            "across": f"labels.{label}",
        }
        for label, limit in limits.items()
    ]
    store = SlowStore()
    gates = [ResidentGate(Procedure.from_dict({"constraints": rules}), store) for _ in range(2)]
    allowed: Counter[str] = Counter()

    def refund(number: int) -> None:
        labels = {"customer": f"c{number % 4}", "region": f"r{number % 2}"}
        run = gates[number // 4].open(DESK, {"labels": labels})
        for turn in range(4):
            gate = gates[(number + turn) % 2]
            answer = gate.perform(DESK, run, "propose", {"calls": [{"tool": "refund"}]})
            if answer["decisions"][0]["action"] == "allow":
                allowed.update(labels.values())

    threads = [threading.Thread(target=refund, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for gate in gates:
        gate.close()
    assert (allowed["r0"], allowed["r1"]) == (5, 5)
    assert max(allowed[f"c{n}"] for n in range(4)) == 3
    assert max(store.sizes) <= 2  # one of each region


@pytest.mark.parametrize("labels", [{}, {"customer": None}, {"customer": ["c7"]}])
def test_a_run_without_the_label_is_not_opened(labels: Any) -> None:
    gate = ResidentGate(LIMIT, MemoryStore())
    with pytest.raises(BylawError, match="E422"):
        gate.open(DESK, {"labels": labels})
    gate.close()


def test_a_stream_that_was_changed_is_not_used() -> None:
    store = MemoryStore()
    gate = ResidentGate(LIMIT, store)
    run = gate.open(DESK, {"labels": {"customer": "c7"}})
    gate.perform(DESK, run, "propose", {"calls": [{"tool": "refund"}]})
    gate.close()
    (name,) = [each for each in store._streams if each.startswith("across/")]
    store._streams[name][0] = store._streams[name][0].replace("refund", "verify")
    again = ResidentGate(LIMIT, store)
    with pytest.raises(BylawError, match="E452"):
        again.perform(DESK, run, "propose", {"calls": [{"tool": "refund"}]})
    with pytest.raises(BylawError, match="E452"):
        again.open(DESK, {"labels": {"customer": "c7"}})
    again.close()
