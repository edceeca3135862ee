"""The joint test of rules of any form agrees with an exact search through the product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import product
from random import Random

import pytest
from mixed_procedures import OUTCOME_FORMS, ExactProduct, events, outcomes, random_rules

from bylaw import Call, Guard, Procedure, Trace, holds, parse
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.joint import refinement
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.verdict import Verdict
from bylaw.vocabulary.view import Order


def _guard(rules: list[str], order: Order = "position") -> Guard:
    constraints = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
    procedure = Procedure.from_dict({"order": order, "finish": "free", "constraints": constraints})
    return Guard(procedure, soft_block_limit=1_000)


def _check(random: Random, tools: str) -> Counter[str]:
    """Lets an agent make calls at random, and compares each decision with the exact search."""
    rules = random_rules(random, tools)
    order: Order = random.choice(["position", "step"])
    exact = ExactProduct([Machine(parse(rule), order) for rule in rules], order, tools)
    guard = _guard(rules, order)
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


# ── outcomes of outstanding calls ─────────────────────────────────────────────────────────


def _check_outcomes(random: Random) -> Counter[str]:
    """The same, with results that arrive late, in any order or never."""
    tools = "abc"
    rules = random_rules(random, tools, OUTCOME_FORMS)
    explorers = [Explorer(Machine(parse(rule))) for rule in rules]
    guard, seen = _guard(rules), Counter[str]()
    executed: list[Call] = []
    waiting: dict[int, Decision] = {}
    for _ in range(4):
        (decision,) = guard.propose([Call(random.choice(tools))])
        told = f"{rules} after {executed}: {decision.call.tool} {decision.violations}"
        question = explorers, executed, decision.call.tool, waiting
        if not decision.allowed:
            assert _hopeless(*question, newly=False), told
            seen["refused"] += 1
            continue
        seen["allowed"] += 1
        seen["decided"] += decision.decided
        assert not decision.decided or not _hopeless(*question, newly=True), told
        waiting[len(executed)] = decision
        executed.append(Call(decision.call.tool))
        for at in [at for at in waiting if random.random() < 0.5]:
            result, error = random.choice([("done", None), (None, "failed")])
            guard.record(waiting.pop(at), result, error=error)
            executed[at] = Call(executed[at].tool, result=result, error=error)
        if any(event.action == "lost" for event in guard.events):
            break
    return seen


def _hopeless(
    explorers: list[Explorer],
    executed: list[Call],
    tool: str,
    waiting: Collection[int],
    *,
    newly: bool,
) -> bool:
    """Is there an outcome of the others for which none of its own leaves a continuation?

    With `newly`, outcomes that leave none before the call do not count.
    """
    choices = {
        name: [call for call in outcomes("abc") if call.tool == name] for name in ("a", "b", "c")
    }
    ways = [choices[c.tool] if at in waiting else [c] for at, c in enumerate(executed)]
    return any(_stuck(explorers, assumed, choices[tool], newly) for assumed in product(*ways))


def _stuck(explorers: list[Explorer], calls: Sequence[Call], own: list[Call], newly: bool) -> bool:
    """Have the rules that are alive after these calls no continuation after any of its own?"""
    alive, states = [], []
    for explorer in explorers:
        machine, state = explorer.machine, explorer.machine.start
        for call in calls:
            state = machine.advance(state, (machine.alphabet.letter(call), True, False))
        if explorer.verdict(state) is not Verdict.VIOLATED:
            alive.append(machine)
            states.append(state)
    exact = ExactProduct(alive, "position", "abc")
    exact.states = tuple(states)
    if newly and exact.continuation(exact.states) is None:
        return False
    return all(exact.continuation(exact.after(call, True)) is None for call in own)


@pytest.mark.parametrize("seed", range(4))
def test_for_all_outcomes_of_others_there_is_one_of_its_own(seed: int) -> None:
    random, seen = Random(seed), Counter[str]()
    for _ in range(30):
        seen += _check_outcomes(random)
    assert seen["refused"] >= 5, seen
    assert seen["decided"] >= 0.8 * seen["allowed"], seen


# ── the budget ────────────────────────────────────────────────────────────────────────────

DEAD_END = ["!c W a", "G(b -> X c)"]


def test_a_search_that_runs_out_of_moves_refuses_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refinement, "MAX_MOVES", 5)
    monkeypatch.setattr(refinement, "MIN_MOVES", 5)
    guard = _guard(DEAD_END)
    (decision,) = guard.propose([Call("b")])
    assert (decision.allowed, decision.decided) == (True, False)
    assert not guard.finish().fully_decided


def test_with_enough_moves_the_same_call_is_refused() -> None:
    guard = _guard(DEAD_END)
    (decision,) = guard.propose([Call("b")])
    assert not decision.allowed
    assert guard.finish().fully_decided


def test_a_saved_run_remembers_that_it_was_not_fully_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refinement, "MAX_MOVES", 5)
    monkeypatch.setattr(refinement, "MIN_MOVES", 5)
    guard = _guard(DEAD_END)
    guard.propose([Call("b")])
    resumed = _guard(DEAD_END)
    resumed.restore(guard.save())
    assert not resumed.finish().fully_decided


def test_components_that_were_searched_in_vain_get_fewer_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refinement, "MAX_MOVES", 20)
    monkeypatch.setattr(refinement, "MIN_MOVES", 5)
    guard = _guard(DEAD_END)
    test = guard._run.judge._joint._machines
    before = test._budget_of({0}).left
    guard.propose([Call("b")])
    test.refill()
    assert test.failures == {0: 1}
    assert test._budget_of({0}).left == before // 2
    resumed = _guard(DEAD_END)
    resumed.restore(guard.save())
    assert resumed._run.judge._joint._machines.failures == {0: 1}
    test.failures[0] = 50
    test.refill()
    assert test._budget_of({0}).left == 5
