"""A tool runs with what was judged: registered functions see it, and cannot change it."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from one_rule import procedure as _procedure
from one_rule import small_payments as _guard

from bylaw import BylawError, Call, ConstraintViolationError, Guard, Procedure, Vocabulary

MUTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "an argument": lambda trace, _: trace[-1].args.update(amount=1),
    "an item": lambda trace, _: trace[-1].args.__setitem__("amount", 1),
    "a part": lambda trace, _: trace[-1].args["parts"].append(1),
    "an order": lambda trace, _: trace[-1].args["parts"].sort(),
    "an operator": lambda trace, _: trace[-1].args.__ior__({"amount": 1}),
    "an argument taken away": lambda trace, _: trace[-1].args.pop("amount"),
    "all arguments": lambda trace, _: setattr(trace[-1], "args", {"amount": 1}),
    "a result": lambda trace, _: trace[0].result.update(limit=1000),
    "a result as a value": lambda trace, _: trace[0].value.clear(),
    "the events": lambda trace, _: setattr(trace, "events", ()),
    "the calls": lambda trace, _: setattr(trace, "calls", ()),
    "the metrics": lambda _, metrics: metrics.update(limit=1000),
    "the labels": lambda trace, _: trace.labels.update(limit=1000),
}


@pytest.mark.parametrize("kind", ["predicate", "extractor"])
@pytest.mark.parametrize("what", MUTATIONS)
def test_a_function_cannot_change(what: str, kind: str) -> None:
    vocabulary = Vocabulary()
    tried: list[Exception] = []

    def mutate(trace: Any, metrics: Any) -> None:
        if len(trace) == 2:
            try:
                MUTATIONS[what](trace, metrics)
            except Exception as error:
                tried.append(error)

    if kind == "predicate":

        @vocabulary.predicate(false_is_final=True)
        def sly(trace: Any, at: int, metrics: Any) -> bool:
            mutate(trace, metrics)
            return True

        rule = "G(pay -> sly())"
    else:

        @vocabulary.extractor
        def slyly(trace: Any, metrics: Any) -> list[Any]:
            mutate(trace, metrics)
            return []

        rule = "forall x in slyly(): x = 1"
    first = {"name": "sly", "rule": rule, "severity": "TOLERATE"}
    small = {"name": "small", "rule": "G(pay -> args.amount <= last(lookup).result.limit)"}
    sure = {"name": "sure", "rule": "G(pay -> args.amount <= labels.limit)"}
    stated = {"finish": "free", "constraints": [first, small, sure]}
    guard = Guard(Procedure.from_dict(stated, vocabulary=vocabulary), labels={"limit": 10})
    received: list[Any] = []

    def pay(amount: int, parts: list[int]) -> None:
        received.append((amount, parts))

    tools = guard.wrap({"lookup": lambda: {"limit": 10}, "pay": pay})
    tools["lookup"]()
    with pytest.raises(ConstraintViolationError):
        tools["pay"](500, [3, 2])
    tools["pay"](5, [3, 2])
    assert received == [(5, [3, 2])]
    assert tried
    assert all(isinstance(error, (TypeError, AttributeError)) for error in tried)


def test_a_comparator_cannot_change_a_result_or_a_rule() -> None:
    vocabulary = Vocabulary()
    tried: list[str] = []

    @vocabulary.comparator
    def compare(actual: Any, expected: Any) -> bool:
        for value in (actual, expected):
            try:
                value["ok"] = True
            except TypeError as error:
                tried.append(str(error))
        return bool(actual == expected)

    rule = 'G(pay -> O call(check)) & (CalledN(pay, = 0) | CalledWithResult(check, {"ok": true}))'
    guard = Guard(_procedure(rule, "TOLERATE", vocabulary=vocabulary))
    (checked,) = guard.propose([Call("check")])
    result = {"ok": False}
    guard.record(checked, result)
    guard.propose([Call("pay")])
    assert result == {"ok": False}
    assert guard.finish().score == 0.0
    assert tried


def test_what_a_function_gets_can_be_copied() -> None:
    (decision,) = _guard("G !other").propose([Call("pay", {"a": [1, {"b": 2}]})])
    given: Any = decision.call.read_only.args
    copies: tuple[Any, ...] = (
        copy.copy(given),
        copy.deepcopy(given),
        pickle.loads(pickle.dumps(given)),
    )
    for each in (*copies, json.loads(json.dumps(given)), given | {}, dict(given)):
        each["a"] = 0
    assert given == {"a": [1, {"b": 2}]}
    assert sorted(given["a"], key=str)
    assert isinstance(given, Mapping)


def test_a_vocabulary_cannot_use_the_guard_that_calls_it() -> None:
    vocabulary = Vocabulary()
    inside: list[Any] = []

    @vocabulary.predicate(false_is_final=True)
    def sly(trace: Any, at: int, metrics: Any) -> bool:
        inside.extend(guard.propose([Call("pay")]))
        with pytest.raises(BylawError):
            guard.say("user", "yes")
        with pytest.raises(BylawError):
            guard.record(inside[0], 1)
        return True

    guard = Guard(_procedure("G(pay -> sly())", vocabulary=vocabulary))
    (decision,) = guard.propose([Call("pay")])
    assert decision.allowed
    assert {each.action for each in inside} == {"stop"}
    assert guard.turn == 1
    guard.record(decision, "done")
    assert guard.finish().score == 1.0
