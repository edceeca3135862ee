"""The joint test of rules of any form agrees with an exact search through the product."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from mixed_procedures import ExactProduct, events, random_rules

from bylaw import Call, Guard, Procedure, Trace, holds, parse
from bylaw.vocabulary.view import Order


def _guard(rules: list[str], order: Order = "position") -> Guard:
    constraints = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
    procedure = Procedure.from_dict({"order": order, "finish": "free", "constraints": constraints})
    return Guard(procedure, soft_block_limit=1_000)


def _check(random: Random, tools: str) -> Counter[str]:
    """Lets an agent make calls at random, and compares each decision with the exact search."""
    rules = random_rules(random, tools)
    order: Order = random.choice(["position", "step"])
    exact, guard = ExactProduct(rules, order, tools), _guard(rules, order)
    seen: Counter[str] = Counter()
    calls = [call for call in events(tools)[:-1] if call.tool != "zzz"]
    executed: list[Call] = []
    if exact.continuation(exact.states) is None:
        return Counter(["impossible"])
    for turn in range(5):
        proposed = [random.choice(calls) for _ in range(1 if random.random() < 0.7 else 2)]
        first = True
        for call, decision in zip(proposed, guard.propose(proposed), strict=True):
            states = exact.after(call, first)
            way = exact.continuation(states)
            told = f"{rules} by {order}, after {executed}: {call} {decision.violations}"
            if decision.allowed:
                executed.append(Call(call.tool, call.args, step=turn))
                exact.states, first = states, False
                seen["allowed"] += 1
                seen["decided"] += decision.decided
                assert way is not None or not decision.decided, told
                if way is None:
                    return seen
                _confirm(rules, order, executed, way)
            else:
                assert way is None, told
                kinds = {violation.kind for violation in decision.violations}
                seen["refused together" if "joint" in kinds else "refused"] += 1
    return seen


def _confirm(
    rules: list[str], order: Order, executed: list[Call], way: list[tuple[Call, bool]]
) -> None:
    """By the reference, the continuation satisfies the rules."""
    step = executed[-1].step or 0
    more: list[Call] = []
    for i, (call, new_step) in enumerate(way):
        step += new_step or i == 0
        more.append(Call(call.tool, call.args, step=step))
    trace = Trace([*executed, *more])
    for rule in rules:
        assert holds(parse(rule), trace, order=order), (rule, trace)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_an_exact_search(seed: int) -> None:
    random, seen = Random(seed), Counter[str]()
    for _ in range(25):
        seen += _check(random, random.choice(["abc", "abcd"]))
    assert seen["refused together"] >= 1, seen
    assert seen["decided"] == seen["allowed"], seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_agrees_with_an_exact_search_on_thousands_of_procedures(seed: int) -> None:
    random, seen = Random(seed), Counter[str]()
    for _ in range(100):
        seen += _check(random, random.choice(["ab", "abc", "abcd"]))
    assert seen["refused together"] >= 5, seen
    assert seen["decided"] >= 0.99 * seen["allowed"], seen
