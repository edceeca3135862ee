"""Keys of JSON values: two values share one exactly when they are equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from types import MappingProxyType

import pytest
from hypothesis import given
from strategies import json_values

from bylaw.values import Json, equal, identity, value_key

KEYS = pytest.mark.parametrize("key", [identity, value_key])
Key = Callable[[Json], Hashable]

PAIRS = [
    (1, 1.0),
    (1, True),
    (0, False),
    (0, None),
    (1, "1"),
    (None, "null"),
    (True, "true"),
    ([True], ["true"]),
    ([True], [1]),
    ([], None),
    ([], {}),
    ([1, 2], [1.0, 2]),
    ([1, 2], (1, 2)),
    ([1, 2], [2, 1]),
    ([[1], 2], [[1, 2]]),
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}),
    ({"a": 1}, MappingProxyType({"a": 1})),
    ({"a": 1}, [["a", 1]]),
    ({"a": None}, {}),
    (1e20, 10**20),
    (2**53 + 1, float(2**53)),
]


@KEYS
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=repr)
def test_cases(key: Key, one: Json, other: Json) -> None:
    assert (key(one) == key(other)) is equal(one, other)


@KEYS
@given(json_values, json_values)
def test_equal_values_share_their_key(key: Key, one: Json, other: Json) -> None:
    assert (key(one) == key(other)) is equal(one, other)
    assert hash(key(one)) == hash(key(one))


@KEYS
@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, [b"bytes"]], ids=repr)
def test_what_is_not_json_has_no_key(key: Key, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        key(value)
