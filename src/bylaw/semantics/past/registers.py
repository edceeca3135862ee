"""The engine for rules about the past: it keeps memories, at the same cost for every event.

`G` over a body without future operators is decided at each event: the engine evaluates the body,
then the memories take in the event. The rule is doomed exactly when the body is false at an event.

A result may be unknown when its event, or a later one, is judged. Then the value of the body may
be unknown too, and the memories may have to change. The events from the first such event are kept
with an undo journal; when a result arrives, they are taken in again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.walk import sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.engine import Engine, EngineMark, heard_role
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.past.compiled import Compiler, past_bodies, triggers
from bylaw.semantics.past.memories import Index, Memory, Undo, event_of, event_record
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext, NotLocal, Test
from bylaw.vocabulary.view import Kleene


@dataclass(slots=True)
class UnsettledEvent:
    """An event that was taken in while a result was unknown."""

    event: Event
    position: int
    step: int


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
        self._size: Final = compiler.size
        self._sees_answer: Final = sees_answer(formula)
        self._concerned: dict[str, tuple[list[Test], list[Memory]]] = {}
        self._tail: UnsettledEvent | None = None
        """The latest event, not taken in yet: its result may arrive before the next event."""
        self.queue: list[UnsettledEvent] = []
        """The events from the first one that depends on an unknown result."""
        self._journal: list[Undo] = []
        """The undo functions for the events in the queue."""
        self._undecided = False
        """Does the value of a body at some event depend on an unknown result?"""
        self.violated = False

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
        """Takes in an event. Events that do not matter may be left out."""
        if isinstance(event, Call) and event.tool == FINAL_ANSWER and not self._sees_answer:
            return
        self._settle_tail()
        self._tail = UnsettledEvent(event, position, step)
        self._judge_tail()

    def mark(self) -> EngineMark:
        self._settle_tail()
        return self.violated, self._undecided

    def undo(self, mark: EngineMark) -> None:
        """Goes back to a marked state; the latest event was not taken in yet."""
        self._tail = None
        self.violated, self._undecided = mark

    def _settle_tail(self) -> None:
        """Takes in the latest event, as far as it is known."""
        if self._tail is None:
            return
        waiting, self._tail = self._tail, None
        undecided = self._undecided and not self.queue  # then the tail is undecided
        unknown = self._absorb(waiting, assume_missing=False)
        if self.queue or unknown or undecided:
            self.queue.append(waiting)
        else:
            self._journal.clear()

    def _moment(self, waiting: UnsettledEvent, *, assume_missing: bool) -> EventContext:
        event = waiting.event
        pending = (
            not assume_missing
            and isinstance(event, Call)
            and event.result is MISSING
            and not event.failed
            and event.tool != FINAL_ANSWER
        )
        return EventContext(event, waiting.position, waiting.step, pending, self._size)

    def _absorb(self, waiting: UnsettledEvent, *, assume_missing: bool) -> bool:
        """Lets the memories take in an event; True if they now depend on unknown results."""
        _, memories = self._concerned_by(_heard_as(waiting.event))
        if not memories:
            return False
        moment = self._moment(waiting, assume_missing=assume_missing)
        unknown = False
        # Outer memories first: they query inner ones, which must not have the event yet.
        for memory in reversed(memories):
            undo, depends = memory.take(moment)
            self._journal += undo
            unknown = unknown or depends
        moment.values = []  # replaced by the values of each later query
        return unknown

    def _judge(self, waiting: UnsettledEvent, *, assume_missing: bool) -> Kleene:
        """Do the bodies hold at an event?"""
        bodies, _ = self._concerned_by(_heard_as(waiting.event))
        answer: Kleene = True
        if bodies:
            moment = self._moment(waiting, assume_missing=assume_missing)
            for body in bodies:
                here = body(moment)
                if here is False:
                    return False
                answer = answer if here else None
        return answer

    def _judge_tail(self) -> None:
        if self._tail is not None:
            answer = self._judge(self._tail, assume_missing=False)
            self.violated = self.violated or answer is False
            self._undecided = self._undecided or answer is None

    # ── results ──────────────────────────────────────────────────────────────────────────

    def awaits(self, position: int) -> bool:
        tail = self._tail is not None and self._tail.position == position
        return tail or any(waiting.position == position for waiting in self.queue)

    def record(self, position: int, call: Call) -> None:
        if self._tail is not None and self._tail.position == position:
            self._tail.event = call
            if not self.queue:
                self._undecided = False
                self._judge_tail()
                return
        else:
            found = [waiting for waiting in self.queue if waiting.position == position]
            if not found:
                return  # the result does not matter
            found[0].event = call
        self._replay()

    def _replay(self) -> None:
        """Takes in the queue again, and drops the events that are settled now."""
        self._take_back()
        waiting, self.queue = self.queue, []
        self._undecided = False
        for each in waiting:
            answer = self._judge(each, assume_missing=False)
            self.violated = self.violated or answer is False
            self._undecided = self._undecided or answer is None
            unknown = self._absorb(each, assume_missing=False)
            if self.queue or unknown or answer is None:
                self.queue.append(each)
            else:
                self._journal.clear()
        self._judge_tail()

    def _take_back(self) -> None:
        while self._journal:
            self._journal.pop()()

    # ── verdicts ─────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        """Final once a body was false; else the verdict if no more results arrive."""
        if self.violated:
            return Verdict.VIOLATED
        if not self._undecided or self._holds_without_results():
            return Verdict.PRESUMABLY_SATISFIED
        return Verdict.PRESUMABLY_VIOLATED

    def _holds_without_results(self) -> bool:
        """Would the rule hold if the unknown results never arrived?"""
        self._take_back()
        holds = True
        for each in (*self.queue, self._tail):
            if each is not None and holds:
                holds = self._judge(each, assume_missing=True) is not False
                self._absorb(each, assume_missing=True)
        self._take_back()
        for each in self.queue:
            self._absorb(each, assume_missing=False)
        return holds

    @property
    def keeps_events(self) -> bool:  # type: ignore[override]  # it depends on the events
        return any(isinstance(memory, Index) and memory.keeps_events for memory in self.memories)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        self._take_back()
        remembered = [memory.save() for memory in self.memories]
        for each in self.queue:
            self._absorb(each, assume_missing=False)
        return {
            "memories": remembered,
            "queue": [_written(each) for each in self.queue],
            "tail": None if self._tail is None else _written(self._tail),
            "undecided": self._undecided,
            "violated": self.violated,
        }

    def restore(self, saved: Json) -> None:
        self._journal.clear()  # its entries belong to another run
        for memory, remembered in zip(self.memories, saved["memories"], strict=True):
            memory.restore(remembered, self._size)
        self.queue = [_read(each) for each in saved["queue"]]
        self._tail = None if saved["tail"] is None else _read(saved["tail"])
        self.violated = saved["violated"]
        self._undecided = saved["undecided"]
        for each in self.queue:
            self._absorb(each, assume_missing=False)


def _written(waiting: UnsettledEvent) -> Json:
    return [event_record(waiting.event), waiting.position, waiting.step]


def _read(written: Json) -> UnsettledEvent:
    event, position, step = written
    return UnsettledEvent(event_of(event), position, step)


def _heard_as(event: Event) -> str:
    return event.tool if isinstance(event, Call) else heard_role(event.role)
