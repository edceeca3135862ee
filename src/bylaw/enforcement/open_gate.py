"""A gate without rules: it allows every call up to the answer, and counts turns as a guard does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bylaw.enforcement.decision import Decision
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call, Role
from bylaw.trace.refusal import OPENING
from bylaw.values import Json


class OpenGate:
    """The gate of runs without enforcement. It is cheap: training makes thousands of them."""

    stopped: Final = False

    def __init__(self) -> None:
        self.turn = 0
        self._speaking = False
        self._last_step = -1
        self._answered = False

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Allows the calls of one turn; what comes after an answer does not run."""
        number = self.turn
        self.turn, self._speaking = number + 1, False
        decisions: list[Decision] = []
        for index, call in enumerate(calls):
            if self._answered:
                ended = f"{call.tool}{OPENING}. The run has ended."
                decisions.append(Decision(call, "block", number, index, message=ended))
                continue
            # An answer has a step of its own, right after the last event.
            self._last_step = self._last_step + 1 if call.tool == FINAL_ANSWER else number
            made = Call(call.tool, call.args, step=self._last_step, id=call.id, agent=call.agent)
            decisions.append(Decision(made, "allow", number, index))
            self._answered = call.tool == FINAL_ANSWER
        return decisions

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of a call."""

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. An assistant's message belongs to the calls of its next turn."""
        self.turn += self._speaking
        self._last_step, self._speaking = self.turn, role == "assistant"
        self.turn += not self._speaking
