"""The approver of the Inspect adapter: one guard per sample. See `bylaw.adapters.inspect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.log import Transcript, transcript
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool
from inspect_ai.tool import ToolCall, ToolCallView

from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.trace.event import Call


@approver
def gate(procedure: str | Procedure, submit: str = "submit", **options: Any) -> Approver:
    """An approver that asks a guard about every call. `submit` names the tool for the answer.

    The procedure is an object or the path of a file. `options` are passed to `Guard`.
    """
    rules = load_procedure(procedure)

    async def decide(
        message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]
    ) -> Approval:
        samples = SAMPLES.setdefault(transcript(), {})
        if decide not in samples:
            samples[decide] = GatedSample(Guard(rules, **options), submit)
        decision = await samples[decide].decision(call, history)
        metadata = {"violations": [violation.to_dict() for violation in decision.violations]}
        if decision.allowed:
            return Approval(decision="approve", metadata=metadata)
        kind = "terminate" if decision.action == "stop" else "reject"
        return Approval(decision=kind, explanation=decision.message, metadata=metadata)

    return decide


class DecidedTurn:
    """The calls of one assistant message, and the decisions on them."""

    def __init__(self, calls: Sequence[ToolCall], decisions: Mapping[int, Decision]) -> None:
        self.calls: Final = calls
        self.decisions: Final = decisions
        self.unasked: Final = set(decisions)
        self.unanswered: Final = dict(enumerate(calls))

    def take(self, call: ToolCall) -> Decision | None:
        """The decision on a call. Each is returned once, as ids may repeat."""
        left = sorted(self.unasked, key=lambda i: (self.calls[i] is not call, i))
        for index in left:
            if self.calls[index] is call or same_call(self.calls[index], call):
                self.unasked.remove(index)
                return self.decisions[index]
        return None

    def refused(self) -> list[ToolCall]:
        return [self.calls[i] for i, decision in self.decisions.items() if not decision.allowed]


class GatedSample:
    """One sample: its guard, and the messages that the guard has seen."""

    def __init__(self, guard: Guard, submit: str) -> None:
        self.guard: Final = guard
        self.submit: Final = submit
        self.turns: dict[str, DecidedTurn] = {}
        self.seen: set[str] = set()
        self.lock: Final = anyio.Lock()

    async def decision(self, call: ToolCall, history: Sequence[ChatMessage]) -> Decision:
        """The decision on a call of the last message; all its calls are decided together."""
        message: Any = history[-1] if history else None
        calls = message.tool_calls or [] if isinstance(message, ChatMessageAssistant) else []
        async with self.lock:
            if not any(same_call(each, call) for each in calls):  # the call is in no message
                return (await self.decide([call])).decisions[0]
            turn = self.turns.get(message_key(message))
            decision = turn.take(call) if turn else None
            if decision is None:
                if self.guard.finished and not self.guard.stopped:
                    self.guard.withdraw()  # Inspect continues only to get another answer
                self.catch_up(history[:-1])
                if message.text.strip():
                    self.guard.say("assistant", message.text)
                turn = self.turns[message_key(message)] = await self.decide(calls)
                decision = turn.take(call)
        assert decision is not None, "the call was decided with its message"
        return decision

    async def decide(self, calls: Sequence[ToolCall]) -> DecidedTurn:
        readable = [i for i, call in enumerate(calls) if not call.parse_error]
        order = sorted(readable, key=lambda i: calls[i].function == self.submit)
        named = [FINAL_ANSWER if each.function == self.submit else each.function for each in calls]
        proposed = [replace(as_call(calls[i]), tool=named[i]) for i in order]
        # In a thread: a guard that asks a person must not block the other samples.
        decisions = await anyio.to_thread.run_sync(self.guard.propose, proposed)
        return DecidedTurn(calls, dict(zip(order, decisions, strict=True)))

    def catch_up(self, history: Sequence[ChatMessage]) -> None:
        """Passes the messages and results since the last turn to the guard."""
        turn: DecidedTurn | None = None
        for message in history:
            new = message_key(message) not in self.seen
            self.seen.add(message_key(message))
            if isinstance(message, ChatMessageAssistant):
                turn = self.turns.get(message_key(message))
                if new and turn is None:  # none of its calls has reached the gate
                    if message.text.strip():
                        self.guard.say("assistant", message.text)
                    self.guard.propose([])
            elif isinstance(message, ChatMessageTool):
                if new and turn is not None:
                    self.record(turn, message)
            elif new:
                self.guard.say(message.role, message.text)

    def record(self, turn: DecidedTurn, message: ChatMessageTool) -> None:
        ids = [index for index, call in turn.unanswered.items() if call.id == message.tool_call_id]
        for index in ids[:1]:  # results come in the order of the calls, and ids may repeat
            del turn.unanswered[index]
            decision = turn.decisions.get(index)
            if decision is not None and self.guard.awaits(decision):
                error = message.error.message if message.error else None
                self.guard.record(decision, message.text, error=error)


SAMPLES: Final[WeakKeyDictionary[Transcript, dict[Approver, GatedSample]]] = WeakKeyDictionary()
"""The running samples, by transcript and approver."""


def load_procedure(procedure: str | Procedure) -> Procedure:
    return procedure if isinstance(procedure, Procedure) else Procedure.load(procedure)


def as_call(call: ToolCall) -> Call:
    return Call(call.function, call.arguments, id=call.id)


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Are these the same call? Inspect may have converted its arguments in between."""
    return bool(one.id == other.id and one.function == other.function)


def message_key(message: ChatMessage) -> str:
    return message.id or f"at {id(message)}"
