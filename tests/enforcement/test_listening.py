"""A guard's listener learns everything, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from bylaw import Call, Decision, Guard, GuardReport, Procedure

RULE = {"name": "verify-first", "rule": "G(refund -> O verify)"}
DESK = Procedure.from_dict({"name": "desk", "constraints": [RULE]})


def _agent(guard: Guard) -> None:
    for calls in (["refund"], ["verify", "refund"]):
        for decision in guard.propose([Call(tool) for tool in calls]):
            if decision.allowed:
                guard.record(decision, "done")


class _Failing:
    def decided(self, guard: Guard, decisions: Sequence[Decision]) -> None:
        raise RuntimeError("no collector")

    def finished(self, guard: Guard, report: GuardReport) -> None:
        raise RuntimeError("no collector")


def test_a_listener_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    guard, plain = Guard(DESK, listener=_Failing()), Guard(DESK)
    with caplog.at_level(logging.ERROR, "bylaw"):
        for each in (guard, plain):
            _agent(each)
    assert guard.finish().to_dict()["constraints"] == plain.finish().to_dict()["constraints"]
    assert [len(each.events) for each in (guard, plain)] == [1, 1]
    assert caplog.messages == ["a listener of a guard failed"] * 3


def test_every_way_to_propose_is_reported() -> None:
    seen: list[str] = []

    class Counting:
        def decided(self, guard: Guard, decisions: Sequence[Decision]) -> None:
            seen.extend(each.call.tool for each in decisions)

        def finished(self, guard: Guard, report: GuardReport) -> None:
            seen.append("finished")

    async def agent(guard: Guard) -> None:
        await guard.propose_async([Call("a")])
        async for _ in guard.rounds_async([Call("b")]):
            pass

    guard = Guard(DESK, listener=Counting())
    guard.propose([Call("c")])
    list(guard.rounds([Call("d")]))
    guard.run_turn({"e": lambda: 1}, [Call("e")])
    asyncio.run(agent(guard))
    guard.finish()
    assert seen == ["c", "d", "e", "a", "b", "finished"]
