"""Following a formula that needs the whole trace: by keeping it.

Open predicates, the answer as a value, and domains that are read at the end cannot be followed
in constant memory. The verdict if the trace ended now is still exact. Nothing is ever final,
except for a rule about the past: that is lost once it is false at an event, whatever results are
still to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bylaw.logic import formula as f
from bylaw.logic.walk import sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.memories import event_of, event_record
from bylaw.semantics.reference import evaluate
from bylaw.semantics.verdict import FALSE, Outcome, Value, Verdict
from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order, View


class History:
    """The events so far, and the reference on them."""

    def __init__(
        self,
        formula: f.Formula,
        order: Order,
        events: Events,
        vocabulary: Vocabulary,
        metrics: Mapping[str, Json],
        labels: Mapping[str, Json],
        *,
        past: bool,
    ) -> None:
        self.formula = formula
        self.order: Order = order
        self.kind: Events = events
        self.vocabulary = vocabulary
        self.metrics = metrics
        self.labels = labels
        self.past = past
        """Is the formula decided at each event, whatever comes after it?"""
        self.events: list[Event] = []
        self.fault: str | None = None
        """Why the formula could not be decided, at the latest verdict, if it could not."""

    def take(self, event: Event, position: int, step: int) -> None:
        """Takes in an event of a step."""
        self.events.append(event if event.step == step else replace(event, step=step))

    def awaits(self, position: int) -> bool:
        """A result may always make a difference."""
        return True

    def record(self, position: int, call: Call) -> None:
        """Takes in an earlier call again, with its result."""
        self.events[position] = replace(call, step=self.events[position].step)

    def mark(self) -> Any:
        """Where the history stands, for `undo`."""
        return len(self.events), self.fault

    def undo(self, token: Any) -> None:
        """Goes back to where it stood."""
        length, self.fault = token
        del self.events[length:]

    def concerns(self, name: str) -> bool:
        """Every event is kept."""
        return True

    def save(self) -> Json:
        """The events as JSON."""
        return {"events": [event_record(event) for event in self.events], "fault": self.fault}

    def restore(self, saved: Json) -> None:
        """Goes back to saved events."""
        self.events = [event_of(record) for record in saved["events"]]
        self.fault = saved["fault"]

    def verdict(self) -> Verdict:
        """The verdict if the trace ended now; an error counts as a violation."""
        pending = frozenset(i for i, event in enumerate(self.events) if _may_get_result(event))
        if self.past and self._value(pending) is FALSE:
            return Verdict.VIOLATED
        outcome = Outcome.of(self._value(frozenset()))
        passed = outcome in (Outcome.SATISFIED, Outcome.VACUOUS)
        return Verdict.PRESUMABLY_SATISFIED if passed else Verdict.PRESUMABLY_VIOLATED

    def _value(self, pending: frozenset[int]) -> Value:
        trace = Trace(self.events, metrics=self.metrics, labels=self.labels)
        seen = trace.seen(self.kind, sees_answer(self.formula))
        view = View(trace, seen, self.order, self.vocabulary, pending=pending)
        evaluation = evaluate(self.formula, view)
        unsure = evaluation.outcome is Outcome.ERROR and not pending
        self.fault = "; ".join(map(str, evaluation.faults)) if unsure else None
        return evaluation.value


def _may_get_result(event: Event) -> bool:
    open_result = isinstance(event, Call) and event.result is MISSING and not event.failed
    return open_result and getattr(event, "tool", None) != FINAL_ANSWER
