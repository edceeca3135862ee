"""A damaged or forged saved run is refused with a sentence, or restored as exactly what it says.

`BYLAW_FUZZ_STATES` says how many are tried: `BYLAW_FUZZ_STATES=50000 pytest -m fuzz
tests/fuzz/test_saved_states.py` takes some minutes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from every_engine import FORBIDDEN, new_guard
from random_cases import chosen_number
from saved_states import KEY, damaged, states

from bylaw import Call, Guard, UsageError
from bylaw.enforcement.seal import seal
from bylaw.values import MAX_DEPTH, canonical

STATES = chosen_number("BYLAW_FUZZ_STATES", 500)
SEED = 20250720
ANOTHER_KEY = b"another secret of sixteen bytes"

pytestmark = pytest.mark.fuzz


@pytest.mark.parametrize("stage", states())
def test_what_was_saved_is_restored(stage: str) -> None:
    for saved, key in zip(states()[stage], (None, KEY), strict=True):
        guard = new_guard()
        guard.restore(json.loads(saved), key=key)
        assert canonical(guard.save(key=key)) == saved
        _use(guard)


def _mutants(*, sealed: bool) -> Iterator[tuple[int, str, Any]]:
    """A number, the stage of a saved run, and that run with some damage."""
    stages = list(states().items())
    for number in range(STATES):
        choose = random.Random(f"{SEED}/{number}")
        stage, saved = choose.choice(stages)
        mutant = damaged(choose, saved[sealed])
        if canonical(mutant) != saved[sealed]:
            yield number, stage, mutant


def test_damage_is_found() -> None:
    """Without a key: the hash finds whatever was not meant."""
    guard = new_guard()
    before = canonical(guard.save())
    for _, stage, mutant in _mutants(sealed=False):
        with pytest.raises(UsageError):
            guard.restore(mutant)
        assert not guard.stopped, stage
    assert canonical(guard.save()) == before


def test_forgery_is_restored_as_it_stands_or_refused() -> None:
    """Without a key, anybody can write a state with a right hash: then every part is checked."""
    outcomes: Counter[str] = Counter()
    guard = new_guard()
    for number, stage, mutant in _mutants(sealed=False):
        forged = _sealed(mutant, None)
        try:
            guard.restore(forged)
        except UsageError:
            outcomes["refused"] += 1
            continue
        outcomes["restored"] += 1
        where = f"{stage}, {number}"
        assert canonical(guard.save()) == canonical(forged), where
        assert guard.stopped is (forged.get("stopped", True) or "inside" in forged), where
        _use(guard)
        guard = new_guard()
    assert outcomes["refused"] > outcomes["restored"] > 0


def test_nothing_gets_past_a_key() -> None:
    guard = new_guard()
    before = canonical(guard.save())
    for number, _, mutant in _mutants(sealed=True):
        attempts = (mutant, _sealed(mutant, None), _sealed(mutant, ANOTHER_KEY))
        with pytest.raises(UsageError):
            guard.restore(attempts[number % 3], key=KEY)
    assert canonical(guard.save()) == before


def _sealed(mutant: Any, key: bytes | None) -> Any:
    state = {name: part for name, part in mutant.items() if name != "seal"}
    return {**state, "seal": seal(canonical(state), key)}


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
    [(None, KEY), (KEY, None), (KEY, ANOTHER_KEY)],
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


def test_a_turn_is_not_earlier_than_the_events() -> None:
    for saved, _ in states().values():
        forged = json.loads(saved)
        if forged["turn"] > 2 and "inside" not in forged:
            with pytest.raises(UsageError, match="turn is earlier"):
                new_guard().restore(_sealed(forged | {"turn": 1}, None))


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
