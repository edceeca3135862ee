"""`@frozen` and `@record` make what `@dataclass` makes with slots, frozen or not."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, fields
from typing import Any

import pytest

from bylaw.frozen import field, frozen, record, replace


@frozen
class Ours:
    left: int
    right: str = "r"
    more: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Theirs:
    left: int
    right: str = "r"
    more: list[int] = dataclasses.field(default_factory=list)


@record
class Mutable:
    left: int
    right: str = "r"
    more: list[int] = field(default_factory=list)


@frozen
class Longer(Ours):
    last: int = 3


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "x"), {}),
    ((1, "x", [3]), {}),
    ((), {"left": 1}),
    ((1,), {"more": [2]}),
    ((), {"more": [2], "right": "y", "left": 0}),
]


@pytest.mark.parametrize(("given", "named"), CALLS)
@pytest.mark.parametrize("cls", [Ours, Mutable])
def test_the_same_fields(
    cls: type[Ours] | type[Mutable], given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, theirs = cls(*given, **named), Theirs(*given, **named)
    assert asdict(ours) == asdict(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", cls.__name__)
    assert ours == cls(*given, **named)
    assert ours.__eq__(theirs) is not True
    for change in (replace, dataclasses.replace):
        assert change(ours, left=7) == cls(7, ours.right, ours.more)
    assert pickle.loads(pickle.dumps(ours)) == ours


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1, 2, 3, 4), {}), ((1,), {"left": 2}), ((1,), {"other": 2}), ((), {"right": "x"})],
)
def test_the_same_mistakes(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for cls in (Ours, Theirs, Mutable):
        with pytest.raises(TypeError):
            cls(*given, **named)


def test_it_is_frozen_has_slots_and_matches_by_position() -> None:
    ours = Ours(1)
    with pytest.raises(FrozenInstanceError):
        ours.left = 2  # type: ignore[misc]  # the mistake
    with pytest.raises(FrozenInstanceError):
        del ours.left
    assert not hasattr(ours, "__dict__")
    assert [each.name for each in fields(ours)] == ["left", "right", "more"]
    match ours:
        case Ours(left, right):
            assert (left, right) == (1, "r")
    assert Ours(1).more is not Ours(1).more


def test_a_record_can_change_and_has_no_hash() -> None:
    mutable = Mutable(1)
    mutable.left = 2
    assert mutable == Mutable(2) != Mutable(1)
    assert not hasattr(mutable, "__dict__")
    with pytest.raises(TypeError, match="unhashable"):
        hash(mutable)


def test_a_subclass_adds_fields() -> None:
    assert asdict(Longer(1, "x", [2])) == {"left": 1, "right": "x", "more": [2], "last": 3}
    assert Longer(1, last=4) != Longer(1)
    assert [each.name for each in fields(Longer)] == ["left", "right", "more", "last"]


def test_a_replaced_field_must_exist() -> None:
    with pytest.raises(TypeError):
        replace(Ours(1), other=2)


def test_it_shows_its_signature() -> None:
    assert str(inspect.signature(Ours)) == (
        "(left: 'int', right: 'str' = 'r', more: 'list[int]' = Ellipsis)"
    )


def test_what_a_class_defines_itself_is_kept() -> None:
    @frozen
    class Own:
        name: str
        seen: tuple[str, ...] = ()

        def __post_init__(self) -> None:
            object.__setattr__(self, "seen", (self.name,))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 1

    assert Own("a") == Own("b")
    assert hash(Own("a")) == 1
    assert Own("a").seen == ("a",)


def test_equal_values_have_equal_hashes() -> None:
    @frozen
    class Pair:
        left: int
        right: int

    assert hash(Pair(1, 2)) == hash(Pair(1, 2))
    assert {Pair(1, 2), Pair(1, 2), Pair(2, 1)} == {Pair(2, 1), Pair(1, 2)}
