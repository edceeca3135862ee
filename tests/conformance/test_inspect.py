"""Behaviour specific to Inspect: samples, scores, and calls that never reach an approver."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, Script, answer, fetch, lookup, pay
from driver import Setup

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
    from inspect_ai.dataset import Sample
    from inspect_driver import evaluated, scripted, tools_of

    from bylaw.adapters.inspect import compliance, guarded

    setup = Setup(procedure, {"go": script})
    solver = react(tools=tools_of(setup.desk), submit=AgentSubmit(keep_in_messages=keep))
    solver = changed.pop("solver", solver)
    options = changed.pop("options", {})
    usual = {
        "dataset": [Sample(input="go")],
        "solver": guarded(solver, procedure, **options) if gated else solver,
        "scorer": compliance(procedure),
        "model": scripted(setup),
    }
    epochs = changed.pop("epochs", 1)
    return asyncio.run(evaluated(Task(**(usual | changed)), epochs=epochs)), setup.desk.ran


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
    assert _score(sample).answer is None
    assert "The run ends here." in sample.output.completion


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


@pytest.mark.parametrize(("text", "ran"), [("go", []), ("please", [pay()])])
def test_rules_may_speak_of_messages(text: str, ran: list[Call]) -> None:
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser

    rule = 'G(pay -> O (says(user) & text contains "please"))'
    said = [ChatMessageUser(content="go"), ChatMessageUser(content=text)]
    dataset = [Sample(input=said)]
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


# ── answers without a tool ───────────────────────────────────────────────────────────────────


def test_an_answer_by_a_text_is_held_back() -> None:
    from inspect_ai.solver import chain, generate, use_tools
    from inspect_driver import tools_of

    desk = Desk()
    solver = chain(use_tools(tools_of(desk)), generate())
    procedure = _procedure("G(final_answer -> O lookup)")
    (sample,), _ = _run(procedure, [[], [lookup()], []], solver=solver)
    assert desk.ran == [lookup()]
    assert _score(sample).answer == "Let me think."
    assert _score(sample).value == 1.0
    assert [event["action"] for event in _score(sample).metadata["gate"]["events"]] == ["block"]


def test_an_answer_by_a_text_may_end_the_run() -> None:
    from inspect_ai.solver import generate

    procedure = _procedure("G(final_answer -> O lookup)", "HARD_STOP")
    (sample,), _ = _run(procedure, [[], []], solver=generate())
    assert _score(sample).answer is None
    assert "The run ends here." in sample.output.completion


# ── other agents ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("by", ["handoff", "as_tool"])
def test_an_agent_that_is_handed_the_work_is_judged_in_the_same_run(by: str) -> None:
    from inspect_ai import agent as agents
    from inspect_ai.agent import react
    from inspect_driver import output, tools_of

    desk = Desk()
    inner = react(name="helper", description="Pays.", tools=tools_of(desk))
    tools = [*tools_of(desk), getattr(agents, by)(inner)]
    call = Call("transfer_to_helper") if by == "handoff" else Call("helper", {"input": "x"})
    left = iter(
        [[pay(1)], [lookup()], [call], [pay(2)], [answer("of the helper")], [answer("mine")]]
    )
    model = _mock(lambda *_: output(next(left)))
    procedure = _procedure("G(pay -> O lookup) & CalledN(final_answer, <= 1)")
    (sample,), _ = _run(procedure, [], model=model, solver=react(tools=tools))
    assert desk.ran == [lookup(), pay(2)]
    assert _score(sample).answer == "mine"


# ── approvers and reviewers of the task ──────────────────────────────────────────────────────


def _approver(decide: Any) -> Any:
    from inspect_ai.approval import ApprovalPolicy, approver

    @approver(name="task")  # type: ignore[untyped-decorator]  # the framework is not followed
    def made() -> Any:
        async def approve(message: Any, call: Any, view: Any, history: Any) -> Any:
            return decide(call)

        return approve

    return [ApprovalPolicy(made(), "*")]


@pytest.mark.parametrize(("word", "ran"), [("approve", [pay(50)]), ("reject", [])])
def test_a_call_that_needs_approval_is_left_to_the_approvers_of_the_task(
    word: Any, ran: list[Call]
) -> None:
    from inspect_ai.approval import Approval

    asked = []

    def decide(call: Any) -> Any:
        asked.append(call.function)
        return Approval(decision=word if call.function == "pay" else "approve", explanation="no")

    procedure = _procedure("G(pay -> args.amount < 10)", "ASK")
    _, found = _run(procedure, [[pay(50)], [answer()]], approval=_approver(decide))
    assert found == ran
    assert asked == ["pay", "submit"]


def test_a_call_that_needs_approval_is_refused_where_nobody_can_approve() -> None:
    procedure = _procedure("G(pay -> args.amount < 10)", "ASK")
    _, ran = _run(procedure, [[pay(50)], [answer()]])
    assert ran == []


def test_a_call_that_an_approver_changes_is_decided_as_it_is_then() -> None:
    from dataclasses import replace

    from inspect_ai.approval import Approval

    def decide(call: Any) -> Any:
        if call.function != "pay":
            return Approval(decision="approve")
        changed = replace(call, arguments={"amount": call.arguments["amount"] * 10})
        return Approval(decision="modify", modified=changed)

    procedure = _procedure("G(pay -> args.amount < 10)")
    script = [[pay(5)], [pay(0)], [answer()]]
    _, ran = _run(procedure, script, approval=_approver(decide))
    assert ran == [pay(0)]


def test_an_approver_is_not_asked_about_what_the_gate_refuses() -> None:
    asked = []

    def decide(call: Any) -> Any:
        from inspect_ai.approval import Approval

        asked.append(call.function)
        return Approval(decision="approve")

    _run(_procedure("G !pay"), [[pay()], [answer()]], approval=_approver(decide))
    assert asked == ["submit"]


def test_reviewers_of_the_task_are_asked_too() -> None:
    from inspect_ai.review import Review, ReviewPolicy, reviewer

    seen = []

    @reviewer(name="task")  # type: ignore[untyped-decorator]  # the framework is not followed
    def made() -> Any:
        async def review(message: Any, call: Any, result: Any, *_: Any) -> Any:
            seen.append(result.text)
            return Review(decision="continue")

        return review

    _run(_procedure("G !fetch"), [[pay()], [answer()]], review=[ReviewPolicy(made(), "*")])
    assert seen == ["paid 5", "done"]


def test_private_names_are_where_they_were() -> None:
    """The adapter builds on them: when Inspect moves one, this says so."""
    from contextvars import ContextVar

    from inspect_ai._util.exception import TerminateSampleError
    from inspect_ai.approval import _apply as approving
    from inspect_ai.review import _apply as reviewing

    assert issubclass(TerminateSampleError, Exception)
    assert isinstance(approving._tool_approver, ContextVar)
    assert isinstance(reviewing._tool_reviewer, ContextVar)
