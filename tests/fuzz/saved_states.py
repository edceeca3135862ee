"""Saved runs of every engine at every stage, and structural damage to them."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from bylaw import Call, Guard, Procedure, Trace, Vocabulary

KEY = b"sixteen secret bytes or more"
FORBIDDEN = "forbidden"
"""No history lets a call of this tool pass."""

RULES = {
    "never": f"HARD_STOP: G !{FORBIDDEN}",
    "machine": "SOFT_BLOCK: G(refund -> O call(verify, ok))",
    "pending": "SOFT_BLOCK: G(lookup -> F call(verify, ok))",
    "window": "SOFT_BLOCK: WithinSteps(lookup, verify, 40)",
    "instances": "SOFT_BLOCK: InstanceBefore(lookup, 0, refund, 0)",
    "joint": "SOFT_BLOCK: CalledN(refund, <= 9)",
    "joint too": "SOFT_BLOCK: CalledWith(refund, amount = 9)",
    "sequence": "SOFT_BLOCK: InOrder(lookup, verify, refund)",
    "slices": 'TOLERATE: forall x in args(lookup, "id"): F call(verify, id = x)',
    "results": 'TOLERATE: forall x in results(verify, "ids[]"): !call(refund, id = x)',
    "registers": "SOFT_BLOCK: G(refund -> args.amount <= last(call(verify, ok)).result.most)",
    "evidence": "SOFT_BLOCK: G(refund -> let i = args.code: earlier (verify & text contains i))",
    "once": "SOFT_BLOCK: G(close -> length(sofar(close)) <= 1)",
    "local": "BLOCK_AND_WARN: G(refund -> args.amount < 50)",
    "history": "ASK: G(wire -> plausible(args.amount))",
}


@functools.cache
def procedure() -> Procedure:
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def plausible(trace: Trace, at: int, metrics: Any, amount: Any) -> bool:
        return bool(amount < 100)

    constraints = []
    for name, text in RULES.items():
        severity, _, rule = text.partition(": ")
        constraints.append({"name": name, "rule": rule, "severity": severity})
    stated = {"unlisted": "allow", "order": "step", "constraints": constraints}
    return Procedure.from_dict(stated, vocabulary=vocabulary)


def new_guard(run_id: str | None = None) -> Guard:
    return Guard(procedure(), outstanding="hope", run_id=run_id)


def refund(amount: int) -> Call:
    return Call("refund", {"amount": amount, "code": f"K{amount}", "id": 1})


def _stages() -> Iterator[tuple[str, Guard]]:
    guard = new_guard()
    yield "new", guard
    guard.say("user", "Refund me.")
    (first,) = guard.propose([Call("lookup", {"id": 7})])
    (verify,) = guard.propose([Call("verify", {"id": 7})])
    yield "two results are outstanding", guard
    guard.record(verify, {"most": 500, "ids": [3, 4], "note": "K9 or K60"})
    guard.record(first, None, error="TimeoutError")
    (wired,) = guard.propose([Call("wire", {"amount": 200})])
    refunded, warned = guard.propose([refund(9), refund(60)])
    assert [wired.action, refunded.action, warned.action] == ["ask", "allow", "warn"]
    yield "a warning, a question and a result are open", guard
    guard.record(refunded, {"paid": 9})
    guard.propose([refund(60), Call("close"), Call("close")])
    guard.say("assistant", "Done.")
    yield "a warning was overridden", guard
    (answer,) = guard.propose([Call("final_answer", {"answer": "done"})])
    assert answer.allowed, answer.message
    guard.say("user", "Thank you.")
    yield "answered", guard
    guard.withdraw()
    guard.propose([Call(FORBIDDEN)])
    yield "stopped", guard
    guard.finish()
    yield "finished", guard
    broken = new_guard()
    broken.propose([Call("lookup", {"id": 7})])
    broken._run.inside = "propose"  # as an interrupt leaves it
    yield "interrupted", broken


@functools.cache
def states() -> dict[str, tuple[Any, Any]]:
    """By stage, a saved run without and with a key."""
    found = {}
    for stage, guard in _stages():
        found[stage] = tuple(json.loads(json.dumps(guard.save(key=key))) for key in (None, KEY))
    return found


# ── damage ────────────────────────────────────────────────────────────────────────────────

GARBAGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53, 2**70, -(10**30), 1.0, 0.5, -0.0, 1e308),
    *("", "x", "0", "violated", "satisfied", "allow", "propose", "\ud800", "\x00", "sha256"),
    *([], [[]], [[], []], [None], [0], [0, 0], [[[0, False, -1]]], {}, {"": 0}, {"bylaw": 2}),
    *([["a", 0]], [[0, "x"]], {"tool_calls": []}, [[{"tool_calls": []}, 0], 0, 0], "a" * 5000),
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each place in a JSON tree, as a container and a key."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        container = pending.pop()
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], (dict, list)):
                pending.append(container[key])
    return found


def _put(choose: random.Random, tree: Any, other: Any) -> None:
    container, key = choose.choice(_places(tree))
    container[key] = copy.deepcopy(choose.choice(GARBAGE))


def _nudge(choose: random.Random, tree: Any, other: Any) -> None:
    """Another value of the same type: the damage that a check of types does not find."""
    container, key = choose.choice(_places(tree))
    value = container[key]
    if isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, (int, float)):
        container[key] = value + choose.choice((-2, -1, 1, 2, 1000))
    elif isinstance(value, str):
        container[key] = value[1:] if choose.random() < 0.5 else f"{value}x"
    elif isinstance(value, list):
        choose.shuffle(value)


def _swap(choose: random.Random, tree: Any, other: Any) -> None:
    (one, key), (two, place) = choose.choices(_places(tree), k=2)
    one[key], two[place] = copy.deepcopy(two[place]), copy.deepcopy(one[key])


def _graft(choose: random.Random, tree: Any, other: Any) -> None:
    """The same part of the run at another time."""
    container, key = choose.choice(_places(tree))
    same = [c[k] for c, k in _places(other) if k == key and isinstance(c, dict)]
    container[key] = copy.deepcopy(choose.choice(same or [None]))


def _drop(choose: random.Random, tree: Any, other: Any) -> None:
    container, key = choose.choice(_places(tree))
    del container[key]


def _cut(choose: random.Random, tree: Any, other: Any) -> None:
    lists = [c[k] for c, k in _places(tree) if isinstance(c[k], list) and c[k]]
    if lists:
        chosen = choose.choice(lists)
        del chosen[choose.randrange(len(chosen)) :]


def _repeat(choose: random.Random, tree: Any, other: Any) -> None:
    lists = [c[k] for c, k in _places(tree) if isinstance(c[k], list) and c[k]]
    if lists:
        chosen = choose.choice(lists)
        chosen.insert(choose.randrange(len(chosen) + 1), copy.deepcopy(choose.choice(chosen)))


def _add(choose: random.Random, tree: Any, other: Any) -> None:
    tables = [tree, *(c[k] for c, k in _places(tree) if isinstance(c[k], dict))]
    name = choose.choice(("", "x", "inside", "stopped", "rules", "bylaw", "seal"))
    choose.choice(tables)[name] = copy.deepcopy(choose.choice(GARBAGE))


DAMAGE: tuple[Callable[[random.Random, Any, Any], None], ...] = (
    *(_put, _put, _nudge, _nudge, _swap, _graft, _drop, _cut, _repeat, _add),
)


def damaged(choose: random.Random, saved: Any) -> Any:
    """A damaged copy of a saved run."""
    tree = copy.deepcopy(saved)
    other = choose.choice(list(states().values()))[0]
    for _ in range(choose.choice((1, 1, 1, 1, 2, 3))):
        choose.choice(DAMAGE)(choose, tree, other)
        if not isinstance(tree, dict) or not tree:
            break
    return tree
