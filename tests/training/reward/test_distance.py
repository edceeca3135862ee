"""The trace distance: the paper's example and its definition."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw import Call
from bylaw.training.reward.distance import distance
from bylaw.training.reward.reward import closeness

A, B, C = Call("tool_a", {"x": 1}), Call("tool_b", {"y": 2}), Call("tool_c", {"z": 0})
A9 = Call("tool_a", {"x": 9})


def test_the_example_of_the_paper() -> None:
    assert distance([A, B], [A9, C, B]) == 1.5
    assert round(closeness(1.5), 3) == 0.223
    assert closeness(0) == 1.0


@pytest.mark.parametrize(
    ("gold", "made", "expected"),
    [
        ([], [], 0),
        ([A], [], 1),
        ([], [A, B], 2),
        ([A, B], [A, B], 0),
        ([A, B], [B, A], 2),
        ([A], [A9], 0.5),
        ([A], [C], 1),
        ([A, B, C], [A, C], 1),
        ([A, A], [A9, A9, A9], 2),
        ([A, B], [A, A9, B], 1),
    ],
)
def test_small_cases(gold: list[Call], made: list[Call], expected: float) -> None:
    assert distance(gold, made) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"x": 1}, {"x": 1.0}, True),
        ({"x": 1}, {"x": True}, False),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        ({"x": [1, 2]}, {"x": [2, 1]}, False),
        ({"x": 1e16}, {"x": 10**16}, True),
        ({"x": "1.0"}, {"x": "1"}, False),
        ({"x": 1}, {}, False),
        ({"x": None}, {}, False),
    ],
)
def test_arguments_compare_as_json(
    one: dict[str, object], other: dict[str, object], same: bool
) -> None:
    assert distance([Call("a", one)], [Call("a", other)]) == (0 if same else 0.5)


CALLS = st.builds(Call, st.sampled_from("abc"), st.fixed_dictionaries({"x": st.integers(0, 2)}))
TRACES = st.lists(CALLS, max_size=7)


@given(TRACES, TRACES)
def test_the_distance_satisfies_its_recurrence(gold: list[Call], made: list[Call]) -> None:
    @cache
    def d(i: int, j: int) -> float:
        if i == 0 or j == 0:
            return i + j
        g, p = gold[i - 1], made[j - 1]
        s = 1.0 if g.tool != p.tool else 0.0 if g.args == p.args else 0.5
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + s)

    assert math.isclose(distance(gold, made), d(len(gold), len(made)))


@given(TRACES, TRACES, TRACES)
def test_it_is_a_metric(a: list[Call], b: list[Call], c: list[Call]) -> None:
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) is (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
