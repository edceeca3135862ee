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
from bylaw.logic.walk import everything, sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.evaluation import evaluate
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.semantics.verdict import Outcome, Verdict
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
        self.asks_functions = any(
            isinstance(part, f.OpenPredicate | f.Extracted) for part in everything(formula)
        )
        """Do functions of users look at the trace? They see messages, whatever the rule sees."""
        self.events: list[Event] = []
        self._places: list[int] = []
        """Where the events that the rule sees stand among all."""
        self.fault: str | None = None
        """Why the formula could not be decided, at the latest verdict, if it could not."""

    def take(self, event: Event, position: int, step: int) -> None:
        """Takes in an event of a step."""
        if self.kind == "all" or isinstance(event, Call):
            self._places.append(len(self.events))
        self.events.append(event if event.step == step else replace(event, step=step))

    def awaits(self, position: int) -> bool:
        """A result may always make a difference."""
        return True

    def record(self, position: int, call: Call) -> None:
        """Takes in an earlier call again, with its result."""
        place = self._places[position]
        self.events[place] = replace(call, step=self.events[place].step)

    def mark(self) -> Any:
        """Where the history stands, for `undo`."""
        return len(self.events), len(self._places), self.fault

    def undo(self, token: Any) -> None:
        """Goes back to where it stood."""
        events, places, self.fault = token
        del self.events[events:], self._places[places:]

    def concerns(self, name: str) -> bool:
        """Every event is kept."""
        return True

    def save(self) -> Json:
        """The events as JSON."""
        return {"events": [event_record(event) for event in self.events], "fault": self.fault}

    def restore(self, saved: Json) -> None:
        """Goes back to saved events."""
        self.events, self._places = [], []
        for record in saved["events"]:
            event = event_of(record)
            self.take(event, len(self._places), event.step or 0)
        self.fault = saved["fault"]

    def verdict(self) -> Verdict:
        """The verdict if the trace ended now; an error counts as a violation."""
        if self.past and self._outcome(ongoing=True) is Outcome.VIOLATED:
            return Verdict.VIOLATED
        passed = self._outcome(ongoing=False).passed
        return Verdict.PRESUMABLY_SATISFIED if passed else Verdict.PRESUMABLY_VIOLATED

    def _outcome(self, *, ongoing: bool) -> Outcome:
        trace = Trace(self.events, metrics=self.metrics, labels=self.labels)
        seen = trace.seen(self.kind, sees_answer(self.formula))
        open_results = (i for i, event in enumerate(seen) if _may_get_result(event))
        pending = frozenset(open_results if ongoing else ())
        view = View(trace, seen, self.order, self.vocabulary, pending=pending, ongoing=ongoing)
        evaluation = evaluate(self.formula, view)
        unsure = evaluation.outcome is Outcome.ERROR and not ongoing
        self.fault = "; ".join(map(str, evaluation.faults)) if unsure else None
        return evaluation.outcome


def _may_get_result(event: Event) -> bool:
    open_result = isinstance(event, Call) and event.result is MISSING and not event.failed
    return open_result and getattr(event, "tool", None) != FINAL_ANSWER
