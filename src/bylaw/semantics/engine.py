"""The protocol of engines: the ways to follow one formula, event by event.

A formula is followed by its machine, by the machines of its instances, by what it remembers of the
past, or by keeping the whole trace; `monitors` chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event
from bylaw.values import Json

EngineMark: TypeAlias = Any
"""The state of an engine, in a form of its own choosing."""


class Engine(ABC):
    """Follows one formula. The attributes say what it must be given; most engines keep these."""

    hears_everything = True
    """Must it be given every event, or only those that `concerns` names?"""
    overhears = False
    """Must it be given messages even if the formula sees only calls?"""
    waits = True
    """Can the result of an earlier call change its verdict?"""
    counts_steps = False
    """Can the end of a step change its verdict?"""
    moves_on_any_call = False
    """Can a call of a tool that the formula does not name change it, at times?"""
    may_fail = False
    """Does it call functions of users, so that `fault` must be asked for?"""
    keeps_events = False
    """Does it keep events that later questions look through, so that its cost grows?"""
    fault: str | None = None
    """The reason why the formula could not be decided at the latest event."""

    @property
    def reason(self) -> str | None:
        """The reason why a final verdict may come late or never, if it may."""
        return None

    @abstractmethod
    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in the next event. A call without a result may still get one."""

    @abstractmethod
    def record(self, position: int, call: Call) -> None:
        """Takes in the result of an earlier call."""

    @abstractmethod
    def awaits(self, position: int) -> bool:
        """Could a result of the call at this position still make a difference?"""

    @abstractmethod
    def verdict(self) -> Verdict:
        """The verdict on the events so far."""

    def verdict_if_step_ended(self) -> Verdict:
        """The verdict if no more events came in this step."""
        return self.verdict()

    def end_step(self) -> None:  # noqa: B027 - most engines do not count steps
        """Ends the current step: the next event is in a new one."""

    def concerns(self, name: str) -> bool:
        """Can an event of this tool or role make a difference?"""
        return True

    def idles(self) -> bool:
        """Would a call of a tool that the formula does not name change nothing at present?"""
        return True

    @abstractmethod
    def mark(self) -> EngineMark:
        """The present state, for `undo`."""

    @abstractmethod
    def undo(self, mark: EngineMark) -> None:
        """Goes back to a state that `mark` gave."""

    @abstractmethod
    def save(self) -> Json:
        """The present state as JSON."""

    @abstractmethod
    def restore(self, saved: Json) -> None:
        """Goes back to a saved state."""


def heard_role(role: str) -> str:
    """The name under which messages of a role are dispatched; no tool has such a name."""
    return f"\0{role}"
