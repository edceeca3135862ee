"""Invalid options of a guard are errors: a setting by mistake would let calls pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bylaw import BylawError, Call, Guard, Procedure

PROCEDURE = Procedure.from_dict({"constraints": [{"name": "no-b", "rule": "G !b"}]})


@pytest.mark.parametrize(
    "options",
    [
        {"setting": "softblock"},
        {"hints": "all"},
        {"soft_block": "same constraint"},
        {"soft_block_limit": 0},
        {"soft_block_limit": True},
        {"procedure": "coder.yaml"},
        {"procedure": {"constraints": []}},
        {"ask": "yes"},
        {"ask_timeout": "5"},
        {"ask_timeout": 0},
        {"ask_timeout": float("inf")},
        {"ask_timeout": float("nan")},
    ],
    ids=str,
)
def test_invalid_options_are_errors(options: dict[str, Any]) -> None:
    with pytest.raises(BylawError) as caught:
        Guard(**{"procedure": PROCEDURE, **options})
    (problem,) = caught.value.diagnostics
    assert problem.code == "E414"
    assert problem.help


def test_a_turn_with_something_other_than_calls_is_an_error() -> None:
    guard = Guard(PROCEDURE)
    calls: Any = [Call("a"), "b"]
    with pytest.raises(BylawError, match="E414"):
        guard.propose(calls)
    assert guard.turn == 0


def _look() -> str:
    return "seen"


@pytest.mark.parametrize(
    "tools",
    [[_look], _look, "look", {"look": "look"}, {1: _look}],
    ids=["a list", "a function", "a name", "no function", "a number"],
)
def test_tools_have_names_and_can_be_called(tools: Any) -> None:
    guard = Guard(PROCEDURE)
    for use in (
        lambda: guard.wrap(tools),
        lambda: guard.run_turn(tools, [Call("look")]),
        lambda: asyncio.run(guard.run_turn_async(tools, [Call("look")])),
    ):
        with pytest.raises(BylawError, match=r"E414[\s\S]*by name"):
            use()
    assert guard.turn == 0


@pytest.mark.parametrize(
    "calls", [["look"], Call("look"), None, "look", [{"tool": "look"}]], ids=str
)
def test_a_turn_is_a_list_of_calls(calls: Any) -> None:
    guard, tools = Guard(PROCEDURE), {"look": _look}
    for use in (
        lambda: guard.propose(calls),
        lambda: guard.run_turn(tools, calls),
        lambda: asyncio.run(guard.run_turn_async(tools, calls)),
    ):
        with pytest.raises(BylawError, match=r"E414[\s\S]*Call\("):
            use()
    assert guard.turn == 0


def test_an_unknown_role_is_an_error() -> None:
    role: Any = "robot"
    with pytest.raises(BylawError, match="E414"):
        Guard(PROCEDURE).say(role, "hello")
