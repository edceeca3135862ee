"""A claim about a partly known list is true of every list that it may be."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import small_values

from bylaw.logic.operators import RELATIONS
from bylaw.trace.event import MISSING
from bylaw.values import equal
from bylaw.vocabulary.comparisons import compared
from bylaw.vocabulary.functions import apply
from bylaw.vocabulary.possible import (
    UNSEEN,
    Between,
    OneOf,
    PossibleValue,
    SomeOf,
    applied,
    found_at,
    some_of,
)
from bylaw.vocabulary.tally import TALLIED, Tally

NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1e16, -1e16, 0.1])
MEMBERS: st.SearchStrategy[Any] = NUMBERS | st.sampled_from(["a", "b"]) | st.just([1])
LISTS = st.lists(st.tuples(MEMBERS, st.booleans()), max_size=5)
ORDERS = ("<", "<=", ">", ">=")


def _partly(pairs: list[tuple[Any, bool]]) -> PossibleValue:
    return some_of([value for value, _ in pairs], [sure for _, sure in pairs])


def _every(pairs: list[tuple[Any, bool]]) -> list[list[Any]]:
    """Every list that it may be."""
    choices = [(True,) if sure else (True, False) for _, sure in pairs]
    return [
        [value for (value, _), there in zip(pairs, chosen, strict=True) if there]
        for chosen in product(*choices)
    ]


def _answers(cases: list[Any], symbol: str, other: Any) -> set[bool | None]:
    return {compared(case, symbol, other) for case in cases}


@given(LISTS, st.sampled_from(sorted(TALLIED)), st.sampled_from(RELATIONS), MEMBERS)
def test_a_function_of_a_list(
    pairs: list[tuple[Any, bool]], function: str, symbol: str, other: Any
) -> None:
    """Never wrong; and exact for order comparisons of lengths and of sums of numbers."""
    found = compared(applied(function, [_partly(pairs)]), symbol, other)
    answers = _answers([apply(function, [each]) for each in _every(pairs)], symbol, other)
    assert found is None or answers == {found}
    plain = function == "length" or all(isinstance(value, int | float) for value, _ in pairs)
    if symbol in ORDERS and function in ("length", "sum") and plain:
        assert (found is None) is (len(answers) == 2)


@given(LISTS, st.sampled_from(["unique", "reverse", "sort"]), st.sampled_from(["=", "!="]))
def test_other_functions_try_every_list(
    pairs: list[tuple[Any, bool]], function: str, symbol: str
) -> None:
    other = [value for value, _ in pairs]
    found = compared(applied(function, [_partly(pairs)]), symbol, other)
    answers = _answers([apply(function, [each]) for each in _every(pairs)], symbol, other)
    assert found is (answers.pop() if len(answers) == 1 else None)


@given(LISTS, st.integers(-6, 6), MEMBERS)
def test_an_index(pairs: list[tuple[Any, bool]], index: int, other: Any) -> None:
    found = compared(found_at(_partly(pairs), index), "=", other)
    answers = _answers([found_at(each, index) for each in _every(pairs)], "=", other)
    assert found is (answers.pop() if len(answers) == 1 else None)


@given(LISTS, small_values)
def test_an_element(pairs: list[tuple[Any, bool]], other: Any) -> None:
    for symbol, left, right in (("contains", 0, 1), ("in", 1, 0)):
        sides = [_partly(pairs), other]
        found = compared(sides[left], symbol, sides[right])
        answers = {
            compared([each, other][left], symbol, [each, other][right]) for each in _every(pairs)
        }
        assert found is (answers.pop() if len(answers) == 1 else None)


@given(LISTS, LISTS, st.sampled_from(["+", "-", "*", "/"]), st.sampled_from(RELATIONS), NUMBERS)
def test_arithmetic_with_what_is_not_certain(
    one: list[tuple[Any, bool]],
    two: list[tuple[Any, bool]],
    symbol: str,
    relation: str,
    other: Any,
) -> None:
    sums = [applied("length", [_partly(one)]), applied("sum", [_partly(two)])]
    found = compared(applied(symbol, sums), relation, other)
    cases = [
        apply(symbol, [apply("length", [a]), apply("sum", [b])])
        for a in _every(one)
        for b in _every(two)
    ]
    assert found is None or _answers(cases, relation, other) == {found}


@given(st.lists(MEMBERS, max_size=6))
def test_a_tally_says_what_the_list_says(values: list[Any]) -> None:
    """In any order, added one by one or joined, and after it was saved."""
    tally, halves = Tally(), [Tally(), Tally()]
    for number, value in enumerate(values):
        tally = tally.plus(value)
        halves[number % 2] = halves[number % 2].plus(value)
    assert Tally.from_json(tally.to_json()) == tally
    assert halves[0].joined(halves[1])[:7] == tally[:7]
    for function in TALLIED:
        direct = apply(function, [values])
        kept = applied(function, [SomeOf(values, [True] * len(values))])
        assert (direct is MISSING) is (kept is MISSING)
        assert direct is MISSING or equal(direct, kept)


UNKNOWN: list[tuple[PossibleValue, str, PossibleValue, bool | None]] = [
    (UNSEEN, "=", 1, None),
    (UNSEEN, "=", None, False),
    (MISSING, "=", UNSEEN, False),
    (OneOf([1, 2]), "<", 3, True),
    (OneOf([1, MISSING]), "<", 3, None),
    (OneOf([4, MISSING]), "<", 3, False),
    (Between(1, 3), "<=", 3, True),
    (Between(1, 3), "<=", 2, None),
    (Between(1, 3), ">", 3, False),
    (Between(1, 3), "=", 4, False),
    (Between(1, 3), "=", 2, None),
    (Between(1, 3), "!=", 4, True),
    (Between(1, 3), "in", [4, 5], False),
    (Between(1, 3), "in", [2], None),
    (Between(1, 3), "<", "a", False),
    (Between(1, 3, perhaps_missing=True), "<=", 3, None),
    (Between(1, 3, perhaps_missing=True), ">", 3, False),
    (Between(1, 3), "<", Between(4, 5), True),
    (Between(1, 4), "<", Between(4, 5), None),
    (SomeOf([UNSEEN], [False]), "contains", 1, None),
    (SomeOf([1, UNSEEN], [True, False]), "contains", 1, True),
    (SomeOf([1], [False]), "=", [], None),
    (SomeOf([1, 1], [True, False]), "=", [2], False),
    (SomeOf([1], [False]), "<", [2], False),
]


@pytest.mark.parametrize(("left", "symbol", "right", "expected"), UNKNOWN)
def test_what_can_be_said_of_it(
    left: PossibleValue, symbol: str, right: PossibleValue, expected: bool | None
) -> None:
    assert compared(left, symbol, right) is expected


@given(st.lists(NUMBERS, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_a_sum_does_not_depend_on_the_order(values: list[Any], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assume(shuffled != values)
    assert apply("sum", [values]) == apply("sum", [shuffled])
