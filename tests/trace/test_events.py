"""A call takes its arguments as a mapping, or as the JSON text that a chat model writes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw import Call, Guard, Procedure, Trace, TraceError
from bylaw.values import write_json

TEXT = '{"q": "x", "tags": ["a", null], "page": {"n": 1}}'
MAPPING = {"q": "x", "tags": ["a", None], "page": {"n": 1}}

arguments = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def test_json_text_means_the_object_that_it_encodes() -> None:
    call = Call("search", TEXT)
    assert call.args == MAPPING
    assert call == Call("search", MAPPING)
    assert repr(call) == repr(Call("search", MAPPING))


@given(arguments)
def test_text_and_mapping_make_the_same_call(args: dict[str, Any]) -> None:
    call, same = Call("search", write_json(args)), Call("search", args)
    assert call == same
    assert Trace([call]) == Trace([same])
    assert hash(Trace([call])) == hash(Trace([same]))
    assert Trace([call]).to_record() == Trace([same]).to_record()
    assert Trace.from_record(Trace([call]).to_record()) == Trace([same])
    assert pickle.loads(pickle.dumps(call)) == same
    assert replace(call, step=1) == replace(same, step=1)


@pytest.mark.parametrize("blank", ["", "  ", "null", "{}"])
def test_a_call_may_have_no_arguments(blank: str) -> None:
    assert Call("list", blank) == Call("list") == Call("list", {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{'q': 'x'}", "not JSON: Expecting property name"),
        ('{"q": ', "not JSON: Expecting value"),
        ('{"q": NaN}', "not JSON: NaN is not a JSON value"),
        ('{"q": 1, "q": 2}', 'not JSON: the key "q" appears twice'),
        ("[1]", "a list, not an object"),
        ('"x"', "a string, not an object"),
        ("5", "a number, not an object"),
        ("true", "true or false, not an object"),
    ],
)
def test_other_text_is_an_error_that_names_the_remedy(text: str, reason: str) -> None:
    with pytest.raises(TraceError) as caught:
        Call("search", text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E303"
    assert diagnostic.message.startswith(f"the arguments of 'search' are {reason}")
    assert "Pass a mapping, or the JSON text of an object" in str(diagnostic.help)


def test_a_gate_reads_the_text() -> None:
    rule = 'G !call(search, q = "x")'
    guard = Guard(Procedure.from_dict({"constraints": [{"name": "r", "rule": rule}]}))
    (refused,) = guard.propose([Call("search", TEXT)])
    assert not refused.allowed
    (allowed,) = guard.propose([Call("search", '{"q": "y"}')])
    assert allowed.allowed
