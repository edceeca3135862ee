"""Guards of one procedure share machines, with no effect on decisions."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from mixed_procedures import random_rules

from bylaw import Call, Guard, Procedure
from bylaw.enforcement.joint import refinement
from bylaw.enforcement.judge import PreparedRules
from bylaw.semantics.machine import machine

RULES = [
    "G(a -> F b)",
    "!c W a",
    "CalledN(a, <= 40)",
    "InOrder(a, b, c, a, b)",
    "InstanceBefore(a, 3, b, 5)",
    "CalledWith(a, x = 7)",
    "G(call(b, ok) -> O a)",
    "WithinSteps(a, b, 9)",
    "H(d -> X !d) | F c",
]


def _procedure(rules: Sequence[str] = RULES) -> Procedure:
    constraints = [{"name": f"r{i}", "rule": rule} for i, rule in enumerate(rules)]
    return Procedure.from_dict({"order": "step", "constraints": constraints})


def _session(procedure: Procedure, seed: int, calls: int = 120) -> list[object]:
    """The decisions of a guard on a random run, and the standing of the rules at its end."""
    rng = random.Random(seed)
    guard = Guard(procedure, soft_block_limit=10**6)
    seen: list[object] = []
    for _ in range(calls):
        turn = [Call(rng.choice("abcd"), {"x": rng.randrange(9)}) for _ in range(rng.randint(1, 2))]
        for decision in guard.propose(turn):
            violations = [(v.constraint.name, v.kind, v.reason) for v in decision.violations]
            seen.append((decision.action, violations, decision.decided))
            if decision.allowed and rng.random() < 0.8:
                guard.record(decision, "fine", error="broken" if rng.random() < 0.2 else None)
    return [*seen, [(each.name, each.passed) for each in guard.finish().constraints]]


def test_guards_in_many_threads_decide_as_each_alone() -> None:
    alone = [_session(_procedure(), seed) for seed in range(16)]
    shared = _procedure()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # switch threads as often as possible
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda seed: _session(shared, seed), range(16)))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone


@pytest.mark.parametrize("seed", range(12))
def test_what_earlier_runs_found_out_changes_no_decision(seed: int) -> None:
    """Answers of the joint test are remembered, also those about rules without a doomed one."""
    rules = random_rules(random.Random(seed), "abcd")
    shared = _procedure(rules)
    warm = [_session(shared, run, calls=12) for run in range(20)]
    assert warm == [_session(_procedure(rules), run, calls=12) for run in range(20)]


@pytest.mark.parametrize("moves", [6, 20, 60, 200, 600])
def test_nor_does_it_where_the_budget_of_moves_runs_out(
    moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refinement, "MAX_MOVES", moves)
    monkeypatch.setattr(refinement, "MIN_MOVES", moves // 4)
    for seed in range(8):
        rules = random_rules(random.Random(seed), "abcd")
        shared = _procedure(rules)
        warm = [_session(shared, run, calls=12) for run in range(10)]
        assert warm == [_session(_procedure(rules), run, calls=12) for run in range(10)]


def test_the_second_guard_reuses_the_prepared_rules() -> None:
    procedure = _procedure()
    Guard(procedure)
    ready = procedure.derived(PreparedRules)
    Guard(procedure)
    assert procedure.derived(PreparedRules) is ready


def test_replacing_full_tables_changes_no_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = [_session(_procedure(), seed) for seed in range(4)]
    monkeypatch.setattr(machine, "MAX_STATES", 5)
    shared = _procedure()
    assert [_session(shared, seed) for seed in range(4)] == alone
