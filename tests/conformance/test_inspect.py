"""Behaviour specific to Inspect: samples, scores, and calls that never reach an approver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from desk import Desk, Script, answer, fetch, lookup, pay

from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call

pytestmark = pytest.mark.frameworks


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("inspect_ai", reason="NOT TESTED: inspect-ai is not installed")


def _procedure(rule: str, severity: str = "SOFT_BLOCK", **more: Any) -> Procedure:
    constraint = {"name": "rule", "rule": rule, "severity": severity}
    return Procedure.from_dict({"bylaw": 1, "constraints": [constraint], **more})


def _run(
    procedure: Any, script: Script, *, keep: bool = False, gated: bool = True, **changed: Any
) -> tuple[list[Any], list[Call]]:
    """The samples of a task, and which calls ran."""
    from inspect_ai import Task
    from inspect_ai.agent import AgentSubmit, react
    from inspect_ai.approval import ApprovalPolicy
    from inspect_ai.dataset import Sample
    from inspect_ai.tool import ToolError
    from inspect_driver import evaluated, scripted, tools_of

    from bylaw.adapters.inspect import compliance, gate

    desk = Desk(ToolError)
    usual = {
        "dataset": [Sample(input="go")],
        "solver": react(tools=tools_of(desk), submit=AgentSubmit(keep_in_messages=keep)),
        "approval": [ApprovalPolicy(gate(procedure), "*")] if gated else None,
        "scorer": compliance(procedure),
        "model": scripted(script, []),
    }
    return evaluated(Task(**(usual | changed))), desk.ran


def _mock(output: Any) -> Any:
    """A model that says what a function of the messages and its own turns so far gives."""
    from inspect_ai.model import get_model

    def said(messages: list[Any], *_: Any) -> Any:
        return output(messages, sum(message.role == "assistant" for message in messages))

    return get_model("mockllm/model", custom_outputs=said, memoize=False)


def _score(sample: Any) -> Any:
    return sample.scores["compliance"]


def test_every_sample_has_a_guard_of_its_own() -> None:
    from inspect_ai.dataset import Sample
    from inspect_driver import output

    model = _mock(lambda _, turn: output([[pay()], [pay()], [answer()]][turn]))
    dataset = [Sample(input=f"go {i}") for i in range(3)]
    procedure = _procedure("CalledN(pay, <= 1)")
    samples, ran = _run(procedure, [], dataset=dataset, model=model, epochs=2)
    assert len(samples) == 6
    assert ran == [pay()] * 6
    for sample in samples:
        gate = _score(sample).metadata["gate"]
        assert [event["action"] for event in gate["events"]] == ["block"]
        assert _score(sample).value == 1.0


@pytest.mark.parametrize("keep", [False, True])
def test_a_sample_is_scored_without_a_gate(keep: bool) -> None:
    procedure = _procedure("G(pay -> O call(lookup, ok)) & Before(pay, final_answer)")
    (sample,), _ = _run(procedure, [[pay()], [answer()]], gated=False, keep=keep)
    assert _score(sample).value == 0.0
    assert _score(sample).answer == "done"
    assert "gate" not in _score(sample).metadata
    (sample,), _ = _run(procedure, [[lookup()], [pay()], [answer()]], gated=False, keep=keep)
    assert _score(sample).value == 1.0
    assert _score(sample).metadata["tool_sequence"] == ["lookup", "pay"]


@pytest.mark.parametrize("keep", [False, True])
def test_refused_calls_are_not_scored(keep: bool) -> None:
    procedure = _procedure("G(pay -> O lookup) & G(final_answer -> O lookup)")
    script = [[pay(), fetch()], [answer("early")], [lookup()], [answer()]]
    (sample,), _ = _run(procedure, script, keep=keep)
    assert _score(sample).metadata["tool_sequence"] == ["fetch", "lookup"]
    assert _score(sample).value == 1.0
    assert _score(sample).answer == "done"


def test_a_call_that_ended_the_run_is_not_scored() -> None:
    (sample,), _ = _run(_procedure("G !pay", "HARD_STOP"), [[lookup()], [pay()]])
    assert _score(sample).metadata["tool_sequence"] == ["lookup"]
    assert _score(sample).value == 1.0
    assert sample.limit is not None


def test_failures_are_scored() -> None:
    procedure = _procedure("F call(fetch, failed) & G(lookup -> result.open = true)")
    script = [[fetch("missing"), lookup()], [answer()]]
    (sample,), _ = _run(procedure, script, gated=False)
    assert _score(sample).value == 1.0


def test_a_score_that_cannot_be_decided_is_absent() -> None:
    from bylaw.vocabulary.registry import Vocabulary

    vocabulary = Vocabulary()

    @vocabulary.predicate
    def odd(trace: Any, at: int, metrics: Any) -> bool:
        raise KeyError("invoice")

    constraint = {"name": "rule", "rule": "G odd"}
    procedure = Procedure.from_dict(
        {"bylaw": 1, "constraints": [constraint]}, vocabulary=vocabulary
    )
    (sample,), _ = _run(procedure, [[lookup()], [answer()]], gated=False)
    assert _score(sample).value != _score(sample).value  # NaN: left out of the mean
    assert "invoice" in _score(sample).reason


def test_calls_that_reach_no_approver_are_turns_without_calls() -> None:
    script = [[pay()], [Call("fly")], [pay()], [answer()]]
    (sample,), ran = _run(_procedure("G !pay", "BLOCK_AND_WARN"), script)
    assert ran == []
    events = _score(sample).metadata["gate"]["events"]
    assert [event["action"] for event in events] == ["warn", "warn"]


def test_an_answer_is_decided_after_the_other_calls_of_its_turn() -> None:
    procedure = _procedure("G(final_answer -> O lookup)")
    (sample,), ran = _run(procedure, [[answer(), lookup()]])
    assert ran == [lookup()]
    assert _score(sample).answer == "done"
    assert _score(sample).value == 1.0


def test_a_message_id_may_repeat() -> None:
    from inspect_driver import output

    outputs = [output([pay()]), output([answer()])]
    model = _mock(lambda _, turn: outputs[turn // 3].model_copy(deep=True))
    _, ran = _run(_procedure("CalledN(pay, <= 2)"), [], model=model)
    assert ran == [pay(), pay()]


@pytest.mark.parametrize(("task", "ran"), [("pay", []), ("please pay", [pay()])])
def test_rules_may_speak_of_messages(task: str, ran: list[Call]) -> None:
    from inspect_ai.dataset import Sample

    rule = 'G(pay -> O (says(user) & text contains "please"))'
    dataset = [Sample(input=task)]
    (sample,), found = _run(_procedure(rule, events="all"), [[pay()], [answer()]], dataset=dataset)
    assert found == ran
    assert _score(sample).value == 1.0


def test_an_agent_that_simply_stops_has_answered() -> None:
    from inspect_ai.solver import chain, generate, use_tools
    from inspect_driver import tools_of

    desk = Desk()
    solver = chain(use_tools(tools_of(desk)), generate())
    procedure = _procedure("G(pay -> O lookup) & Before(lookup, final_answer)")
    (sample,), _ = _run(procedure, [[pay()], [lookup()], []], solver=solver)
    assert desk.ran == [lookup()]
    assert _score(sample).answer == "Let me think."
    assert _score(sample).value == 1.0


def test_procedures_may_be_named_by_their_files(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text("bylaw: 1\nconstraints:\n  - {name: rule, rule: G !pay}\n", encoding="utf-8")
    (sample,), ran = _run(str(path), [[pay()], [answer()]])
    assert ran == []
    assert _score(sample).value == 1.0


def test_where_an_agent_may_try_again_the_answer_is_withdrawn() -> None:
    from inspect_ai.agent import AgentAttempts, react
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_driver import tools_of

    desk = Desk()
    samples, _ = _run(
        _procedure("G(final_answer -> O lookup)"),
        [[lookup()], [answer("wrong")], [pay()], [answer("right")]],
        dataset=[Sample(input="go", target="right")],
        solver=react(tools=tools_of(desk), attempts=AgentAttempts(attempts=3)),
        scorer=includes(),
    )
    assert desk.ran == [lookup(), pay()]
    assert samples[0].error is None
    assert samples[0].scores["includes"].value == "C"
