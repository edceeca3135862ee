"""The engine for a formula that needs the whole trace: it keeps the trace.

Open predicates, the answer as a value, and domains that are read at the end cannot be followed
in constant memory. The verdict for a trace that ends now is still exact. No verdict is final,
except for a rule about the past: it is doomed once it is false at an event, whatever the pending
results are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bylaw.logic import formula as f
from bylaw.logic.walk import everything, sees_answer
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.evaluation import evaluate
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.semantics.verdict import Outcome, Verdict
from bylaw.trace.event import Call, Event, may_get_result
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order, View


class History(Engine):
    """Keeps the events so far, and evaluates the reference on them."""

    may_fail = True
    keeps_events = True

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
        reason: str | None = None,
    ) -> None:
        self.formula = formula
        self.order: Order = order
        self.kind: Events = events
        self.vocabulary = vocabulary
        self.metrics = metrics
        self.labels = labels
        self.past = past
        """Is the formula decided at each event, whatever follows?"""
        self._reason = reason
        self.overhears = any(
            isinstance(part, f.OpenPredicate | f.Extracted) for part in everything(formula)
        )
        """Do functions of users read the trace? They see messages even if the rule does not."""
        self.events: list[Event] = []
        self._places: list[int] = []
        """The indices in `events` of the events that the rule sees."""

    @property
    def reason(self) -> str | None:
        return self._reason

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in an event."""
        if self.kind == "all" or isinstance(event, Call):
            self._places.append(len(self.events))
        self.events.append(event if event.step == step else replace(event, step=step))

    def awaits(self, position: int) -> bool:
        return True

    def record(self, position: int, call: Call) -> None:
        place = self._places[position]
        self.events[place] = replace(call, step=self.events[place].step)

    def mark(self) -> EngineMark:
        return len(self.events), len(self._places), self.fault

    def undo(self, mark: EngineMark) -> None:
        events, places, self.fault = mark
        del self.events[events:], self._places[places:]

    def save(self) -> Json:
        return {"events": [event_record(event) for event in self.events], "fault": self.fault}

    def restore(self, saved: Json) -> None:
        self.events, self._places = [], []
        for record in saved["events"]:
            event = event_of(record)
            self.take(event, len(self._places), event.step or 0, False)
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
        open_results = (i for i, event in enumerate(seen) if may_get_result(event))
        pending = frozenset(open_results if ongoing else ())
        view = View(trace, seen, self.order, self.vocabulary, pending=pending, ongoing=ongoing)
        evaluation = evaluate(self.formula, view)
        unsure = evaluation.outcome is Outcome.ERROR and not ongoing
        self.fault = "; ".join(map(str, evaluation.faults)) if unsure else None
        return evaluation.outcome
