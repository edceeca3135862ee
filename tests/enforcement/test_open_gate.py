"""A gate without rules counts turns and steps like a guard whose only rule always holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bylaw import Call, Guard, Procedure
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.open_gate import OpenGate
from bylaw.trace.event import Role

PERMISSIVE = Procedure.from_dict({"constraints": [{"name": "anything", "rule": "true"}]})
CALLS = st.lists(st.sampled_from([Call("a", {"i": 1}, id="1"), Call("b")]), max_size=3)
ROLES = st.sampled_from(["assistant", "user"])


def allowed(decisions: list[Decision]) -> list[object]:
    assert all(each.allowed for each in decisions)
    return [(each.call, each.turn, each.index) for each in decisions]


@given(st.lists(st.one_of(CALLS, ROLES), max_size=8), st.booleans())
def test_turns_and_steps_are_those_of_a_guard(deeds: list[list[Call] | Role], last: bool) -> None:
    guard, gate = Guard(PERMISSIVE, "baseline", clock=None), OpenGate()
    for deed in [*deeds, *([[Call("final_answer", {"answer": 1})]] if last else [])]:
        if isinstance(deed, str):
            guard.say(deed, "…")
            gate.say(deed, "…")
        else:
            decisions = gate.propose(deed)
            assert allowed(decisions) == allowed(guard.propose(deed))
        assert gate.turn == guard.turn
        assert not gate.stopped
    if last:
        events = guard.finish().trace.seen("all", answer=True)
        assert decisions[0].call.step == events[-1].step
