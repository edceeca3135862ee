"""A rule sees the events that it can be about, and no others."""

from __future__ import annotations

import pytest

from bylaw import parse
from bylaw.logic import formula as f
from bylaw.semantics.engine import NAMELESS, heard_role
from bylaw.semantics.past.compiled import triggers
from bylaw.semantics.past.registers import Registers

USER, ASSISTANT = heard_role("user"), heard_role("assistant")
NAMES = ("get_order", "get_user", "pay", "final_answer", USER, ASSISTANT, NAMELESS)


@pytest.mark.parametrize(
    ("rule", "heard"),
    [
        ("pay -> O get_order", {"pay"}),
        ('call(like("get_*"), ok) -> args.i = 1', {"get_order", "get_user", NAMELESS}),
        ('{like("get_*"), pay} -> args.i = 1', {"get_order", "get_user", "pay", NAMELESS}),
        ("call -> args.i = 1", {"get_order", "get_user", "pay", NAMELESS}),
        ("call & get_user -> args.i = 1", {"get_user"}),
        ("says(user) -> O pay", {USER}),
        ("says(user) | pay -> O get_user", {USER, "pay"}),
        ("says(user) | ok -> O get_user", {USER, "get_order", "get_user", "pay", NAMELESS}),
        ("final_answer -> O pay", {"final_answer"}),
        ("!pay", {"pay"}),
        ("text ~ /x/ -> O pay", set(NAMES)),
    ],
)
def test_a_body_can_be_false_only_at_events_that_trigger_it(rule: str, heard: set[str]) -> None:
    found = triggers(parse(rule))
    assert {name for name in NAMES if found is None or name in found} == heard


def test_a_rule_with_globs_is_shown_only_their_tools() -> None:
    rule = parse('G(call(like("pay_*")) -> let i = args.i: earlier call(like("get_*"), i = i, ok))')
    assert isinstance(rule, f.Always)
    engine = Registers(rule, {})
    assert [name for name in ("pay_now", "get_order", "search", USER) if engine.concerns(name)] == [
        "pay_now",
        "get_order",
    ]
