"""Keys of JSON values: two values share one exactly when they are equal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Hashable
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import json_values

from bylaw.values import Json, JsonError, equal, identity, read_json, value_key, write_json

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


# ── two readers ───────────────────────────────────────────────────────────────────────────

WRITTEN = [
    *('{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}', "[1,]", "", "null", "1 2", " [1, 2]\n"),
    *("-0", "1.0", "1E5", "1e22", "1e400", "NaN", "123456789012345678901234567890", "1" * 5000),
    *('"\\u00e9"', '"\\ud800"', '"\\ud83d\\ude00"', '"\x00"', '"\ud800"', "\ufeff1"),
    "[" * 300 + "]" * 300,
]


def _reading(text: str) -> object:
    try:
        return repr(read_json(text))
    except JsonError as error:
        return type(error), error.message


@cases(300)
@given(st.sampled_from(WRITTEN) | json_values.map(json.dumps) | json_values.map(write_json))
def test_a_program_that_uses_msgspec_reads_the_same_values(text: str) -> None:
    pytest.importorskip("msgspec.json", reason="NOT TESTED: msgspec is not installed")
    fast = _reading(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "msgspec.json")
        assert _reading(text) == fast
