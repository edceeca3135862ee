"""A gate without rules: it allows every call, and counts turns as a guard does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bylaw.enforcement.decision import Decision
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import Call, Role
from bylaw.values import Json


class OpenGate:
    """The gate of runs without enforcement. It is cheap: training makes thousands of them."""

    stopped: Final = False

    def __init__(self) -> None:
        self.turn = 0
        self._speaking = False

    def propose(self, calls: Iterable[Call]) -> list[Decision]:
        """Allows the calls of one turn."""
        number, spoke = self.turn, self._speaking
        self.turn, self._speaking = number + 1, False
        made = (_at(call, number + (spoke and call.tool == FINAL_ANSWER)) for call in calls)
        return [Decision(call, "allow", number, at) for at, call in enumerate(made)]

    def record(self, decision: Decision, result: Json, *, error: str | None = None) -> None:
        """Takes in the result of a call."""

    def say(self, role: Role, text: str) -> None:
        """Takes in a message. An assistant's message belongs to the calls of its next turn."""
        self.turn += self._speaking
        self._speaking = role == "assistant"
        self.turn += not self._speaking


def _at(call: Call, step: int) -> Call:
    return Call(call.tool, call.args, step=step, id=call.id, agent=call.agent)
