"""A damaged or forged saved run is refused with a sentence, or restored as exactly what it says.

`BYLAW_FUZZ_STATES` says how many; the slow test takes fifty thousand.
"""

from __future__ import annotations

import copy
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from saved_states import FORBIDDEN, KEY, damaged, new_guard, states

from bylaw import Call, Guard, UsageError
from bylaw.enforcement.saved_run import _seal
from bylaw.values import MAX_DEPTH, canonical

STATES = int(os.environ.get("BYLAW_FUZZ_STATES", "1500"))
SEED = 20250720

pytestmark = pytest.mark.fuzz


@pytest.mark.parametrize("stage", states())
def test_what_was_saved_is_restored(stage: str) -> None:
    plain, sealed = states()[stage]
    for saved, key in ((plain, None), (sealed, KEY)):
        guard = new_guard()
        guard.restore(copy.deepcopy(saved), key=key)
        assert canonical(guard.save(key=key)) == canonical(saved)
        _use(guard)


def test_damage_is_found() -> None:
    """Without a key: the hash finds whatever was not meant."""
    _damage(STATES)


def test_forgery_is_restored_as_it_stands_or_refused() -> None:
    """Without a key, anybody can write a state with a right hash: then every part is checked."""
    _forge(STATES)


def test_nothing_gets_past_a_key() -> None:
    _attack_key(STATES)


@pytest.mark.slow
def test_fifty_thousand_states() -> None:
    for check in (_damage, _forge, _attack_key):
        check(50_000)


def _mutants(number: int, sealed: bool) -> Any:
    stages = list(states().items())
    for each in range(number):
        choose = random.Random(f"{SEED}/{each}")
        stage, saved = choose.choice(stages)
        original = saved[sealed]
        mutant = damaged(choose, original)
        if canonical(mutant) != canonical(original):
            yield stage, mutant


def _damage(number: int) -> None:
    guard = new_guard()
    for stage, mutant in _mutants(number, sealed=False):
        with pytest.raises(UsageError):
            guard.restore(mutant)
        assert not guard.stopped, stage
    assert canonical(guard.save()) == canonical(_renamed(guard))


def _renamed(guard: Guard) -> Any:
    """A new run with the same id, for comparison."""
    return new_guard(guard.run_id).save()


def _resealed(mutant: Any) -> Any:
    return _sealed_by(None)(mutant)


def _forge(number: int) -> None:
    outcomes: Counter[str] = Counter()
    guard = new_guard()
    for stage, mutant in _mutants(number, sealed=False):
        forged = _resealed(mutant)
        try:
            guard.restore(forged)
        except UsageError:
            outcomes["refused"] += 1
            continue
        outcomes["restored"] += 1
        assert canonical(guard.save()) == canonical(forged), "every part is what it says"
        assert guard.stopped is (forged.get("stopped", True) or "inside" in forged), stage
        _use(guard)
        guard = new_guard()
    assert outcomes["refused"] > outcomes["restored"] > 0


def _attack_key(number: int) -> None:
    guard = new_guard()
    another = _sealed_by(b"another secret of sixteen bytes")
    attempts: list[Callable[[Any], Any]] = [lambda mutant: mutant, _resealed, another]
    for _, mutant in _mutants(number, sealed=True):
        for attempt in attempts:
            with pytest.raises(UsageError):
                guard.restore(attempt(mutant), key=KEY)
    assert not guard.stopped


def _sealed_by(key: bytes | None) -> Callable[[Any], Any]:
    def seal(mutant: Any) -> Any:
        state = {k: v for k, v in mutant.items() if k != "seal"}
        return {**state, "seal": _seal(canonical(state), key)}

    return seal


def _use(guard: Guard) -> None:
    """Whatever history a state claims, using it raises nothing unexpected."""
    over = guard.stopped or guard.finished
    if not guard.finished:
        turns = [
            [Call("lookup", {"id": 3}), Call("verify", {"id": 3}), Call("wire", {"amount": 5})],
            [Call("refund", {"amount": 9, "id": 3}), Call("close")],
        ]
        for turn in turns:
            for decision in guard.propose(turn):
                assert decision.allowed <= (not over)
                if decision.allowed:
                    guard.record(decision, {"most": 9, "ids": [3], "note": "9"})
        for decision in guard.awaiting:
            guard.record(decision, None, error="gone") if not guard.stopped else None
        for decision in guard.asked[:1]:
            guard.approve(decision) if not guard.stopped else None
        (decision,) = guard.propose([Call(FORBIDDEN)])
        assert not decision.allowed
    report = guard.finish("done")
    assert report.stopped or not over or guard.finished
    guard.save()


@pytest.mark.parametrize(
    ("key", "other"),
    [(None, KEY), (KEY, None), (KEY, b"another secret of sixteen bytes")],
    ids=["no key, and one", "a key, and none", "another key"],
)
def test_a_key_is_needed_on_both_sides(key: bytes | None, other: bytes | None) -> None:
    guard = new_guard()
    with pytest.raises(UsageError, match="key"):
        new_guard().restore(guard.save(key=key), key=other)


@pytest.mark.parametrize("key", ["a text", b"short", bytearray(32), 7])
def test_a_key_is_secret_bytes(key: Any) -> None:
    guard = new_guard()
    with pytest.raises(UsageError, match="key"):
        guard.save(key=key)
    with pytest.raises(UsageError, match="key"):
        guard.restore(guard.save(), key=key)


def test_what_may_be_judged_can_be_saved() -> None:
    """A value that nests as deep as values may, inside a state that nests itself."""
    nested: Any = "K9"
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    guard = new_guard()
    (decision,) = guard.propose([Call("verify", {"id": nested})])
    guard.record(decision, [nested])
    saved = guard.save()
    new_guard().restore(saved)
    assert canonical(guard.save()) == canonical(saved)


def test_a_saved_run_is_a_copy() -> None:
    guard = new_guard()
    (decision,) = guard.propose([Call("verify", {"id": 7})])
    guard.record(decision, {"most": 500, "ids": [3], "note": "K9"})
    saved = guard.save()
    before = canonical(saved)
    pending = [saved]
    while pending:
        container: Any = pending.pop()
        pending += container.values() if isinstance(container, dict) else container
        pending = [each for each in pending if isinstance(each, dict | list)]
        container.clear()
    assert canonical(guard.save()) == before


@pytest.mark.parametrize("name", ["labels", "metrics"])
def test_labels_and_metrics_belong_to_a_saved_run(name: str) -> None:
    def guard(table: dict[str, Any]) -> Guard:
        return Guard(new_guard().procedure, **{name: table})  # type: ignore[arg-type]

    saved = guard({"desk": 7}).save()
    guard({"desk": 7}).restore(saved)
    for table in ({"desk": 8}, {"desk": 7.0}, {}, {"desk": 7, "more": 1}):
        with pytest.raises(UsageError, match="another procedure, setting, or set of metrics"):
            guard(table).restore(saved)


class Mapping(dict[str, Any]):
    """A mapping that shows another run when it is read again."""

    def __iter__(self) -> Any:
        return iter(())


@pytest.mark.parametrize("saved", [None, [], "{}", {}, 7, Mapping(), {"bylaw": 2}, {"bylaw": True}])
def test_what_is_not_a_saved_run_is_refused(saved: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be restored|of another procedure"):
        new_guard().restore(saved)
