"""A gate and a scorer for Inspect: `pip install 'bylaw[inspect]'`.

    Task(
        dataset=dataset,
        solver=guarded(react(tools=[search(), pay()]), "desk.yaml"),
        scorer=compliance("desk.yaml"),
    )

- `guarded` puts an agent or a solver behind a gate. Every sample has its own guard. The calls of a
  model turn are decided together, in the order proposed, before any of them runs. The model reads a
  refusal as the error of its call, and a tool receives the arguments that were judged.
- A call of the tool `submit` is `final_answer` to the rules, and decided after the other calls of
  its turn. Otherwise the last output is the answer: if a rule refuses it, the model reads why, and
  the solver runs again. Where an agent has several attempts, the next turn withdraws its answer.
- When the gate ends the run, the sample ends with a text that says so, and is scored.
- Agents that the agent hands over to, or has as a tool, are judged in the same run. Their answers
  are not the answer.
- Approvers and reviewers of the task are asked about what the gate lets pass. A call that needs a
  person's approval is left to the approvers of the task, unless the guard itself asks. Policies
  that are given to an agent (`react(approval=…)`) take the gate's place: give them to the task.
- `compliance` scores the messages of a sample, with or without a gate. Calls that an approver
  rejected are not in the trace. The metadata of a score holds the report and the gate's events.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from bylaw.adapters.gated_run import GatedRun, GuardSource, ProcedureSource
from bylaw.enforcement.agent_texts import stop_message
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import Statistics
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.refusal_mark import refusal_of
from bylaw.trace.trace import Trace
from bylaw.values import Json

try:
    from inspect_ai._util.exception import TerminateSampleError  # a test says when it moves
    from inspect_ai.agent import Agent, as_solver, is_agent
    from inspect_ai.approval import ApprovalPolicy, approval
    from inspect_ai.event import ToolEvent
    from inspect_ai.log import Transcript, transcript
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
    )
    from inspect_ai.review import ReviewPolicy, review
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import ToolCallError

    from bylaw.adapters.inspect_gate import (
        AT_WORK,
        GatedAgent,
        gate_approver,
        gate_reviewer,
        message_key,
        outer_approver,
        outer_reviewer,
    )
except ModuleNotFoundError as error:
    missing = "inspect-ai is not installed: pip install 'bylaw[inspect]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["compliance", "guarded", "trace_of"]

_REFUSED: Final = "approval"
"""Inspect's error type for a call that an approver rejected."""

_GUARDS: Final[WeakKeyDictionary[Transcript, Guard]] = WeakKeyDictionary()
"""The guards of running samples."""


@solver
def guarded(
    inner: Solver | Agent,
    procedure: ProcedureSource | GuardSource,
    submit: str = "submit",
    **options: Any,
) -> Solver:
    """A solver behind a gate. `submit` names the tool for the answer.

    The procedure is an object or the path of a file, and `options` are those of `Guard`. A
    `GuardSource` has both.
    """
    source = procedure if isinstance(procedure, GuardSource) else GuardSource(procedure, options)
    solving = as_solver(inner) if is_agent(inner) else inner

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        run = GatedRun(source.new_guard())
        _GUARDS[transcript()] = run.guard
        agent = GatedAgent(source, run, submit, outer_approver(), set())
        policies = [ApprovalPolicy(gate_approver(), "*")]
        reviews = [ReviewPolicy(gate_reviewer(agent, outer_reviewer()), "*")]
        token = AT_WORK.set(agent)
        try:
            while True:
                with approval(policies), review(reviews), ending(agent, state):
                    state = await solving(state, generate)
                if await _is_over(agent, state):
                    return state
        finally:
            AT_WORK.reset(token)
            agent.end()

    return solve


class ending:  # noqa: N801  # a context manager reads like a function
    """Ends a sample that the gate ends: with a text that says so, and no exception."""

    def __init__(self, agent: GatedAgent, state: TaskState) -> None:
        self._agent: Final = agent
        self._state: Final = state

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        guard = self._agent.run.guard
        if not guard.stopped or not isinstance(error, TerminateSampleError | None):
            return False
        last = stop_message(guard)
        messages = self._state.messages
        turn = self._agent.turns.get(message_key(messages[-1])) if messages else None
        for call, decision in turn.refused() if turn else ():
            why = ToolCallError("approval", decision.message)
            about: Any = {"tool_call_id": call.id, "function": call.function, "error": why}
            messages.append(ChatMessageTool(content="", **about))
        messages.append(ChatMessageAssistant(content=last))
        self._state.output.completion = last
        return True


async def _is_over(agent: GatedAgent, state: TaskState) -> bool:
    """Is the answer accepted? Otherwise the model will read why it is not."""
    guard = agent.run.guard
    if guard.stopped or guard.finished:
        return True
    agent.catch_up(state.messages[:-1])
    decision = await agent.run.answer_async(state.output.completion)
    if not decision.allowed:
        state.messages.append(ChatMessageUser(content=decision.message))
    if decision.action == "stop":
        state.output.completion = decision.message
    return decision.allowed or decision.action == "stop"


@scorer(metrics=[mean(), stderr()])
def compliance(procedure: str | Procedure, submit: str = "submit") -> Scorer:
    """The compliance score of a sample, from 0 to 1; unscored where it cannot be decided."""
    rules = procedure if isinstance(procedure, Procedure) else Procedure.load(procedure)

    async def score(state: TaskState, target: Target) -> Score:
        report = verify_trace(trace_of(state, submit), rules)
        metadata = report.to_dict()
        with suppress(KeyError):
            metadata["gate"] = _gate_record(_GUARDS[transcript()])
        about = {"answer": report.trace.answer, "explanation": report.details}
        if report.score is None:
            return Score.unscored(reason=report.reason, metadata=metadata, **about)
        return Score(value=report.score, metadata=metadata, **about)

    return score


def _gate_record(guard: Guard) -> dict[str, Json]:
    """The gate's events, in a run that may not have ended yet."""
    return {
        "setting": guard.setting,
        "stopped": guard.stopped,
        "events": [event.to_dict() for event in guard.events],
        "statistics": Statistics.of(guard.events).to_dict(),
    }


def trace_of(state: TaskState, submit: str = "submit") -> Trace:
    """The calls and messages of a sample, and its answer."""
    events: list[Event] = []
    answer: str | None = None
    for step, (message, results) in enumerate(_with_results(state.messages)):
        if refusal_of(Call(FINAL_ANSWER, result=message.text)) is not None:
            answer = None  # the gate says so, and nobody else
            continue
        if message.text.strip() or message.role != "assistant":
            events.append(Message(message.role, message.text, step))
        if not isinstance(message, ChatMessageAssistant):
            continue
        answer = None if message.tool_calls else message.text
        for call in message.tool_calls or ():
            result = next((each for each in results if each.tool_call_id == call.id), None)
            if result is not None:
                results.remove(result)
                if result.error is not None and result.error.type == _REFUSED:
                    continue
            if call.function == submit:
                answer = result.text if result else None
            else:
                made = Call(call.function, call.arguments, id=call.id)
                events.append(replace(made, step=step, **_outcome(result)))
    guard = _GUARDS.get(transcript())
    if guard is not None and not guard.finished:
        return Trace(events)
    return Trace(events, answer=_submitted(submit) if answer is None else answer)


def _submitted(submit: str) -> str | None:
    """The submitted answer, from the transcript: agents remove the call from the messages."""

    def accepted(event: Any) -> bool:
        ran = isinstance(event, ToolEvent) and event.function == submit
        return ran and not (event.error or event.failed or event.pending)

    event = transcript().history.find_last(accepted)
    return None if event is None else str(event.result)


def _with_results(
    messages: Sequence[ChatMessage],
) -> list[tuple[ChatMessage, list[ChatMessageTool]]]:
    """Each message other than tool messages, with the tool messages that follow it."""
    found: list[tuple[ChatMessage, list[ChatMessageTool]]] = []
    for message in messages:
        if not isinstance(message, ChatMessageTool):
            found.append((message, []))
        elif found:
            found[-1][1].append(message)
    return found


def _outcome(result: ChatMessageTool | None) -> dict[str, Any]:
    """The result or the error in a tool message."""
    if result is None:
        return {}
    if result.error is None:
        return {"result": result.text}
    return {"result": result.text or MISSING, "error": result.error.message}
