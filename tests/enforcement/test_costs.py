"""The work of a decision does not grow with the run, and a result costs as much as it is large."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from work import work_of

from bylaw import Call, Guard, Procedure

RULES = {
    "in the results": 'forall x in results(list, "ids[]"): '
    "G(call(open, id = x) -> O call(check, id = x))",
    "in the arguments": 'forall x in args(list, "ids[]"): '
    "G(call(open, id = x) -> O call(check, id = x))",
    "negated": 'exists x in results(list, "ids[]"): CalledWith(open, id = x)',
}


def _guard(rule: str) -> Guard:
    rules = [{"name": "rule", "rule": rule, "severity": "SOFT_BLOCK"}]
    return Guard(
        Procedure.from_dict({"constraints": rules}), soft_block_limit=10_000, unenforceable="score"
    )


def _listed(guard: Guard, size: int) -> None:
    ids: list[object] = [f"id-{number}" for number in range(size)]
    (decision,) = guard.propose([Call("list", {"ids": ids})])
    guard.record(decision, {"ids": ids})


def _one_call(guard: Guard, tool: str, number: int) -> None:
    (decision,) = guard.propose([Call(tool, {"id": f"id-{number}"})])
    if decision.allowed:
        guard.record(decision, "done")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_call_costs_the_same_however_many_values_were_seen(rule: str) -> None:
    work = []
    for size in (10, 2_000):
        guard = _guard(rule)
        _listed(guard, size)
        for number in range(5):  # until the machine's tables are filled
            _one_call(guard, "check", number)
            _one_call(guard, "open", number)
            _one_call(guard, "open", number + 5)  # refused by the first two
        calls = [partial(_one_call, guard, tool, 6) for tool in ("check", "open")]
        work.append([work_of(call) for call in calls])
    few, many = work
    assert few == many


def _growth(action: Callable[[int], Callable[[], object]], size: int) -> float:
    """The factor by which work grows when the size grows a hundredfold."""
    return work_of(action(100 * size)) / work_of(action(size))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_result_costs_as_much_as_it_is_large(rule: str) -> None:
    assert _growth(lambda size: lambda: _listed(_guard(rule), size), 50) < 120


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_saving_and_restoring_cost_as_much_as_was_seen(rule: str) -> None:
    def saved(size: int) -> Callable[[], object]:
        guard = _guard(rule)
        _listed(guard, size)
        return lambda: _guard(rule).restore(guard.save())

    assert _growth(saved, 50) < 120


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_decision_costs_at_most_as_much_as_was_listed_since_a_result_is_outstanding(
    rule: str,
) -> None:
    def decided(size: int) -> Callable[[], object]:
        guard = _guard(rule)
        guard.propose([Call("list", {"ids": []})])  # its result never arrives
        for first in range(0, size, 10):
            ids: list[object] = [f"id-{number}" for number in range(first, first + 10)]
            (decision,) = guard.propose([Call("list", {"ids": ids})])
            guard.record(decision, {"ids": ids})
        return lambda: guard.propose([Call("check", {"id": "id-7"})])

    assert work_of(decided(400)) / work_of(decided(40)) < 12


def test_an_event_with_many_values_is_saved_once() -> None:
    rule = "G(open -> let i = args.id: earlier (list & i in result.ids))"

    def saved(size: int) -> Callable[[], object]:
        guard = _guard(rule)
        _listed(guard, size)
        return guard.save

    assert _growth(saved, 50) < 120
