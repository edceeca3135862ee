"""The engine for rules about the past: it keeps memories, at the same cost for every event.

`G` over a body without future operators is decided at each event: the engine evaluates the body,
then the memories take in the event. The rule is doomed exactly when the body is false at an event.

A result may be unknown when its event, or a later one, is judged. Then the value of the body may
be unknown too, and the memories may have to change. The events from the first such event are kept,
each with its undo functions; when a result arrives, they are taken in again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from operator import attrgetter
from typing import Final

from bylaw.errors import Diagnostic, TraceError
from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.walk import sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.saved import fields, flag, listed, number, whole
from bylaw.semantics.engine import Engine, EngineAnswer, EngineMark, heard_role
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.past.compiled import Compiler, past_bodies, triggers
from bylaw.semantics.past.distinct_outcomes import distinct_outcomes
from bylaw.semantics.past.keyed import Index
from bylaw.semantics.past.memories import Memory
from bylaw.semantics.past.outcomes import CallOutcome, outcomes_for, with_outcome
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.past.unsettled import UnsettledEvent
from bylaw.semantics.past.windows import WindowedTallies
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, may_get_result
from bylaw.trace.time import microseconds
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext, NotLocal, Test
from bylaw.vocabulary.view import Kleene
from bylaw.work import OverBudget, spend, unlimited

MAX_COMBINATIONS: Final = 243
"""The limit on combinations of outcomes of outstanding calls that are tried."""


_position_of: Final = attrgetter("position")
_DOOMED: Final = EngineAnswer(Verdict.VIOLATED, Verdict.VIOLATED, idles=True)
_FINE: Final = EngineAnswer(Verdict.PRESUMABLY_SATISFIED, Verdict.PRESUMABLY_SATISFIED, idles=True)


class Registers(Engine):
    """A rule's bodies and memories, and the events that wait for results."""

    hears_everything = False

    def __init__(self, formula: f.Formula, labels: Mapping[str, Json]) -> None:
        bodies = past_bodies(formula)
        if bodies is None or formula.free:
            raise Unsupported("it refers to later events and compares data")
        compiler = Compiler(labels)
        try:
            self._bodies: Final = [(compiler.formula(body, {}), triggers(body)) for body in bodies]
        except NotLocal as error:
            raise Unsupported(str(error)) from None
        self.memories: Final = compiler.memories
        self._heard: Final = compiler.heard
        self._sliding: Final = [
            memory
            for memory in self.memories
            if isinstance(memory, Index | WindowedTallies) and memory.window is not None
        ]
        """The memories that let go of old events."""
        self._latest: float | None = None
        """The latest start of an event that the memories have taken in."""
        self._size: Final = compiler.size
        self._sees_answer: Final = sees_answer(formula)
        self._concerned: dict[str, tuple[list[Test], list[Memory]]] = {}
        self._tail: UnsettledEvent | None = None
        """The latest event, not taken in yet: its result may arrive before the next event."""
        self.queue: list[UnsettledEvent] = []
        """The events from the first one that depends on an unknown result."""
        self.violated = False
        self._formula: Final = formula

    def concerns(self, name: str) -> bool:
        bodies, memories = self._concerned_by(name)
        return bool(bodies or memories)

    def _concerned_by(self, name: str) -> tuple[list[Test], list[Memory]]:
        found = self._concerned.get(name)
        if found is None:
            bodies = [test for test, heard in self._bodies if heard is None or name in heard]
            pairs = zip(self.memories, self._heard, strict=True)
            memories = [memory for memory, heard in pairs if heard is None or name in heard]
            found = self._concerned[name] = (bodies, memories)
        return found

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        self.follow(event, position, step, new_step)

    def follow(self, event: Event, position: int, step: int, new_step: bool) -> EngineAnswer:
        """Takes in an event. Events that do not matter may be left out."""
        name = event.tool if isinstance(event, Call) else heard_role(event.role)
        if name == FINAL_ANSWER and not self._sees_answer:
            return self.answer()
        if self._tail is not None:
            self._settle_tail()
        if self._sliding:
            self._slide(event)
        concerned = self._concerned.get(name) or self._concerned_by(name)
        tail = self._tail = UnsettledEvent(event, position, step, *concerned)
        if tail.bodies:
            self._judge_again(tail)
        if self.violated:
            return _DOOMED
        return self.answer() if self.queue or tail.answer is None else _FINE

    def _slide(self, event: Event) -> None:
        """Lets go of what is too old for any event from the first unsettled one on."""
        if event.start is not None and self._latest is not None and event.start < self._latest:
            message = "this event starts before an earlier one"
            help = "A rule with a time window is followed in the order of time: sort the events."
            raise TraceError(Diagnostic("E308", message, help))
        first = self.queue[0].event.start if self.queue else self._latest
        if first is not None:
            for memory in self._sliding:
                memory.forget(microseconds(first))

    def mark(self) -> EngineMark:
        if self._tail is not None:
            with suppress(OverBudget):  # `take` raises it again
                self._settle_tail()
        return self.violated, self._tail

    def undo(self, mark: EngineMark) -> None:
        """Goes back to a marked state; the latest event was not taken in yet."""
        self.violated, self._tail = mark

    def _settle_tail(self) -> None:
        """Takes in the latest event, as far as it is known."""
        tail = self._tail
        if tail is None:
            return
        try:
            self._absorb(tail)
        except OverBudget:
            tail.take_back()
            raise
        self._tail = None
        if tail.event.start is not None:
            self._latest = tail.event.start
        if self.queue or not tail.settled:
            self.queue.append(tail)
            self._drop_settled()

    def _drop_settled(self) -> None:
        """Drops the events before the first one that is unsettled."""
        unsettled = (i for i, each in enumerate(self.queue) if not each.settled)
        del self.queue[: next(unsettled, len(self.queue))]

    def _moment(self, each: UnsettledEvent, *, assume_missing: bool) -> EventContext:
        pending = not assume_missing and may_get_result(each.event)
        return EventContext(each.event, each.position, each.step, pending, self._size)

    def _absorb(self, each: UnsettledEvent, *, assume_missing: bool = False) -> None:
        """Lets the memories take in an event."""
        each.remembered = False
        if not each.memories:
            return
        moment = self._moment(each, assume_missing=assume_missing)
        # Outer memories first: they query inner ones, which must not have the event yet.
        for memory in reversed(each.memories):
            undo, depends = memory.take(moment)
            each.undo += undo
            each.remembered = each.remembered or depends
        moment.values = []  # replaced by the values of each later query

    def _judge(self, each: UnsettledEvent, *, assume_missing: bool = False) -> Kleene:
        """Do the bodies hold at an event?"""
        answer: Kleene = True
        if each.bodies:
            moment = self._moment(each, assume_missing=assume_missing)
            for body in each.bodies:
                here = body(moment)
                if here is False:
                    return False
                answer = answer if here else None
        return answer

    def _judge_again(self, each: UnsettledEvent) -> None:
        each.answer = self._judge(each)
        self.violated = self.violated or each.answer is False

    # ── results ──────────────────────────────────────────────────────────────────────────

    def awaits(self, position: int) -> bool:
        return self._is_tail(position) or self._place(position) is not None

    def _is_tail(self, position: int) -> bool:
        return self._tail is not None and self._tail.position == position

    def _place(self, position: int) -> int | None:
        """The place in the queue of the event at a position."""
        place = bisect_left(self.queue, position, key=_position_of)
        found = place < len(self.queue) and self.queue[place].position == position
        return place if found else None

    def record(self, position: int, call: Call) -> None:
        tail = self._tail
        place = None if self._is_tail(position) else self._place(position)
        recorded = tail if place is None else self.queue[place]
        if recorded is None or recorded.position != position:
            return
        before, violated, recorded.event = recorded.event, self.violated, call
        try:
            self._take_again(place)
        except OverBudget:
            recorded.event, self.violated, self._tail = before, violated, tail
            with unlimited():
                self._take_again(place, settle=False)
            raise
        if not self.violated:  # else the event may yet be dropped
            self._drop_settled()

    def _take_again(self, place: int | None, *, settle: bool = True) -> None:
        """Judges and takes in again the events from a place in the queue on, and the latest one."""
        if place is not None:
            self._take_back(place)
            for later in self.queue[place:]:
                self._judge_again(later)
                self._absorb(later)
        if self._tail is not None:
            # What holds whatever the result is need not be asked again.
            if place is not None or not settle or not self._tail.answer:
                self._judge_again(self._tail)
            if settle and place is None and not self.violated:
                self._settle_tail()  # its result is known, so it need not wait

    def _take_back(self, place: int = 0) -> None:
        """Takes the events in the queue from a place on out of the memories."""
        for each in reversed(self.queue[place:]):
            each.take_back()

    def drop(self, position: int) -> bool:
        self.violated = False
        if self._tail is not None and self._tail.position == position:
            self._tail = None
            return False
        (place,) = (i for i, each in enumerate(self.queue) if each.position == position)
        self._take_back(place)
        _, *later = self.queue[place:]
        del self.queue[place:]
        for each in later:
            each.answer = self._judge(each)
            if each.answer is not False:
                self._absorb(each)
                self.queue.append(each)
        self._drop_settled()
        if self._tail is not None:
            self._tail.answer = self._judge(self._tail)
            if self._tail.answer is False:
                self._tail = None
        return False

    # ── outstanding results of other calls ───────────────────────────────────────────────

    def outstanding_evidence(self) -> Sequence[int]:
        """Exact if the rule tells few outcomes apart, else sound: it waits for what it may read."""
        tail = self._tail
        if tail is None or tail.answer is not None:
            return ()
        others = [each for each in self.queue if not each.settled and may_get_result(each.event)]
        if not others or any(self._judge(own) for own in self._own_outcomes(tail)):
            return ()
        outcomes = distinct_outcomes(self._formula)
        if outcomes is not None and self._survives_every_outcome(others, tail, outcomes):
            return ()
        return [each.position for each in others]

    def _own_outcomes(self, tail: UnsettledEvent) -> Iterator[UnsettledEvent]:
        """The event with the outcomes that it may have."""
        if not may_get_result(tail.event):
            yield tail
            return
        for outcome in distinct_outcomes(self._formula) or outcomes_for(self._formula):
            yield replace(tail, event=with_outcome(tail.event, outcome), undo=[])

    def _survives_every_outcome(
        self,
        others: Sequence[UnsettledEvent],
        tail: UnsettledEvent,
        outcomes: Sequence[CallOutcome],
    ) -> bool:
        """Is there, for all outcomes of the others, one of its own that breaks no body?"""
        if len(outcomes) ** len(others) > MAX_COMBINATIONS:
            return False
        calls = [(each, each.event) for each in others]
        try:
            for chosen in product(outcomes, repeat=len(others)):
                self._take_back()
                for (each, event), outcome in zip(calls, chosen, strict=True):
                    assert isinstance(event, Call), "only calls have outcomes"
                    each.event = with_outcome(event, outcome)
                if self._queue_holds() and not self._some_outcome_holds(tail):
                    return False
            return True
        finally:
            for each, event in calls:
                each.event = event
            self._absorb_again()

    def _queue_holds(self) -> bool:
        """Takes in the events in the queue, as they are. Do the bodies hold at each of them?"""
        for each in self.queue:
            if self._judge(each, assume_missing=True) is False:
                return False
            self._absorb(each, assume_missing=True)
        return True

    def _some_outcome_holds(self, tail: UnsettledEvent) -> bool:
        owns = self._own_outcomes(tail)
        return any(self._judge(own, assume_missing=True) is not False for own in owns)

    def _absorb_again(self) -> None:
        """Lets the memories have the events in the queue, as far as they are known."""
        self._take_back()
        with unlimited():
            for each in self.queue:
                self._absorb(each)

    # ── verdicts ─────────────────────────────────────────────────────────────────────────

    def answer(self) -> EngineAnswer:
        if self.violated:
            return _DOOMED
        waits = self.queue or (self._tail is not None and not self._tail.answer)
        return super().answer() if waits else _FINE

    def verdict(self) -> Verdict:
        """Final once a body was false; else the verdict if no more results arrive."""
        if self.violated:
            return Verdict.VIOLATED
        undecided = self._tail is not None and self._tail.answer is None
        if self.queue and not undecided:
            undecided = any(each.answer is None for each in self.queue)
        if not undecided or self._holds_without_results():
            return Verdict.PRESUMABLY_SATISFIED
        return Verdict.PRESUMABLY_VIOLATED

    def _holds_without_results(self) -> bool:
        """Would the rule hold if the unknown results never arrived?"""
        spend(len(self.queue))
        self._take_back()
        try:
            for each in self.queue if self._tail is None else (*self.queue, self._tail):
                if self._judge(each, assume_missing=True) is False:
                    return False
                self._absorb(each, assume_missing=True)
            return True
        finally:
            if self._tail is not None:
                self._tail.take_back()
            self._absorb_again()

    @property
    def cautious(self) -> bool:  # type: ignore[override]  # it depends on the rule
        return distinct_outcomes(self._formula) is None

    @property
    def keeps_events(self) -> bool:  # type: ignore[override]  # it depends on the events
        return any(isinstance(memory, Index) and memory.keeps_events for memory in self.memories)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        self._take_back()
        remembered = [memory.save() for memory in self.memories]
        self._absorb_again()
        return {
            "memories": remembered,
            "queue": [_written(each) for each in self.queue],
            "tail": None if self._tail is None else _written(self._tail),
            "violated": self.violated,
            "latest": self._latest,
        }

    def restore(self, saved: Json) -> None:
        memories, queue, tail, violated, latest = fields(
            saved, "memories", "queue", "tail", "violated", "latest"
        )
        for memory, remembered in zip(
            self.memories, listed(memories, len(self.memories)), strict=True
        ):
            memory.restore(remembered, self._size)
        self.queue = [self._read(each) for each in listed(queue)]
        self._tail = None if tail is None else self._read(tail)
        self.violated = flag(violated)
        self._latest = None if latest is None else number(latest)
        for each in self.queue:
            self._judge_again(each)
            self._absorb(each)
        if self._tail is not None:
            self._judge_again(self._tail)

    def _read(self, written: Json) -> UnsettledEvent:
        record, position, step = listed(written, 3)
        event = event_of(record)
        concerned = self._concerned_by(_heard_as(event))
        return UnsettledEvent(event, whole(position), whole(step), *concerned)


def _written(waiting: UnsettledEvent) -> Json:
    return [event_record(waiting.event), waiting.position, waiting.step]


def _heard_as(event: Event) -> str:
    return event.tool if isinstance(event, Call) else heard_role(event.role)
