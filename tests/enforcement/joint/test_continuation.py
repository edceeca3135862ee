"""The joint test agrees with an exact search through the product of the rules."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from random_cases import share

from bylaw import Call, Monitor, Procedure, Trace, Verdict, parse
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.logic import formula as f
from bylaw.vocabulary.predicates import PREDICATES

TOOLS = "abc"


def _rule(random: Random, *, in_order: bool) -> str:
    """A rule with a joint form."""
    tool, other = random.choice(TOOLS), random.choice(TOOLS)
    comparison = random.choice(["=", "<=", ">=", "<", ">", "!="])
    shapes = [
        f"Called({tool})",
        f"CalledN({tool}, {comparison} {random.randint(1, 3)})",
        f"CalledN({tool}, = {random.randint(0, 2)})",
        f"CalledWith({tool}, {random.choice('xy')} = {random.randint(0, 1)})",
        f"CalledExactly({tool}, x = {random.randint(0, 1)})",
        f"InstanceBefore({tool}, {random.randint(0, 1)}, {other}, {random.randint(0, 1)})",
        f"BranchCalled({tool}, {other})",
    ]
    if in_order:
        elements = [random.choice(TOOLS) for _ in range(random.randint(2, 4))]
        shapes.append(f"InOrder({', '.join(elements)})")
    return random.choice(shapes)


def _rules(random: Random, sequences: int) -> list[str]:
    """Two to five rules, of which at most `sequences` are sequences."""
    rules: list[str] = []
    for _ in range(random.randint(2, 5)):
        room = sum(rule.startswith("InOrder") for rule in rules) < sequences
        rules.append(_rule(random, in_order=room))
    return rules


def _call(random: Random, step: int) -> Call:
    arguments = {key: random.randint(0, 1) for key in "xy" if random.random() < 0.6}
    return Call(random.choice(TOOLS), arguments, step=step)


def _dead_end(formulas: list[f.Formula], calls: list[Call], order: Any) -> bool | None:
    """Is there no common continuation, by the machine of the conjunction?"""
    monitor = Monitor(f.And(tuple(formulas)), order=order)
    for call in calls:
        monitor.step(call)
    monitor.end_step()
    lost = monitor.verdict is Verdict.VIOLATED
    return lost if monitor.exact else None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sequences", [1, 3])
def test_never_wrong_and_complete_with_one_sequence(seed: int, sequences: int) -> None:
    random = Random(f"{seed} {sequences}")
    seen = {True: 0, False: 0}
    for _ in range(share(150)):
        formulas = [parse(rule) for rule in _rules(random, sequences)]
        order: Any = random.choice(["position", "step"])
        joint, calls, step = JointTest(JointRules(formulas, order)), [], 0
        for _ in range(random.randint(0, 3)):
            calls.append(_call(random, step))
            joint.advance(calls[-1], step)
            step += random.random() < 0.7
        expected = _dead_end(formulas, calls, order)
        if expected is None:
            continue
        possible = joint.possible(range(len(formulas)))
        seen[expected] += 1
        if not possible:
            assert expected, (formulas, calls)
        if joint.certain:
            assert possible is not expected, (formulas, calls)
    assert min(seen.values()) > share(150) // 8


def test_two_sequences_are_not_fully_decided() -> None:
    one, two = parse("InOrder(a, b, c)"), parse("InOrder(c, b, a)")
    joint = JointTest(JointRules([one, two], "step"))
    assert joint.possible([0, 1])
    assert not joint.certain


@pytest.mark.parametrize("seed", range(6))
def test_the_gate_never_leads_an_agent_into_a_dead_end(seed: int) -> None:
    """Unless a rule is overridden, the rules can be satisfied and some call is allowed."""
    random = Random(seed)
    for _ in range(40):
        rules = _rules(random, 1)
        formulas = [parse(rule) for rule in rules]
        if _dead_end(formulas, [], "step") is not False:
            continue
        constraints = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
        procedure = Procedure.from_dict(
            {"order": "step", "finish": "met", "constraints": constraints}
        )
        guard = Guard(procedure, "block-and-warn")
        executed: list[Call] = []
        for turn in range(6):
            (decision,) = guard.propose([_call(random, turn)])
            if decision.allowed and not decision.overridden:
                executed.append(decision.call)
            elif decision.allowed:
                break  # the agent insisted by chance, so nothing is promised
        else:
            assert _dead_end(formulas, executed, "step") is False, (rules, executed)
            assert _some_call_is_allowed(guard, procedure, executed), (rules, executed)


def _some_call_is_allowed(guard: Guard, procedure: Procedure, executed: list[Call]) -> bool:
    """Would some call be allowed now? Tested on another guard after the same calls."""
    choices = [Call("final_answer", {"answer": "done"}), Call("other")]
    for tool in TOOLS:
        for x in (None, 0, 1):
            for y in (None, 0, 1):
                given = {"x": x, "y": y}
                choices.append(Call(tool, {k: v for k, v in given.items() if v is not None}))
    for choice in choices:
        twin = Guard(procedure, "block-and-warn")
        for call in executed:
            twin.propose([call])
        if twin.propose([choice])[0].allowed and choice.tool != "other":
            return True
    return False


def test_a_gold_run_is_never_refused() -> None:
    """The rules of a gold trace allow each of its calls."""
    gold = Trace(
        [Call("look", {"i": 1}), Call("pay", {"x": 5}), Call("look", {"i": 2}), Call("mail")]
    )
    rules = [
        "Called(look)",
        "CalledWith(look, i = 1)",
        "CalledWith(look, i = 2)",
        "InOrder(look, pay, look, mail)",
        "InstanceBefore(look, 0, pay, 0)",
        "InstanceBefore(pay, 0, look, 1)",
        "CalledN(look, = 2)",
        "CalledN(pay, = 1)",
        "CalledN(mail, = 1)",
    ]
    constraints = [{"name": rule, "rule": rule} for rule in rules]
    guard = Guard(Procedure.from_dict({"order": "step", "constraints": constraints}), "soft-block")
    for call in gold.calls:
        (decision,) = guard.propose([call])
        assert decision.allowed, decision.message
        guard.record(decision, "done")
    assert guard.finish().label == "FULL"


def test_the_report_says_when_a_run_was_not_fully_decided() -> None:
    for rules, decided in (
        (["InOrder(a, b)", "CalledN(a, <= 2)"], True),
        # where counting is not certain, and for rules of other forms, machines decide
        (["InOrder(a, b)", "InOrder(b, a)", "CalledN(a, <= 2)"], True),
        (["WithinSteps(a, b, 3)", "CalledN(a, <= 2)"], True),
        (["CalledWith({a, b}, x = 1)", "CalledN(a, <= 2)"], True),
        (["G(b -> O a)", "CalledN(a, <= 2)"], True),
        # rules that clash from the start are not asked
        (["CalledN(a, = 1)", "CalledWith(a, x = 1)", "CalledWith(a, x = 2)"], False),
        (["G(a -> X b)", "CalledN(b, = 0)", "Called(a)"], False),
        # nor can a rule be asked that has no machine, once it demands something
        (['forall v in args(a, "x"): CalledWith(b, i = v)', "CalledN(b, <= 1)"], False),
        (['forall v in args(c, "x"): CalledWith(b, i = v)', "CalledN(b, <= 1)"], True),
    ):
        constraints = [{"name": rule, "rule": rule} for rule in rules]
        guard = Guard(Procedure.from_dict({"constraints": constraints}), "block-and-warn")
        guard.propose([Call("a", {"x": 1})])
        assert guard.finish().fully_decided is decided, rules


def test_a_new_predicate_without_a_joint_form_is_followed_by_its_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PREDICATES, "Called", replace(PREDICATES["Called"], joint=None))
    rules = ["Called(a)", "CalledN(a, <= 1)", "CalledWith(a, x = 1)"]
    assert set(JointRules([parse(rule) for rule in rules], "position").forms) == {1, 2}
    constraints = [{"name": rule, "rule": rule} for rule in rules]
    guard = Guard(Procedure.from_dict({"constraints": constraints}), "block-and-warn")
    (decision,) = guard.propose([Call("a", {"x": 2})])
    assert not decision.allowed
    assert guard.finish().fully_decided
