"""Finished runs are deleted when they are old enough, and nothing that is needed goes with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from stores import KINDS, NewAddress, cluster, new_address

from bylaw import BylawError, Procedure
from bylaw.serve import retention
from bylaw.serve.resident import ResidentGate
from bylaw.serve.tickets import Principal
from bylaw.store.addresses import open_store

__all__ = ["cluster", "new_address"]

DESK = Principal("desk")
CUSTOMER = {"labels": {"customer": "c7"}}
PROCEDURE = Procedure.from_dict(
    {
        "name": "desk",
        "constraints": [
            {
                "name": "a-day",
                "rule": "G(refund -> sum(sofar(refund, 24 h).args.amount) <= 500)",
                "across": "labels.customer",
            },
            {
                "name": "ever",
                "rule": "G(refund -> length(sofar(refund)) <= 3)",
                "across": "labels.customer",
            },
        ],
    }
)
ALONE = Procedure.from_dict({"constraints": [{"name": "few", "rule": "CalledN(refund, <= 1)"}]})
HOUR = 3600.0


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(retention, "EVERY", 0.01)
    return Clock()


@pytest.fixture(params=KINDS)
def gates(
    request: pytest.FixtureRequest, clock: Clock, new_address: NewAddress
) -> Iterator[Callable[[Procedure], ResidentGate]]:
    """Gates at one store that keep finished runs for an hour."""
    store, made = open_store(new_address(request.param)), []

    def gate(procedure: Procedure) -> ResidentGate:
        made.append(ResidentGate(procedure, store, clock=clock, keep=HOUR))
        return made[-1]

    yield gate
    for each in made:
        each.close()


def refund(gate: ResidentGate, run: str, amount: int) -> str:
    given = {"calls": [{"tool": "refund", "arguments": {"amount": amount}}]}
    (decision,) = gate.perform(DESK, run, "propose", given)["decisions"]
    if decision["action"] == "allow":
        gate.perform(DESK, run, "record", {"decision": decision["id"], "result": "paid"})
    action: str = decision["action"]
    return action


def deleted(gate: ResidentGate, run: str) -> bool:
    """Is a run gone, a moment from now at the latest?"""
    for _ in range(100):
        if gate.store.row(run) is None:
            return True
        time.sleep(0.01)
    return False


def test_a_finished_run_is_deleted_and_an_unfinished_one_is_kept(
    gates: Callable[[Procedure], ResidentGate], clock: Clock
) -> None:
    gate = gates(ALONE)
    finished, unfinished = gate.open(DESK), gate.open(DESK)
    assert refund(gate, unfinished, 5) == "allow"
    gate.perform(DESK, finished, "finish", {})
    clock.now += HOUR - 1
    time.sleep(0.05)
    assert gate.perform(DESK, finished, "state")["finished"]
    clock.now += 2
    assert deleted(gate, finished)
    with pytest.raises(BylawError, match="E454"):
        gate.perform(DESK, finished, "state")
    assert refund(gate, unfinished, 5) == "block"
    assert "bylaw_deleted_runs_total 1" in gate.metrics.text({})


def test_a_replica_that_did_not_hear_of_the_end_does_not_bring_a_run_back(
    gates: Callable[[Procedure], ResidentGate], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bylaw.serve.worker.LEASE", -1.0)
    first, second = gates(ALONE), gates(ALONE)
    run = first.open(DESK, trusted="session")
    assert refund(first, run, 5) == "allow"
    second.perform(DESK, run, "finish", {})
    clock.now += HOUR + 1
    assert deleted(second, run)
    with pytest.raises(BylawError, match="E454"):  # it still has the run in memory
        refund(first, run, 5)
    assert first.store.read(f"run/{run}") == []
    assert first.open(DESK, trusted="session") == run
    assert refund(first, run, 5) == "allow"


def test_rules_across_runs_remember_the_runs_that_were_deleted(
    gates: Callable[[Procedure], ResidentGate], clock: Clock
) -> None:
    gate = gates(PROCEDURE)
    run = gate.open(DESK, CUSTOMER)
    assert refund(gate, run, 400) == "allow"
    gate.perform(DESK, run, "finish", {})
    clock.now += 2 * HOUR
    assert deleted(gate, run)
    again = gates(PROCEDURE)  # nothing in memory
    run = again.open(DESK, CUSTOMER)
    assert refund(again, run, 400) == "block"  # 24 hours are not over
    assert refund(again, run, 100) == "allow"
    clock.now += 24 * HOUR
    assert refund(again, run, 400) == "allow"
    clock.now += 24 * HOUR
    assert refund(again, run, 1) == "block"  # the fourth refund ever


def test_runs_cannot_be_kept_for_less_than_an_hour() -> None:
    with pytest.raises(BylawError, match="E414"):
        ResidentGate(ALONE, open_store("memory"), keep=60)
