"""A guard that was set up wrongly says so: another setting than was meant would let calls pass."""

from __future__ import annotations

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
    ],
    ids=str,
)
def test_what_is_not_known_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BylawError) as caught:
        Guard(PROCEDURE, **options)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E414"
    assert problem.help


def test_what_is_no_call_is_refused_before_anything_is_decided() -> None:
    guard = Guard(PROCEDURE)
    calls: Any = [Call("a"), "b"]
    with pytest.raises(BylawError, match="E414"):
        guard.propose(calls)
    assert guard.turn == 0


def test_only_roles_speak() -> None:
    role: Any = "robot"
    with pytest.raises(BylawError, match="E414"):
        Guard(PROCEDURE).say(role, "hello")
