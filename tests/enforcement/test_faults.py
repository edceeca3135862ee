"""No failure allows a forbidden call or loses an acknowledged entry."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gate_notation import said

from bylaw import AuditLog, BylawError, Call, Guard, Procedure, Vocabulary
from bylaw.audit.check import check
from bylaw.audit.reader import read_log


def _procedure(vocabulary: Vocabulary | None = None, **rules: str) -> Procedure:
    constraints = []
    for name, text in rules.items():
        severity, _, rule = text.partition(": ")
        constraints.append({"name": name, "rule": rule, "severity": severity})
    return Procedure.from_dict({"constraints": constraints}, vocabulary=vocabulary or Vocabulary())


# ── concurrency ───────────────────────────────────────────────────────────────────────────

SHARED = _procedure(
    few="SOFT_BLOCK: CalledN(pay, <= 12)",
    not_after="BLOCK_AND_WARN: G(pay -> !O freeze) | CalledN(get, <= 30)",
    paired="SOFT_BLOCK: G(ship -> O pay)",
)


def _turns(seed: int, number: int) -> list[list[Call]]:
    random = Random(seed)
    tools = ["pay", "get", "ship", "freeze", "other"]
    return [
        [
            Call(random.choice(tools), {"n": random.randrange(3)})
            for _ in range(random.randrange(1, 4))
        ]
        for _ in range(number)
    ]


def _serial(path: Path) -> list[tuple[Any, ...]]:
    """The decisions on the same turns, proposed one after the other in the order of the log."""
    turns: dict[int, list[Call]] = {}
    for entry in read_log(path):
        if entry.kind == "decision":
            call = Call(entry.content["tool"], entry.content["arguments"])
            turns.setdefault(entry.content["turn"], []).append(call)
    guard = Guard(SHARED, soft_block_limit=10_000)
    found = []
    for turn, calls in turns.items():
        while guard.turn < turn:
            guard.propose([])
        for decision in guard.propose(calls):
            found.append((decision.turn, decision.index, said(decision)))
            if decision.allowed:
                guard.record(decision, "done")
    return found


def test_decisions_of_ten_threads_are_serializable(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path, durable=False) as log:
        guard = Guard(SHARED, soft_block_limit=10_000, log=log)
        found: list[tuple[Any, ...]] = []

        def work(seed: int) -> None:
            for calls in _turns(seed, 20):
                for decision in guard.propose(calls):
                    found.append((decision.turn, decision.index, said(decision)))
                    if decision.allowed:
                        guard.record(decision, "done")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {turn for turn, _, _ in found} == set(range(200))
    assert sorted(found) == _serial(path)
    assert check(path).problem is None


def test_decisions_of_a_hundred_tasks_are_serializable(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    async def main(guard: Guard) -> list[tuple[Any, ...]]:
        async def work(seed: int) -> list[tuple[Any, ...]]:
            found = []
            for calls in _turns(seed, 3):
                await asyncio.sleep(0)
                for decision in await guard.propose_async(calls):
                    found.append((decision.turn, decision.index, said(decision)))
                    if decision.allowed:
                        guard.record(decision, "done")
            return found

        found = await asyncio.gather(*map(work, range(100)))
        return [each for part in found for each in part]

    with AuditLog(path, durable=False) as log:
        found = asyncio.run(main(Guard(SHARED, soft_block_limit=10_000, log=log)))
    assert {turn for turn, _, _ in found} == set(range(300))
    assert sorted(found) == _serial(path)


def test_guards_may_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with AuditLog(path, durable=False) as log:

        def work() -> None:
            guard = Guard(SHARED, log=log)
            for calls in _turns(1, 30):
                guard.propose(calls)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = check(path)
    assert (found.problem, found.torn) == (None, 0)
    decisions = 8 * sum(map(len, _turns(1, 30)))
    assert found.entries == 1 + 8 + decisions + 1, "opened, eight runs started, closed"


# ── functions of users that raise ──────────────────────────────────────────────────────────


def _failing() -> Vocabulary:
    words = Vocabulary()

    @words.predicate
    def careful(trace: Any, at: int, metrics: Any) -> bool:
        return bool(trace.calls[at].args["amount"] < 10)

    @words.extractor
    def amounts(trace: Any, metrics: Any) -> list[Any]:
        return [call.args["amount"] for call in trace.calls]

    return words


@pytest.mark.parametrize("rule", ["G(pay -> careful())", "forall a in amounts(): a < 10"])
def test_a_predicate_that_raises_refuses(rule: str) -> None:
    guard = Guard(_procedure(_failing(), small=f"SOFT_BLOCK: {rule}"), unenforceable="score")
    (decision,) = guard.propose([Call("pay", {"amount": 5})])
    assert decision.allowed
    (decision,) = guard.propose([Call("pay", {"sum": 5})])
    assert said(decision) == "block:small"
    assert decision.violations[0].kind == "error"
    assert "Rule small: it could not be decided" in decision.message
    assert "raised KeyError: 'amount'" in decision.message
    (decision,) = guard.propose([Call("pay", {"amount": 6})])
    assert decision.allowed, "the refused call has no effect"
    assert guard.finish().label == "FULL"


def test_a_rule_that_cannot_be_decided_has_no_score() -> None:
    guard = Guard(_procedure(_failing(), small="TOLERATE: G(pay -> careful())"))
    assert guard.propose([Call("pay")])[0].allowed
    report = guard.finish()
    assert (report.score, report.label) == (None, None)
    assert report.reason == "could not be decided: small"
    assert report.constraints[0].passed is None


def test_a_comparator_that_raises_on_a_result_loses_the_rule_and_enforces_it_further() -> None:
    words = Vocabulary()

    @words.comparator
    def compare(actual: Any, expected: Any) -> bool:
        return bool(actual["id"] == expected["id"])

    rule = 'SOFT_BLOCK: (CalledWithResult(get, {"id": 1}) | CalledN(get, <= 5)) & G !erase'
    guard = Guard(
        _procedure(words, found=rule, other="SOFT_BLOCK: G !call(get, failed)"),
        unenforceable="score",
    )
    (decision,) = guard.propose([Call("get")])
    guard.record(decision, "no object at all")
    assert [(event.action, event.constraint) for event in guard.events] == [("lost", "found")]
    got, erased = guard.propose([Call("get"), Call("erase")])
    assert got.allowed
    assert said(erased) == "block:found"
    assert guard.finish().score is None


def test_a_saved_run_of_another_procedure_is_not_restored() -> None:
    saved = Guard(_procedure(one="SOFT_BLOCK: G !a")).save()
    for other in ("SOFT_BLOCK: G !b", "HARD_STOP: G !a"):
        with pytest.raises(BylawError, match="of another procedure"):
            Guard(_procedure(one=other)).restore(saved)
    with pytest.raises(BylawError, match="of another procedure"):
        Guard(_procedure(one="SOFT_BLOCK: G !a"), setting="baseline").restore(saved)
