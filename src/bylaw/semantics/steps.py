"""Which step an event belongs to while the trace goes on, as a finished trace would have it."""

from __future__ import annotations

from bylaw.trace.event import Call, Event, Message
from bylaw.values import Json


class StepCounter:
    """Counts steps. An event that carries none gets the next; calls share that of their text."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._said = False
        """Was the previous event something that the assistant said?"""
        self._over = False
        """Is the current step over, whatever the next event says?"""

    def of(self, event: Event) -> tuple[int, bool]:
        """The step of the next event, and whether it is another one than that of the last."""
        step = event.step
        if step is None:
            before = -1 if self._last is None else self._last
            shares = self._said and isinstance(event, Call) and not self._over
            step = before if shares else before + 1
        new = step != self._last or self._over
        self._last, self._over = step, False
        self._said = isinstance(event, Message) and event.role == "assistant"
        return step, new

    def end(self) -> None:
        """The current step is over."""
        self._over = True

    def save(self) -> Json:
        """Where the count stands, as JSON."""
        return [self._last, self._said, self._over]

    def restore(self, saved: Json) -> None:
        """Goes back to a saved count."""
        self._last, self._said, self._over = saved
