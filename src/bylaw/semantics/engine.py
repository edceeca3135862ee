"""The protocol of engines: each follows one formula, event by event.

An engine runs the formula's machine, runs the machines of its instances, remembers what the formula
needs of the past, or keeps the whole trace; `monitors` chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event
from bylaw.values import Json

EngineMark: TypeAlias = Any
"""The state of an engine; each engine has its own type."""


class EngineAnswer(NamedTuple):
    """The answer of an engine about its formula after an event."""

    verdict: Verdict
    """The verdict on the events so far."""
    verdict_if_step_ended: Verdict
    """The verdict if the current step had no more events."""
    idles: bool
    """Would a call of a tool that the formula does not name leave the state as it is?"""


class Engine(ABC):
    """Follows one formula. The attributes say which events it needs; these are the defaults."""

    hears_everything = True
    """Must it be given every event, or only those that `concerns` names?"""
    overhears = False
    """Must it be given messages, even if the formula sees only calls?"""
    waits = True
    """Can the result of an earlier call change its verdict?"""
    counts_steps = False
    """Can the end of a step change its verdict?"""
    moves_on_any_call = False
    """Can a call of a tool that the formula does not name change its state?"""
    may_fail = False
    """Does it call functions of users, so that `fault` must be checked?"""
    keeps_events = False
    """Does it keep events and search them later, so that its cost grows with the trace?"""
    metered = True
    """Does it read values, so that its work is counted and limited?"""
    has_deadlines = False
    """Can it be doomed by the passing of time alone?"""
    cautious = False
    """May a call have to wait for a result although no value of it would matter?"""
    fault: str | None = None
    """The reason why the formula could not be decided at the latest event."""

    @property
    def reason(self) -> str | None:
        """The reason why a final verdict may come late or never; None if it cannot."""
        return None

    @abstractmethod
    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in the next event. A call without a result may still get one."""

    def follow(self, event: Event, position: int, step: int, new_step: bool) -> EngineAnswer:
        """Takes in the next event, and says what is to be known of the formula then."""
        self.take(event, position, step, new_step)
        return self.answer()

    def answer(self) -> EngineAnswer:
        """The questions about the formula now."""
        verdict = ended = self.verdict()
        if self.counts_steps and not verdict.final:
            ended = self.verdict_if_step_ended()
        return EngineAnswer(verdict, ended, not self.moves_on_any_call or self.idles())

    @abstractmethod
    def record(self, position: int, call: Call) -> None:
        """Takes in the result of an earlier call; if it raises OverBudget, nothing has changed."""

    def drop(self, position: int) -> bool:
        """Continues as if the call had not been made whose result, just recorded, is fatal.

        Later events that would be fatal without it are dropped, too. True if the next event
        opens the step, because the event that opened it was dropped.
        """
        raise AssertionError("no result is fatal to it")

    def outstanding_evidence(self) -> Sequence[int]:
        """The positions of outstanding calls that the latest event should have waited for.

        There are some if an outcome of theirs would make the event fatal, whatever its own result.
        """
        return ()

    @abstractmethod
    def awaits(self, position: int) -> bool:
        """Could the result of the call at this position still change the verdict?"""

    @abstractmethod
    def verdict(self) -> Verdict:
        """The verdict on the events so far."""

    def verdict_if_step_ended(self) -> Verdict:
        """The verdict if the current step had no more events."""
        return self.verdict()

    def end_step(self) -> None:  # noqa: B027 - most engines do not count steps
        """Ends the current step: the next event is in a new one."""

    def next_deadline(self) -> float | None:
        """The time by which something must happen, if anything must."""
        return None

    def tick(self, now: float) -> None:  # noqa: B027 - most engines have no deadlines
        """The time has come to `now`: the formula is doomed if a deadline has passed."""

    def drop_next_deadline(self) -> None:
        """Continues as if nothing were due at the next deadline."""
        raise AssertionError("it has no deadlines")

    def concerns(self, name: str) -> bool:
        """Can an event of this tool or role change the state?"""
        return True

    def idles(self) -> bool:
        """Would a call of a tool that the formula does not name leave the state as it is?"""
        return True

    @abstractmethod
    def mark(self) -> EngineMark:
        """The current state, for `undo`. Raises nothing."""

    @abstractmethod
    def undo(self, mark: EngineMark) -> None:
        """Goes back to a state that `mark` returned, also if something was interrupted since."""

    @abstractmethod
    def save(self) -> Json:
        """The current state as JSON."""

    @abstractmethod
    def restore(self, saved: Json) -> None:
        """Goes back to a saved state."""


NAMELESS: Final = "\0"
"""The name of a tool that no rule names; no tool and no role has it."""


def heard_role(role: str) -> str:
    """The name under which messages of a role are dispatched; no tool has such a name."""
    return f"\0{role}"
