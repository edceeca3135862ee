"""A guard copies arguments and results: tools may change their values afterwards."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from bylaw import BylawError, Call, Guard, Procedure

PAID = {"name": "paid", "rule": "G(refund -> args.amount <= last(lookup).result.paid)"}


def _guard() -> Guard:
    return Guard(Procedure.from_dict({"constraints": [PAID]}))


def test_a_result_that_changes_later_changes_no_decision() -> None:
    orders = {7: {"paid": 20}}

    def lookup(order: int) -> dict[str, int]:
        return orders[order]

    def verify() -> str:
        orders[7]["paid"] = 1000
        return "ok"

    guard = _guard()
    tools = guard.wrap({"lookup": lookup, "verify": verify, "refund": lambda amount: amount})
    tools["lookup"](7)
    tools["verify"]()
    with pytest.raises(BylawError, match="paid"):
        tools["refund"](amount=500)
    assert tools["refund"](amount=20) == 20


def test_arguments_that_change_later_are_recorded_unchanged() -> None:
    items: Any = ["a", {"b": [1]}]
    guard = _guard()
    (decision,) = guard.propose([Call("refund", {"amount": 5, "items": items})])
    items[1]["b"].clear()
    items.clear()
    assert decision.call.args == {"amount": 5, "items": ["a", {"b": [1]}]}
    (event,) = guard.events
    assert event.to_dict()["arguments"] == {"amount": 5, "items": ["a", {"b": [1]}]}


def test_a_result_that_is_not_json_is_refused() -> None:
    guard = _guard()
    (decision,) = guard.propose([Call("lookup")])
    with pytest.raises(BylawError, match="the result of 'lookup' is not JSON: date"):
        guard.record(decision, {"paid": date(2024, 5, 20)})
    guard.record(decision, {"paid": 20})
    json.dumps(guard.save())
