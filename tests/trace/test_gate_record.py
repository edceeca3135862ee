"""The record of a run: it can be saved, resumed and rewound at any point."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from bylaw import Call, Message
from bylaw.saved import Damaged
from bylaw.trace.gate_record import GateRecord
from bylaw.trace.refusal import Refusal


class _Deeds:
    """Random deeds of one run, the same on every record."""

    def __init__(self, random: Random, record: GateRecord) -> None:
        self.random, self.record = random, record
        self.turn = 0
        self.waiting: list[tuple[tuple[int, int], Call]] = []

    def next(self) -> None:
        self.turn += 1
        number = self.random.random()
        if number < 0.2:
            self.record.hear(Message("user", f"{self.turn}", self.turn))
        elif number < 0.3:
            self.record.withdraw()
        elif number < 0.4:
            answer = Call("final_answer", {"answer": f"{self.turn}"})
            self.record.allow((self.turn, 0), answer, self.turn)
        elif number < 0.6 and self.waiting:
            key, call = self.waiting.pop(self.random.randrange(len(self.waiting)))
            self.record.settle(key, Call(call.tool, call.args, result=self.turn))
        else:
            self.propose()

    def propose(self) -> None:
        for index in range(self.random.randint(1, 3)):
            call = Call("a", {"turn": self.turn, "index": index})
            if self.random.random() < 0.4:
                self.record.refuse(Refusal(call, "block", "a: Not executed.", "r.0.0"))
            else:
                self.record.allow((self.turn, index), call, self.turn)
                self.waiting.append(((self.turn, index), call))


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(st.integers(0, 10**9))
@cases(200)
def test_a_record_is_rewound_to_any_mark(seed: int) -> None:
    random = Random(seed)
    record = GateRecord({"seed": 1}, {"tier": "gold"})
    deeds = _Deeds(random, record)
    for _ in range(random.randint(0, 8)):
        deeds.next()
    mark, before = _json(record.mark()), record.trace()
    for _ in range(random.randint(0, 8)):
        deeds.next()
    record.finish("The end.", {"tokens": 5}, 1700000000.0)
    record.rewind(mark)
    assert record.trace() == before
    assert record.mark() == mark


@given(st.integers(0, 10**9))
@cases(200)
def test_a_restored_record_continues_as_if_nothing_had_happened(seed: int) -> None:
    random = Random(seed)
    limit = random.choice((0, 3, 6, float("inf")))
    record = GateRecord(limit=limit)
    deeds = _Deeds(random, record)
    for _ in range(random.randint(0, 8)):
        deeds.next()
    restored = GateRecord(limit=limit)
    restored.restore(_json(record.save()))
    assert restored.save() == record.save()
    state, waiting, turn = random.getstate(), list(deeds.waiting), deeds.turn
    for each in (record, restored):
        random.setstate(state)
        deeds.record, deeds.waiting, deeds.turn = each, list(waiting), turn
        for _ in range(5):
            deeds.next()
    assert restored.trace() == record.trace()
    assert restored.save() == record.save()


def test_calls_that_nobody_learned_of_are_removed() -> None:
    record = GateRecord()
    calls = [Call("a", {"i": i}) for i in range(5)]
    for index in (0, 1, 2):
        record.allow((0, index), calls[index], 0)
    record.refuse(Refusal(calls[3], "block", "", "r.0.3"))
    record.allow((1, 0), calls[4], 1)
    record.settle((0, 0), calls[0])
    record.forget([(0, 1), (0, 2), (7, 7)])
    record.settle((1, 0), Call("a", {"i": 4}, result="x"))
    trace = record.trace()
    assert trace is not None
    assert [(call.args["i"], call.step) for call in trace.calls] == [(0, 0), (4, 1)]
    assert [refusal.events_before for refusal in trace.refusals] == [1]


def _saved() -> Any:
    record = GateRecord()
    record.hear(Message("user", "Go.", 0))
    record.allow((1, 0), Call("a"), 1)
    return _json(record.save())


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("events", 3, "events are missing"),
        ("refusals", 1, "events are missing"),
        ("outstanding", [[1, 0, 2, 1]], "a call is outstanding that was not made"),
        ("outstanding", [[1, 0, 0, 1]], "what is outstanding is the result of a call"),
        ("outstanding", [[1, 0]], "expected a list of 4"),
        ("answer", 5, "expected a text"),
    ],
)
def test_a_damaged_record_is_not_restored(field: str, value: Any, problem: str) -> None:
    saved = _saved()
    saved["mark"][field] = value
    with pytest.raises(Damaged, match=problem):
        GateRecord().restore(saved)
