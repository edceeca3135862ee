"""The engine for a formula that needs the whole trace: it keeps the trace.

Open predicates, the answer as a value, and domains that are read at the end cannot be followed
in constant memory. The verdict for a trace that ends now is still exact. No verdict is final,
except for a rule about the past: it is doomed once it is false at an event, whatever the pending
results are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.errors import clipped
from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.walk import everything, is_past_but_for_functions, sees_answer, weight_of
from bylaw.saved import Damaged, fields, listed, optional_text, whole
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.evaluation import evaluate
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.past.outcomes import outcomes_for, with_outcome
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.verdict import Outcome, Verdict
from bylaw.trace.event import Call, Event, may_get_result
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order, View
from bylaw.work import spend

MAX_FAULT: Final = 300
"""The length of the reason why a formula could not be decided, in characters."""


class History(Engine):
    """Keeps the events so far, and evaluates the reference on them."""

    may_fail = True
    keeps_events = True
    cautious = True

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
        self.overhears = formula.contains(f.OpenPredicate, f.Extracted)
        """Do functions of users read the trace? They see messages even if the rule does not."""
        predicates = {p.name for p in everything(formula) if isinstance(p, f.OpenPredicate)}
        self._may_change_its_mind: Final = not predicates <= vocabulary.final_when_false
        """Does it ask predicates whose answer is never final? They doom nothing."""
        self._weight: Final = weight_of(formula)
        self._bodies: Final = past_bodies(formula, is_past_but_for_functions) if past else None
        self.events: list[Event] = []
        self._numbers: list[int | None] = []
        """For each event, its position; None if only functions of users see it."""

    @property
    def reason(self) -> str | None:
        return self._reason

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in an event."""
        sees = self.kind == "all" or isinstance(event, Call)
        self._numbers.append(position if sees else None)
        self.events.append(event if event.step == step else replace(event, step=step))

    def awaits(self, position: int) -> bool:
        return position in self._numbers

    def record(self, position: int, call: Call) -> None:
        place = self._numbers.index(position)
        self.events[place] = replace(call, step=self.events[place].step)

    def drop(self, position: int) -> bool:
        place = self._numbers.index(position)
        later = list(zip(self.events, self._numbers, strict=True))[place + 1 :]
        del self.events[place:], self._numbers[place:]
        for event, number in later:
            self.events.append(event)
            self._numbers.append(number)
            if self.verdict() is Verdict.VIOLATED:
                del self.events[-1], self._numbers[-1]
        self.verdict()  # the fault, if any, is that of the events that are left
        return False

    def outstanding_evidence(self) -> Sequence[int]:
        """Sound: what cannot be shown to be harmless under every outcome should have waited."""
        waiting = [
            number
            for event, number in zip(self.events[:-1], self._numbers, strict=False)
            if number is not None and may_get_result(event)
        ]
        if self._bodies is None or not waiting or self._may_change_its_mind:
            return ()
        if self._holds_at_latest(self.events[-1]):
            return ()
        latest = self.events[-1]
        if may_get_result(latest) and any(
            self._holds_at_latest(with_outcome(latest, outcome))
            for outcome in outcomes_for(self.formula)
        ):
            return ()
        return waiting

    def _holds_at_latest(self, latest: Event) -> bool:
        """Do the bodies hold at the latest event, whatever the unknown results are?"""
        assert self._bodies is not None, "only rules about the past are decided at each event"
        at_the_end = [f.Eventually(f.And((f.Not(f.Next(f.Truth(True))), b))) for b in self._bodies]
        return all(
            self._outcome(body, [*self.events[:-1], latest], ongoing=True).passed
            for body in at_the_end
        )

    def mark(self) -> EngineMark:
        return len(self.events), self.fault

    def undo(self, mark: EngineMark) -> None:
        length, self.fault = mark
        del self.events[length:], self._numbers[length:]

    def save(self) -> Json:
        events = [event_record(event) for event in self.events]
        return {"events": events, "numbers": list(self._numbers), "fault": self.fault}

    def restore(self, saved: Json) -> None:
        events, numbers, fault = fields(saved, "events", "numbers", "fault")
        self.events = [event_of(record) for record in listed(events)]
        if any(event.step is None for event in self.events):
            raise Damaged("an event has no step")
        listed_numbers = listed(numbers, len(self.events))
        self._numbers = [None if each is None else whole(each) for each in listed_numbers]
        self.fault = optional_text(fault)

    def verdict(self) -> Verdict:
        """The verdict if the trace ended now; an error counts as a violation."""
        if self.past and self._outcome(self.formula, self.events, ongoing=True) is Outcome.VIOLATED:
            return Verdict.VIOLATED
        passed = self._outcome(self.formula, self.events, ongoing=False).passed
        return Verdict.PRESUMABLY_SATISFIED if passed else Verdict.PRESUMABLY_VIOLATED

    def _outcome(self, formula: f.Formula, events: Sequence[Event], *, ongoing: bool) -> Outcome:
        spend(len(events) * self._weight)
        trace = Trace(events, metrics=self.metrics, labels=self.labels)
        seen = trace.seen(self.kind, sees_answer(self.formula))
        open_results = (i for i, event in enumerate(seen) if may_get_result(event))
        pending = frozenset(open_results if ongoing else ())
        view = View(trace, seen, self.order, self.vocabulary, pending=pending, ongoing=ongoing)
        evaluation = evaluate(formula, view)
        if not ongoing:
            unsure = evaluation.outcome is Outcome.ERROR
            faults = "; ".join(clipped(str(fault), MAX_FAULT) for fault in evaluation.faults[:3])
            self.fault = faults if unsure else None
        return evaluation.outcome
