"""What a run puts on record: an event for each rule that spoke up, and lines of the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bylaw.enforcement.decision import Decision, Violation
from bylaw.enforcement.events import NO_CHOICE, EnforcementEvent
from bylaw.enforcement.hints import Hints
from bylaw.enforcement.log import AuditLog, LogError
from bylaw.trace.event import Call
from bylaw.values import Json


class Journal:
    """The record of one run. Without a log, the events are all of it."""

    def __init__(self, log: AuditLog | None, hints: Hints) -> None:
        self._log: Final = log
        self._hints: Final[Hints] = hints
        self.events: list[EnforcementEvent] = []
        self._unresolved: list[EnforcementEvent] = []
        self.unlogged: str | None = None
        """Why the log is not complete, if it is not."""

    def note(self, turn: int, call: Call, violation: Violation, action: str) -> None:
        """Notes that a rule spoke against a call, approved or not, or was lost."""
        event = EnforcementEvent.of(turn, call, violation, action, self._hints)
        self.events.append(event)
        if action not in NO_CHOICE:
            self._unresolved.append(event)

    def resolve(self, proposed: Sequence[Call]) -> None:
        """Says of the refusals of the turn before whether the agent insisted."""
        if not proposed:
            return
        for event in self._unresolved:
            event.resolve(proposed)
        self._unresolved.clear()

    def log_decisions(self, decisions: Sequence[Decision]) -> bool:
        """Puts decisions into the log; False if they could not be."""
        return self.log([self._entry(decision) for decision in decisions])

    def log(self, entries: list[dict[str, Json]]) -> bool:
        """Appends to the log, if there is one; False, and `unlogged` says why, if that failed."""
        if self._log is None or not entries:
            return True
        try:
            self._log.append(entries)
        except LogError as error:
            self.unlogged = error.diagnostics[0].message
            return False
        return True

    def _entry(self, decision: Decision) -> dict[str, Json]:
        return {
            "kind": "decision",
            "turn": decision.turn,
            "index": decision.index,
            "tool": decision.call.tool,
            "arguments": dict(decision.call.args),
            "action": decision.action,
            "violations": [violation.to_dict() for violation in decision.violations],
            "overridden": list(decision.overridden),
            "hints": self._hints,
        }

    def save(self) -> dict[str, Json]:
        """The events as JSON; the log is a file of its own."""
        unresolved = {id(event) for event in self._unresolved}
        return {
            "unlogged": self.unlogged,
            "events": [event.to_dict() for event in self.events],
            "unresolved": [n for n, e in enumerate(self.events) if id(e) in unresolved],
        }

    def restore(self, saved: Json) -> None:
        """Goes back to what was saved."""
        self.unlogged = saved["unlogged"]
        self.events = [EnforcementEvent.from_dict(event) for event in saved["events"]]
        self._unresolved = [self.events[n] for n in saved["unresolved"]]
