"""A gate and a scorer for Inspect: `pip install 'bylaw[inspect]'`.

    Task(
        dataset=…,
        solver=react(tools=[search(), pay()]),
        approval=[ApprovalPolicy(gate("refund.yaml"), "*")],
        scorer=compliance("refund.yaml"),
    )

- `gate` is an approver. Every sample has its own guard, made with the given options. The calls of a
  model turn are decided together, in the order proposed, when Inspect asks about the first of them.
  A refused call is rejected with the guard's message. When the run ends, the sample is terminated.
  Apply the gate to all tools (`"*"`): it does not see calls that other approvers decide.
- A call of the tool `submit` is `final_answer` to the rules, and decided after the other calls of
  its turn. If an agent has several attempts, the next turn withdraws the answer before it.
- Inspect reports results only with the next turn, so they are recorded then. Calls that never reach
  an approver, because the tool is unknown or the arguments are malformed, are not proposed.
- `compliance` scores the messages of a sample, with or without a gate. Calls that an approver
  rejected are not in the trace. The metadata of a score holds the report and the gate's events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from bylaw.enforcement.guard import Guard
from bylaw.enforcement.report import Statistics
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import verify_trace
from bylaw.trace.event import MISSING, Event, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json

try:
    from inspect_ai.event import ToolEvent
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.tool import ToolCall

    from bylaw.adapters.inspect_gate import (
        SAMPLES,
        DecidedTurn,
        as_call,
        gate,
        load_procedure,
        message_key,
        same_call,
    )
except ModuleNotFoundError as error:
    missing = "inspect-ai is not installed: pip install 'bylaw[inspect]'"
    raise ModuleNotFoundError(missing, name=error.name) from error

__all__ = ["compliance", "gate", "trace_of"]

_REFUSED: Final = "approval"
"""Inspect's error type for a call that an approver rejected."""


@scorer(metrics=[mean(), stderr()])
def compliance(procedure: str | Procedure, submit: str = "submit") -> Scorer:
    """The compliance score of a sample, from 0 to 1; unscored where it cannot be decided."""
    rules = load_procedure(procedure)

    async def score(state: TaskState, target: Target) -> Score:
        report = verify_trace(trace_of(state, submit), rules)
        metadata = report.to_dict()
        for sample in SAMPLES.get(transcript(), {}).values():
            metadata.setdefault("gate", _gate_record(sample.guard))
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
    samples = SAMPLES.get(transcript(), {}).values()
    events: list[Event] = []
    answer: str | None = None
    for step, (message, results) in enumerate(_with_results(state.messages)):
        if message.text.strip() or message.role != "assistant":
            events.append(Message(message.role, message.text, step))
        if not isinstance(message, ChatMessageAssistant):
            continue
        answer = None if message.tool_calls else message.text
        key = message_key(message)
        turns = [sample.turns[key] for sample in samples if key in sample.turns]
        for call in message.tool_calls or ():
            result = next((each for each in results if each.tool_call_id == call.id), None)
            if result is not None:
                results.remove(result)
            if _was_refused(call, result, turns):
                continue
            if call.function == submit:
                answer = result.text if result else None
            else:
                events.append(replace(as_call(call), step=step, **_outcome(result)))
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


def _was_refused(call: ToolCall, result: ChatMessageTool | None, turns: list[DecidedTurn]) -> bool:
    if result is not None:
        return result.error is not None and result.error.type == _REFUSED
    # When the gate ends the run, Inspect adds no tool messages to the turn.
    return any(same_call(each, call) for turn in turns for each in turn.refused())


def _outcome(result: ChatMessageTool | None) -> dict[str, Any]:
    """The result or the error in a tool message."""
    if result is None:
        return {}
    if result.error is None:
        return {"result": result.text}
    return {"result": result.text or MISSING, "error": result.error.message}
