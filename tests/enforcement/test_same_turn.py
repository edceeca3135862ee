"""A turn whose calls are proposed one by one, as hooks do, is decided like any other turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from strategies import data_formulas, formulas, past_rules

from bylaw import Call, Constraint, Guard, Procedure
from bylaw.procedure.procedure import SEVERITIES

RULES = st.one_of(formulas(3), past_rules(), data_formulas(2))
CALLS = st.builds(Call, st.sampled_from("abc"), st.fixed_dictionaries({"x": st.integers(0, 2)}))
TURNS = st.lists(st.lists(CALLS, min_size=1, max_size=4), max_size=4)
EVIDENCE = "G(b -> earlier call(a, ok))"


@st.composite
def procedures(draw: st.DrawFn) -> Procedure:
    rules = draw(st.lists(RULES, min_size=1, max_size=3))
    severity: Any = st.sampled_from(SEVERITIES)
    return Procedure(
        [Constraint(f"r{n}", rule, severity=draw(severity)) for n, rule in enumerate(rules)]
    )


def _guard(procedure: Procedure) -> Guard:
    return Guard(procedure, unenforceable="score", run_id="one", clock=None)


@cases(300)
@given(procedures(), TURNS, st.data())
def test_a_turn_in_pieces_is_the_same_turn(
    procedure: Procedure, turns: list[list[Call]], data: st.DataObject
) -> None:
    whole, pieces = _guard(procedure), _guard(procedure)
    for calls in turns:
        decided = whole.propose(calls)
        again = []
        for place, call in enumerate(calls):
            again += pieces.propose([call], same_turn=place > 0)
            if data.draw(st.booleans(), label="saved in between"):
                saved = pieces.save()
                pieces = _guard(procedure)
                pieces.restore(saved)
        described = [(each.action, each.id, each.index, each.message) for each in decided]
        assert described == [(each.action, each.id, each.index, each.message) for each in again]
        for guard in (whole, pieces):
            for decision in guard.awaiting:
                guard.record(decision, "done")
    resolved = [[each.resolution for each in guard.events] for guard in (whole, pieces)]
    assert resolved[0] == resolved[1]
    assert whole.finish().score == pieces.finish().score


@pytest.mark.parametrize(
    ("same_turn", "said", "allowed"),
    [
        (True, False, False),  # the model had not read the result when it proposed b
        (False, False, True),
        (True, True, True),  # a message ends a turn
    ],
)
def test_evidence_of_a_sibling_does_not_count(same_turn: bool, said: bool, allowed: bool) -> None:
    guard = Guard(Procedure.from_dict({"constraints": [{"name": "a-first", "rule": EVIDENCE}]}))
    (first,) = guard.propose([Call("a")])
    guard.record(first, "done")
    if said:
        guard.say("user", "and now b")
    (second,) = guard.propose([Call("b")], same_turn=same_turn)
    assert second.allowed is allowed


def test_the_first_calls_of_a_run_are_a_turn_of_their_own() -> None:
    guard = Guard(Procedure.from_dict({"constraints": [{"name": "a-first", "rule": EVIDENCE}]}))
    (decision,) = guard.propose([Call("a")], same_turn=True)
    assert (decision.turn, decision.index) == (0, 0)
