"""One formula, followed while an agent acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.argument_types import expect
from bylaw.logic import formula as f
from bylaw.logic.formula import check_formula
from bylaw.semantics.monitors import Monitors
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, Message
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order


class Monitor:
    """Follows a formula while an agent acts.

    `step` takes in a call (or message); a call without a result may get one later, through
    `record`. `verdict` is the verdict on the events so far; a final verdict never changes.
    `metrics` and `labels` are values that rules may read. `exact` says whether final verdicts
    are reported as soon as they are true.
    """

    def __init__(
        self,
        formula: f.Formula,
        *,
        order: Order = "position",
        events: Events = "calls",
        vocabulary: Vocabulary = EMPTY,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
    ) -> None:
        check_formula(formula)
        self.formula: Final = formula
        self.events: Final[Events] = events
        self._monitors: Final = Monitors(
            [formula],
            order=order,
            events=events,
            vocabulary=vocabulary,
            metrics=metrics,
            labels=labels,
        )
        self._engine: Final = self._monitors.engines[0]

    @property
    def length(self) -> int:
        """The number of events so far that the formula sees."""
        return self._monitors.length

    @property
    def verdict(self) -> Verdict:
        """The verdict on the events so far."""
        return self._monitors.verdicts[0]

    @property
    def exact(self) -> bool:
        """Is a final verdict reported as soon as it is true?"""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """The reason why a final verdict may come late or never; None if it cannot."""
        return self._engine.reason

    def step(self, event: Event) -> None:
        """Takes in the next event."""
        expect(event, (Call, Message), "a call or a message", 'Write Call("search", {"q": "x"}).')
        if isinstance(event, Message) and self.events == "calls":
            self._monitors.pass_over(event)
        else:
            self._monitors.step(event)

    def record(
        self,
        position: int,
        result: Json,
        *,
        error: str | None = None,
        end: float | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> None:
        """Takes in the result of the call at a position, counted from 0. Any order will do."""
        self._monitors.record(position, result, error=error, end=end, usage=usage)

    def tick(self, now: float) -> None:
        """The time has come to `now`: the formula is doomed if a deadline has passed."""
        self._monitors.tick(now)

    @property
    def next_deadline(self) -> float | None:
        """The time by which something must happen, if anything must."""
        return self._monitors.next_deadline()

    def end_step(self) -> None:
        """Ends the current step: the next event is in a new one."""
        self._monitors.end_step()

    def save(self) -> dict[str, Json]:
        """The state of the monitor as JSON, for `restore`."""
        return self._monitors.save()

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Goes back to a state saved by a monitor of the same formula."""
        self._monitors.restore(saved)
