"""The steps of events while they arrive."""

from __future__ import annotations

from bylaw.saved import flag, listed, whole
from bylaw.trace.event import Call, Event, Message
from bylaw.values import Json


class StepCounter:
    """Assigns steps to events as they arrive; a finished trace has the same steps.

    An event without a step gets the next one; calls share the step of the assistant's text.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._said = False
        """Was the previous event an assistant's message?"""
        self._over = False
        """Is the current step over, whatever step the next event carries?"""

    def of(self, event: Event) -> tuple[int, bool]:
        """The step of the next event, and whether that is a new step."""
        step = event.step
        if step is None:
            before = -1 if self._last is None else self._last
            shares = self._said and isinstance(event, Call) and not self._over
            step = before if shares else before + 1
        new = step != self._last or self._over
        self._last, self._over = step, False
        self._said = isinstance(event, Message) and event.role == "assistant"
        return step, new

    @property
    def next(self) -> int:
        """The step after the current one."""
        return 0 if self._last is None else self._last + 1

    def end(self) -> None:
        """Ends the current step."""
        self._over = True

    def save(self) -> list[Json]:
        """The count as JSON."""
        return [self._last, self._said, self._over]

    def restore(self, saved: Json) -> None:
        """Goes back to a saved count."""
        last, said, over = listed(saved, 3)
        self._last = None if last is None else whole(last)
        self._said, self._over = flag(said), flag(over)
