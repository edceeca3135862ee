"""For random signatures and arguments, a tool receives what was judged, by type and by value."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from bylaw import Call, Guard, Procedure, UsageError, Vocabulary

NAMES = ("amount", "to", "memo", "items", "self", "guard", "values", "keywords")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@dataclass(frozen=True)
class Signature:
    """A signature in Python, with defaults that a tool may have."""

    positional_only: list[str]
    ordinary: list[str]
    rest: str | None
    keyword_only: list[str]
    more: str | None
    defaults: dict[str, Any]

    def written(self) -> str:
        def one(name: str) -> str:
            return f"{name}=DEFAULTS[{name!r}]" if name in self.defaults else name

        listed = [*map(one, self.positional_only), *(["/"] if self.positional_only else [])]
        listed += map(one, self.ordinary)
        if self.rest or self.keyword_only:
            listed.append(f"*{self.rest or ''}")
        listed += map(one, self.keyword_only)
        listed += [f"**{self.more}"] if self.more else []
        return ", ".join(listed)

    def seen(self, received: dict[str, Any]) -> dict[str, Any]:
        """The arguments that a tool received, as rules name them."""
        seen = dict(received)
        if self.rest is not None:
            rest = list(seen.pop(self.rest))
            seen |= {self.rest: rest} if rest else {}
        return seen | (seen.pop(self.more) if self.more is not None else {})


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    names = draw(st.permutations(NAMES))
    count = st.integers(0, 2)
    kinds: list[list[str]] = []
    for _ in range(3):
        number = draw(count)
        kinds.append(list(names[:number]))
        names = names[number:]
    rest, more = (draw(st.sampled_from([None, name])) for name in names[:2])
    in_order = [*kinds[0], *kinds[1]]
    first = draw(st.integers(0, len(in_order)))  # defaults come last among these
    defaulted = [*in_order[first:], *(k for k in kinds[2] if draw(st.booleans()))]
    defaults = {name: draw(VALUES) for name in defaulted}
    return Signature(kinds[0], kinds[1], rest, kinds[2], more, defaults)


def _tool(signature: Signature, received: list[Any], *, later: bool) -> Callable[..., Any]:
    """A real function with this signature. It keeps what it receives, and then changes it."""

    def take(given: dict[str, Any]) -> str:
        received.append(copy.deepcopy(given))
        for value in given.values():
            if isinstance(value, (list, dict)):
                value.clear()
        return "done"

    source = f"def tool({signature.written()}): return TAKE(dict(locals()))"
    space: dict[str, Any] = {"TAKE": take, "DEFAULTS": copy.deepcopy(signature.defaults)}
    exec(f"async {source}" if later else source, space)
    return space["tool"]  # type: ignore[no-any-return]  # what `exec` defined


def _guard(judged: list[Any]) -> Guard:
    vocabulary = Vocabulary()

    @vocabulary.predicate(false_is_final=True)
    def look(trace: Any, at: int, metrics: Any) -> bool:
        if at + 1 == len(trace):
            judged.append(copy.deepcopy(trace[at].args))
        return True

    constraints = [{"name": "look", "rule": "G(pay -> look())"}]
    stated = {"finish": "free", "constraints": constraints}
    return Guard(Procedure.from_dict(stated, vocabulary=vocabulary))


def same(one: Any, other: Any) -> bool:
    """Are these equal by type and value?"""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and repr(one) == repr(other)


def _tried(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """The result of a call, or why there is none."""
    try:
        return call(), None
    except (TypeError, UsageError) as error:
        return None, error


@cases(150)
@given(signatures(), st.data(), st.booleans())
def test_a_python_call(signature: Signature, data: st.DataObject, later: bool) -> None:
    in_order = [*signature.positional_only, *signature.ordinary]
    number = data.draw(st.integers(0, len(in_order) + (2 if signature.rest else 0)))
    values = [data.draw(VALUES) for _ in range(number)]
    names = [*in_order[number:], *signature.keyword_only, *(NAMES if signature.more else ())]
    chosen = data.draw(st.sets(st.sampled_from(names))) if names else set()
    keywords = {name: data.draw(VALUES) for name in chosen}

    received: list[Any] = []
    judged: list[Any] = []
    guard = _guard(judged)
    tool = _tool(signature, received, later=later)
    plain = _tool(signature, [], later=False)
    _, unbound = _tried(lambda: plain(*copy.deepcopy(values), **copy.deepcopy(keywords)))
    wrapped = guard.wrap({"pay": tool})["pay"]
    result, refused = _tried(
        lambda: asyncio.run(wrapped(*values, **keywords)) if later else wrapped(*values, **keywords)
    )
    if refused is not None:
        taken = {*signature.positional_only, signature.rest}
        assert unbound is not None or keywords.keys() & taken, "no name means two arguments"
        assert not received
        assert guard.turn == 0
        return
    assert unbound is None
    assert result == "done"
    assert len(received) == 1
    assert same(signature.seen(received[0]), judged[-1])


@cases(150)
@given(signatures(), st.data(), st.booleans())
def test_a_call_of_a_model(signature: Signature, data: st.DataObject, later: bool) -> None:
    names = [*signature.positional_only, *signature.ordinary, *signature.keyword_only]
    arguments = {n: data.draw(VALUES) for n in names if n not in signature.defaults}
    arguments |= {n: data.draw(VALUES) for n in signature.defaults if data.draw(st.booleans())}
    if signature.rest is not None and data.draw(st.booleans()):
        arguments[signature.rest] = data.draw(st.lists(VALUES, min_size=1, max_size=2))
    if signature.more is not None:
        others = set(NAMES) - {*names, signature.rest, signature.more}
        extra = data.draw(st.sets(st.sampled_from(sorted(others)))) if others else set()
        arguments |= {name: data.draw(VALUES) for name in extra}

    received: list[Any] = []
    judged: list[Any] = []
    guard, call = _guard(judged), Call("pay", copy.deepcopy(arguments))
    tools = {"pay": _tool(signature, received, later=later)}
    if later:
        results = asyncio.run(guard.run_turn_async(tools, [call]))
    else:
        results = guard.run_turn(tools, [call])
    assert results == ["done"]
    assert same(signature.seen(received[0]), judged[-1])
    assert same({**signature.defaults, **arguments}, judged[-1])
