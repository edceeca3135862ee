"""The tool loop: limits, refusals, and turns that are not what they should be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw import Call, Guard, Procedure
from bylaw.agents.loop import MAX_SILENT_TURNS, Episode, as_integer, new_chat
from bylaw.agents.protocol import Reply, ToolSpec
from bylaw.enforcement.open_gate import OpenGate

TOOLS = [
    ToolSpec("double", "Doubles x.", {"x": {"type": "integer"}}),
    ToolSpec("final_answer", "Answers.", {"answer": {"type": "integer"}}),
]


def double(x: int) -> str:
    return json.dumps({"result": 2 * x})


def _episode(rule: str = "CalledN(double, >= 0)", budget: int = 5, **options: Any) -> Episode:
    procedure = Procedure.from_dict({"constraints": [{"name": "rule", "rule": rule}]})
    conversation = new_chat("key", "seed", "Be good.", "Double 3.", TOOLS)
    return Episode(
        conversation, {"double": double}, Guard(procedure, clock=None, **options), budget
    )


def _calls(*calls: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(calls=tuple(Call(name, args, id=f"c{i}") for i, (name, args) in enumerate(calls)))


def _told(episode: Episode) -> list[Any]:
    return [json.loads(m["content"]) for m in episode.conversation.messages if m["role"] == "tool"]


def test_calls_run_and_the_answer_ends_the_run() -> None:
    episode = _episode()
    episode.take(_calls(("double", {"x": 3})))
    assert _told(episode) == [{"result": 6}]
    assert not episode.done
    episode.take(_calls(("final_answer", {"answer": 6})))
    assert (episode.ending, episode.answer, len(episode.executed)) == ("answered", 6, 1)


def test_a_refusal_is_read_and_does_not_count() -> None:
    episode = _episode("G !double")
    episode.take(_calls(("double", {"x": 3})))
    assert _told(episode)[0]["violation_type"] == "block"
    assert episode.executed == []
    assert [(each.reason, each.constraints) for each in episode.refused] == [("block", ("rule",))]


def test_the_gate_may_end_the_run() -> None:
    episode = _episode("G !double", soft_block_limit=2)
    episode.take(_calls(("double", {"x": 3})))
    episode.take(_calls(("double", {"x": 4})))
    assert episode.ending == "stopped"


def test_beyond_the_budget_nothing_runs_but_an_answer_is_taken() -> None:
    episode = _episode(budget=2)
    episode.take(
        _calls(*[("double", {"x": x}) for x in (1, 2, 3)], ("final_answer", {"answer": 4}))
    )
    assert [call.args["x"] for call in episode.executed] == [1, 2]
    assert [each.reason for each in episode.refused] == ["budget"]
    assert episode.ending == "answered"


def test_turns_have_a_limit_too() -> None:
    episode = _episode(budget=1)
    for turn in range(2):
        assert not episode.done
        episode.take(_calls(("double", {"x": turn})))
    assert episode.ending == "truncated"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("treble", {"x": 1}), "there is no tool 'treble'"),
        (("double", {"y": 1}), "unexpected keyword argument 'y'"),
        (("double", {}), "missing 1 required positional argument"),
        (("double", {"self": 1, "x": 2}), "unexpected keyword argument 'self'"),
    ],
)
def test_a_call_that_fails_says_why_and_counts(call: Any, problem: str) -> None:
    episode = _episode()
    episode.take(_calls(call))
    assert problem in _told(episode)[0]["error"]
    assert len(episode.executed) == 1
    assert episode.executed[0].failed


def test_malformed_calls_are_reported_to_the_model() -> None:
    episode = _episode()
    episode.take(Reply(text="<tool_call>{", malformed=("The call is not JSON.",)))
    assert episode.conversation.messages[-1] == {"role": "user", "content": "The call is not JSON."}
    assert episode.malformed == 1


def test_an_agent_that_makes_no_calls_is_reminded_and_then_stopped() -> None:
    episode = _episode()
    for _ in range(MAX_SILENT_TURNS):
        assert not episode.done
        episode.take(Reply(text="I would say six."))
    assert episode.ending == "silent"
    reminders = [m for m in episode.conversation.messages if m["role"] == "user"]
    assert len(reminders) == 1 + MAX_SILENT_TURNS


def test_a_model_that_fails_leaves_nothing_on_record() -> None:
    episode = _episode()
    episode.take(Reply(failure="the server is gone"))
    assert episode.done
    assert (episode.failure, episode.ending) == ("the server is gone", None)


@pytest.mark.parametrize(
    ("answer", "integer"),
    [
        (12, 12),
        ("12", 12),
        (" -3 ", -3),
        (12.0, 12),
        (12.5, None),
        (True, None),
        (None, None),
        ("twelve", None),
        ("12 apples", None),
        ([12], None),
        ("9" * 50, None),
    ],
)
def test_what_counts_as_an_integer(answer: Any, integer: int | None) -> None:
    assert as_integer(answer) == integer


def test_a_message_has_the_step_of_its_calls() -> None:
    episode = _episode()
    for x in (1, 2):
        call = Call("double", {"x": x}, id="c")
        episode.take(Reply(text=f"Next: {x}.", calls=(call,)))
    assert [event.step for event in episode.events] == [0, 0, 1, 1]
    assert [type(event).__name__ for event in episode.events] == ["Message", "Call"] * 2


_REPLIES = st.builds(
    lambda text, calls: Reply(text=text, calls=_calls(*calls).calls),
    st.sampled_from(["", "", "Hm."]),
    st.lists(
        st.sampled_from(
            [
                ("double", {"x": 1}),
                ("double", {"x": 2}),
                ("double", {}),
                ("treble", {}),
                ("final_answer", {"answer": 6}),
            ]
        ),
        max_size=3,
    ),
)


@given(
    st.lists(_REPLIES, max_size=8),
    st.sampled_from(["baseline", "soft-block", "block-and-warn"]),
    st.sampled_from(["CalledN(double, <= 1)", "G(final_answer -> O double)", "G !treble"]),
)
def test_a_run_and_its_guard_tell_one_story(replies: list[Reply], setting: Any, rule: str) -> None:
    guarded = _episode(rule, setting=setting)
    open_run = _episode()
    open_run.guard = OpenGate()
    for episode in (guarded, open_run):
        for reply in replies:
            if not episode.done:
                episode.take(reply)
    assert isinstance(guarded.guard, Guard)
    trace = guarded.guard.finish().trace
    assert tuple(guarded.events) == trace.events
    assert trace.answer == (None if guarded.answer is None else str(guarded.answer))
    told = [each.message for each in guarded.refused if each.reason != "budget"]
    assert [refusal.message for refusal in trace.refusals] == told
    if setting == "baseline":
        assert open_run.events == guarded.events, "a gate without rules has the same steps"
