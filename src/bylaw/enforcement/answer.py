"""An answer that a run ended with, and all it takes to go on as if it had not been given."""

from __future__ import annotations

from dataclasses import field

from bylaw.frozen import frozen
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.trace.event import Event
from bylaw.values import Json


@frozen
class PendingAnswer:
    """An answer that can still be withdrawn."""

    rules: Json
    """How the rules stood before it."""
    escalation: Json
    """How far refusals had gone by then."""
    position: int
    """Its place among the events."""
    since: list[tuple[int | None, Event]] = field(default_factory=list)
    """What was learned after it: calls with their places and results, and messages."""

    def save(self) -> dict[str, Json]:
        """The answer as JSON."""
        since = [[position, event_record(event)] for position, event in self.since]
        before = {"rules": self.rules, "escalation": self.escalation}
        return {**before, "position": self.position, "since": since}

    @classmethod
    def of(cls, saved: Json) -> PendingAnswer:
        """The answer that was saved."""
        since = [(position, event_of(event)) for position, event in saved["since"]]
        return cls(saved["rules"], saved["escalation"], saved["position"], since)
