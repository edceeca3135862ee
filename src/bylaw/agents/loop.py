"""The tool loop: one run of an agent, turn by turn, through a gate.

An episode does not call the model itself: it holds a conversation, and `take` executes one reply.
A caller with many episodes can thus batch their requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from bylaw.agents.protocol import Chat, Reply, ToolSpec
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.guard import Guard
from bylaw.enforcement.open_gate import OpenGate
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.refusal_mark import unmarked
from bylaw.values import Json, copied

Ending: TypeAlias = Literal["answered", "stopped", "truncated", "silent"]
"""A run ends with an answer, when the gate stops it, at a limit (of turns or of the model's
context), or after several turns without a call."""

MAX_SILENT_TURNS: Final = 3
"""Consecutive turns without a call after which a run ends."""
REMINDER: Final = (
    "That was not a tool call. Make the next call, or call final_answer with your answer."
)
_INTEGER: Final = re.compile(r"[+-]?\d{1,30}")


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that was not executed."""

    turn: int
    call: Call
    reason: str
    """The gate's action, or `budget`."""
    message: str
    constraints: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """The refusal as JSON."""
        return {
            "turn": self.turn,
            "tool": self.call.tool,
            "arguments": dict(self.call.args),
            "reason": self.reason,
            "message": self.message,
            "constraints": list(self.constraints),
        }


@dataclass(slots=True)
class Episode:
    """One run: a conversation, tools, a guard and limits."""

    conversation: Chat
    tools: Mapping[str, Callable[..., str]]
    """The function of each tool. It returns JSON text, or raises an exception."""
    guard: Guard | OpenGate
    budget: int
    """The most calls that may be executed; refused calls and the answer do not count."""
    events: list[Event] = field(default_factory=list)
    """The trace: the model's messages, and the calls that were executed."""
    executed: list[Call] = field(default_factory=list)
    refused: list[RefusedCall] = field(default_factory=list)
    answer: Json = None
    ending: Ending | None = None
    failure: str | None = None
    """The reason why the run could not be finished; such a run is not recorded."""
    turns: int = 0
    malformed: int = 0
    """The number of malformed attempts at a call."""
    input_tokens: int = 0
    output_tokens: int = 0
    _silent: int = 0

    @property
    def done(self) -> bool:
        """Has the run ended or failed?"""
        return self.ending is not None or self.failure is not None

    @property
    def max_turns(self) -> int:
        """The most turns that a run may take."""
        return 2 * self.budget

    def take(self, reply: Reply) -> None:
        """Executes one turn of the model."""
        if reply.failure is not None:
            self.failure = reply.failure
            return
        if reply.full:
            self.ending = "truncated"
            return
        self.turns += 1
        self.malformed += len(reply.malformed)
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        self.conversation.messages.append(reply.to_message())
        if reply.text:
            self.guard.say("assistant", reply.text)
            self.events.append(Message("assistant", reply.text, self.guard.turn))
        self._execute(reply.calls)
        self._silent = 0 if reply.calls else self._silent + 1
        self._correct(reply)
        self._check_limits()

    def _execute(self, calls: Sequence[Call]) -> None:
        left = self.budget - len(self.executed)
        proposed: list[Call] = []
        beyond: list[Call] = []
        for call in calls:
            free = call.tool == FINAL_ANSWER
            (proposed if free or left > 0 else beyond).append(call)
            left -= not free
        for call, decision in zip(proposed, self.guard.propose(proposed), strict=True):
            self.answer_call(call, self._outcome(call, decision))
        for call in beyond:
            used_up = f"The budget of {self.budget} calls is used up: give your answer."
            message = f"Not executed. {used_up}"
            self.refused.append(RefusedCall(self.turns - 1, call, "budget", message))
            self.answer_call(call, json.dumps({"error": message}))

    def _outcome(self, call: Call, decision: Decision) -> str:
        """Runs a call if it is allowed. Returns the text that the model reads."""
        if not decision.allowed:
            broken = tuple(violation.constraint.name for violation in decision.violations)
            # Without the gate's mark: it is random, and a run is to be repeatable.
            reason, message = decision.action, unmarked(decision.message)
            self.refused.append(RefusedCall(decision.turn, call, reason, message, broken))
            return refusal_text(reason, message)
        if call.tool == FINAL_ANSWER:
            self.answer, self.ending = call.args.get("answer"), "answered"
            return "{}"
        result, error_text = self._run(decision.call)
        self.guard.record(decision, result, error=error_text)
        made = Call(call.tool, call.args, result, decision.call.step, error_text, call.id)
        self.executed.append(made)
        self.events.append(made)
        return outcome_text(result, error_text)

    def _run(self, call: Call) -> tuple[Any, str | None]:
        if call.tool not in self.tools:
            return MISSING, f"there is no tool '{call.tool}'"
        try:
            return self.tools[call.tool](**copied(call.args)), None
        except Exception as error:  # the model reads what was wrong with its arguments
            return MISSING, str(error)

    def answer_call(self, call: Call, content: str) -> None:
        """Adds the outcome of a call to the conversation."""
        self.conversation.messages.append(
            {"role": "tool", "tool_call_id": call.id, "name": call.tool, "content": content}
        )

    def _correct(self, reply: Reply) -> None:
        """Tells the model what was wrong with a turn without calls or with malformed ones."""
        if self.ending is None and (reply.malformed or not reply.calls):
            message = " ".join(reply.malformed) or REMINDER
            self.conversation.messages.append({"role": "user", "content": message})

    def _check_limits(self) -> None:
        if self.ending is not None:
            return
        if self.guard.stopped:
            self.ending = "stopped"
        elif self._silent >= MAX_SILENT_TURNS:
            self.ending = "silent"
        elif self.turns >= self.max_turns:
            self.ending = "truncated"


def refusal_text(action: str, message: str) -> str:
    """The text that a model reads instead of a result."""
    return json.dumps({"error": message, "violation_type": action})


def outcome_text(result: Any, error: str | None) -> str:
    """The text that a model reads about a call that was executed."""
    return result if error is None else json.dumps({"error": error})


def new_chat(key: str, seed: str, system: str, prompt: str, tools: Sequence[ToolSpec]) -> Chat:
    """A conversation that starts with a task."""
    first = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    return Chat(key, tools, first, seed)


def as_integer(answer: Json) -> int | None:
    """The integer that an answer states, as a number or as digits; None for anything else."""
    if isinstance(answer, bool):
        return None
    if isinstance(answer, int):
        return answer
    if isinstance(answer, float):
        return int(answer) if answer.is_integer() else None
    if isinstance(answer, str) and _INTEGER.fullmatch(answer.strip()):
        return int(answer)
    return None
