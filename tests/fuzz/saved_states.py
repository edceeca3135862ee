"""Saved runs of every engine at every stage, and structural damage to them."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from every_engine import FORBIDDEN, LOOKUP, VERIFIED, VERIFY, new_guard, refund

from bylaw import Call, Guard
from bylaw.values import canonical

KEY = b"sixteen secret bytes or more"


def _stages() -> Iterator[tuple[str, Guard]]:
    guard = new_guard()
    yield "new", guard
    guard.say("user", "Refund me.")
    (first,) = guard.propose([LOOKUP])
    (verify,) = guard.propose([VERIFY])
    yield "two results are outstanding", guard
    guard.record(verify, VERIFIED)
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
    broken.propose([LOOKUP])
    broken._run.inside = "propose"  # as an interrupt leaves it
    yield "interrupted", broken


@functools.cache
def states() -> dict[str, tuple[str, str]]:
    """By stage, the text of a saved run without and with a key."""
    return {
        stage: (canonical(guard.save()), canonical(guard.save(key=KEY)))
        for stage, guard in _stages()
    }


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


def _put(choose: random.Random, tree: Any) -> None:
    container, key = choose.choice(_places(tree))
    container[key] = copy.deepcopy(choose.choice(GARBAGE))


def _nudge(choose: random.Random, tree: Any) -> None:
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


def _swap(choose: random.Random, tree: Any) -> None:
    (one, key), (two, place) = choose.choices(_places(tree), k=2)
    one[key], two[place] = copy.deepcopy(two[place]), copy.deepcopy(one[key])


def _graft(choose: random.Random, tree: Any) -> None:
    """The same part of the run at another time."""
    container, key = choose.choice(_places(tree))
    other = json.loads(choose.choice(list(states().values()))[0])
    same = [c[k] for c, k in _places(other) if k == key and isinstance(c, dict)]
    container[key] = copy.deepcopy(choose.choice(same or [None]))


def _drop(choose: random.Random, tree: Any) -> None:
    container, key = choose.choice(_places(tree))
    del container[key]


def _cut(choose: random.Random, tree: Any) -> None:
    lists = [c[k] for c, k in _places(tree) if isinstance(c[k], list) and c[k]]
    if lists:
        chosen = choose.choice(lists)
        del chosen[choose.randrange(len(chosen)) :]


def _repeat(choose: random.Random, tree: Any) -> None:
    lists = [c[k] for c, k in _places(tree) if isinstance(c[k], list) and c[k]]
    if lists:
        chosen = choose.choice(lists)
        chosen.insert(choose.randrange(len(chosen) + 1), copy.deepcopy(choose.choice(chosen)))


def _add(choose: random.Random, tree: Any) -> None:
    tables = [tree, *(c[k] for c, k in _places(tree) if isinstance(c[k], dict))]
    name = choose.choice(("", "x", "inside", "stopped", "rules", "bylaw", "seal"))
    choose.choice(tables)[name] = copy.deepcopy(choose.choice(GARBAGE))


DAMAGE: tuple[Callable[[random.Random, Any], None], ...] = (
    *(_put, _put, _nudge, _nudge, _swap, _graft, _drop, _cut, _repeat, _add),
)


def damaged(choose: random.Random, saved: str) -> Any:
    """A damaged copy of a saved run."""
    tree = json.loads(saved)
    for _ in range(choose.choice((1, 1, 1, 1, 2, 3))):
        choose.choice(DAMAGE)(choose, tree)
        if not isinstance(tree, dict) or not tree:
            break
    return tree
