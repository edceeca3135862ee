"""The gate of the Inspect adapter: an approver and a reviewer. See `bylaw.adapters.inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

import anyio
from inspect_ai.approval import Approval, Approver, approver
from inspect_ai.approval._apply import _tool_approver  # a test says when it moves
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool
from inspect_ai.review import Review, Reviewer, reviewer
from inspect_ai.review._apply import _tool_reviewer  # as above
from inspect_ai.tool import ToolCall, ToolCallView

from bylaw.adapters.gated_run import GatedRun, GuardSource
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.execution import give_up
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call


class DecidedMessage:
    """The calls of one assistant message, and the decisions on them."""

    def __init__(self, calls: Sequence[ToolCall], decisions: Sequence[Decision | None]) -> None:
        self.calls: Final = calls
        self.decisions: Final = decisions
        self._left: Final = set(range(len(calls)))

    def take(self, call: ToolCall) -> tuple[Decision | None] | None:
        """The decision on a call. Each is returned once, as ids may repeat.

        None if there is none left. The decision is None if the gate has no say in the call.
        """
        for index in sorted(self._left, key=lambda i: (self.calls[i] is not call, i)):
            if self.calls[index] is call or same_call(self.calls[index], call):
                self._left.remove(index)
                return (self.decisions[index],)
        return None

    def refused(self) -> list[tuple[ToolCall, Decision]]:
        """The calls that did not run, with the reasons."""
        both = zip(self.calls, self.decisions, strict=True)
        return [(call, given) for call, given in both if given is not None and not given.allowed]


class GatedAgent:
    """One agent at work in a sample: its turns, and the messages that the guard has seen."""

    def __init__(
        self, source: GuardSource, run: GatedRun, submit: str, outer: Any, seen: set[str]
    ) -> None:
        self.source: Final = source
        self.run: Final = run
        self.submit: Final = submit
        self.turns: Final[dict[str, DecidedMessage]] = {}
        self._outer: Final = outer
        """The approver of the task, if it has one."""
        self._seen: Final = seen
        """The messages that the guard has seen, which all agents of a sample share."""
        self._running: list[Decision] = []
        self._lock: Final = anyio.Lock(fast_acquire=True)

    # ── before a call ────────────────────────────────────────────────────────────────────

    async def approve(
        self, message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]
    ) -> Approval:
        """Decides a call, with all calls of its message."""
        async with self._lock:
            decision = await self._decision(call, history)
        if decision is not None and not decision.allowed and decision.action != "ask":
            return _refused(decision)
        theirs = None
        if self._outer is not None:  # it has its say in what the gate lets pass
            theirs = await self._outer(message, call, view, history)
            if theirs.decision not in ("approve", "modify"):
                if decision is not None:
                    self.run.record(decision, None, "an approver did not approve it")
                return theirs
        if decision is None:
            return theirs or Approval(decision="approve")
        if decision.action == "ask":
            if theirs is None or self.source.asks or self.run.nested:
                return _refused(decision)
            decision = self.run.approved(decision)
        if theirs is not None and theirs.modified is not None:
            self.run.record(decision, None, "an approver changed it")
            (decision,) = await self.run.guard.propose_async([self._call(theirs.modified)])
        if not decision.allowed:
            return _refused(decision)
        self._begin(decision)
        judged = replace(call, arguments=dict(decision.call.args))
        return Approval(decision="modify", modified=judged, metadata=_metadata(decision))

    async def _decision(self, call: ToolCall, history: Sequence[ChatMessage]) -> Decision | None:
        message: Any = history[-1] if history else None
        calls = message.tool_calls or [] if isinstance(message, ChatMessageAssistant) else []
        if not any(same_call(each, call) for each in calls):  # the call is in no message
            return (await self.run.guard.propose_async([self._call(call)]))[0]
        turn = self.turns.get(message_key(message))
        taken = turn.take(call) if turn else None
        if taken is None:
            taken = (await self._decide(message, calls, history)).take(call)
        assert taken is not None, "the call was decided with its message"
        return taken[0]

    async def _decide(
        self, message: Any, calls: Sequence[ToolCall], history: Sequence[ChatMessage]
    ) -> DecidedMessage:
        guard = self.run.guard
        if guard.finished and not guard.stopped and not self.run.nested:
            guard.withdraw()  # Inspect continues only to get another answer
        self.catch_up(history[:-1])
        self._seen.add(message_key(message))
        give_up(guard, self._running)  # calls that failed before their tools were reached
        self._running = []
        known = [i for i, call in enumerate(calls) if not self._is_beyond(call)]
        order = sorted(known, key=lambda i: calls[i].function == self.submit)
        proposed = [self._call(calls[i]) for i in order]
        decided = dict(zip(order, await self.run.decide_async(proposed, message.text), strict=True))
        turn = DecidedMessage(calls, [decided.get(i) for i in range(len(calls))])
        self.turns[message_key(message)] = turn
        return turn

    def _is_beyond(self, call: ToolCall) -> bool:
        """Is this no matter of the gate: a call that cannot run, or an answer to another agent?"""
        return bool(call.parse_error) or (self.run.nested and call.function == self.submit)

    def _call(self, call: ToolCall) -> Call:
        name = FINAL_ANSWER if call.function == self.submit else call.function
        return Call(name, call.arguments, id=call.id)

    def _begin(self, decision: Decision) -> None:
        """A call runs in this task: agents that its tool starts join the run."""
        self.run.claim(decision.call)
        self._running.append(decision)
        _RUNNING.set(decision)
        inner = GatedRun(self.run.guard, nested=True)
        AT_WORK.set(GatedAgent(self.source, inner, self.submit, self._outer, self._seen))

    # ── after a call ─────────────────────────────────────────────────────────────────────

    def record(self, result: ChatMessageTool) -> None:
        """Records the result of the call that ran in this task."""
        decision = _RUNNING.get()
        if decision is not None:
            error = result.error.message if result.error else None
            self.run.record(decision, result.text, error)

    def catch_up(self, history: Sequence[ChatMessage]) -> None:
        """Passes the messages to the guard that have come since the last turn."""
        new = list(takewhile(lambda each: message_key(each) not in self._seen, reversed(history)))
        for message in reversed(new):
            self._seen.add(message_key(message))
            if isinstance(message, ChatMessageAssistant):
                if message_key(message) not in self.turns:  # no call of it has reached the gate
                    self.run.decide([], message.text)
            elif not isinstance(message, ChatMessageTool) and not self.run.nested:
                self.run.guard.say(message.role, message.text)

    def end(self) -> None:
        """Gives up calls that have no result."""
        self.run.give_up()
        give_up(self.run.guard, self._running)


AT_WORK: Final[ContextVar[GatedAgent | None]] = ContextVar("at_work", default=None)
"""The agent at work. Inspect runs each call in a task of its own, and agents inside it."""
_RUNNING: Final[ContextVar[Decision | None]] = ContextVar("running", default=None)
"""The decision on the call that runs in this task."""


@approver(name="bylaw")
def gate_approver() -> Approver:
    """Asks the gate of the agent at work."""

    async def approve(
        message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]
    ) -> Approval:
        agent = AT_WORK.get()
        assert agent is not None, "the approver is used inside `guarded` only"
        return await agent.approve(message, call, view, history)

    return approve


@reviewer(name="bylaw")
def gate_reviewer(agent: GatedAgent, outer: Any) -> Reviewer:
    """Records results, also those of agents inside tools; then the task's reviewer is asked."""

    async def review(*values: Any, **named: Any) -> Review:
        agent.record(named["result"] if "result" in named else values[2])
        if outer is not None:
            return await outer(*values, **named)
        return Review(decision="continue")

    return review


def outer_approver() -> Any:
    """The approver in force, if there is one."""
    return _tool_approver.get(None)


def outer_reviewer() -> Any:
    """The reviewer in force, if there is one."""
    return _tool_reviewer.get(None)


def _refused(decision: Decision) -> Approval:
    kind = "terminate" if decision.action == "stop" else "reject"
    return Approval(decision=kind, explanation=decision.message, metadata=_metadata(decision))


def _metadata(decision: Decision) -> dict[str, Any]:
    return {"violations": [violation.to_dict() for violation in decision.violations]}


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Are these the same call? Inspect may have converted its arguments in between."""
    return bool(one.id == other.id and one.function == other.function)


def message_key(message: ChatMessage) -> str:
    return message.id or f"at {id(message)}"
