"""The record of one run at a gate, from its start to its end. It makes the trace of what ran.

A guard keeps one while it decides, and a reader of a gate's log can build the same one:

| in the run | here |
| --- | --- |
| it starts | `GateRecord(metrics, labels)` |
| somebody says something | `hear` |
| a call is proposed, and allowed or refused | `allow`, `refuse` |
| the result of a call arrives | `settle` |
| the answer is withdrawn | `withdraw` |
| a turn is broken off, and its decisions reach nobody | `forget` |
| it is saved, and resumed from there | `mark`, `rewind` |
| it finishes | `finish`, then `trace` |

A call that was allowed has run, whether or not its result ever arrives, and whatever it was let
past: the agent insisted, or a person approved it. The answer comes last, also if something was said
after it.

A decision is named by its turn and by its place in the turn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from bylaw.frozen import replace
from bylaw.names import FINAL_ANSWER
from bylaw.saved import Damaged, fields, listed, number, optional_text, whole
from bylaw.trace.event import MISSING, Call, Event, Message
from bylaw.trace.refusal import Refusal
from bylaw.trace.trace import Trace, answer_text
from bylaw.values import Json

DecisionKey: TypeAlias = tuple[int, int]
"""A decision's turn, and its place in the turn."""


class GateRecord:
    """The calls that ran or were refused, in order. Not thread-safe: the caller holds the lock.

    With more than `limit` events and refusals, all of them are dropped, and there is no trace.
    """

    def __init__(
        self,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
        *,
        limit: float = float("inf"),
    ) -> None:
        self._given: Final = dict(metrics or {})
        self.metrics = dict(self._given)
        self.labels: Final = dict(labels or {})
        self.limit: Final = limit
        self.answer: str | None = None
        self.answered: float | None = None
        """The time of the answer."""
        self.kept = limit > 0
        """Are events kept? Not any more once there were too many."""
        self._events: list[Event] = []
        self._refusals: list[Refusal] = []
        self._left_out = (0, 0)
        """The numbers of events and of refusals that are not kept."""
        self._outstanding: dict[DecisionKey, tuple[int, int]] = {}
        """The calls without a result: their place among the events, and their step."""

    # Anything may be interrupted anywhere. Every line below leaves a record that can be used.

    # ── the run ──────────────────────────────────────────────────────────────────────────

    def hear(self, message: Message) -> None:
        """Takes in a message, which has a step."""
        if self._has_room():
            self._events.append(message)
        else:
            self._leave_out(1, 0)

    def allow(self, key: DecisionKey, call: Call, step: int) -> None:
        """Takes in a call that runs, or the answer."""
        if call.tool == FINAL_ANSWER:
            self.answer, self.answered = answer_text(call), call.start
        elif self._has_room():
            self._outstanding[key] = len(self._events), step
            self._events.append(call)
        else:
            self._outstanding[key] = self._left_out[0], step
            self._leave_out(1, 0)

    def refuse(self, refusal: Refusal) -> None:
        """Takes in a refused call; its place among the events is filled in here."""
        if self._has_room():
            self._refusals.append(replace(refusal, events_before=len(self._events)))
        else:
            self._leave_out(0, 1)

    def settle(self, key: DecisionKey, call: Call) -> None:
        """Takes in an allowed call again, now with its result or error, if these are known."""
        place, step = self._outstanding.get(key, (-1, -1))
        if self.kept and place >= 0:  # an answer has no place
            self._events[place] = call if call.step == step else replace(call, step=step)
        self._outstanding.pop(key, None)

    def withdraw(self) -> None:
        """Removes the answer: the run continues."""
        self.answer = self.answered = None

    def forget(self, keys: Iterable[DecisionKey], refused: Collection[str | None] = ()) -> None:
        """Removes calls that were allowed, but did not run because nobody learned of it.

        Refusals that nobody learned of are removed by the ids of their decisions.
        """
        unknown = set(keys)
        gone = sorted(self._outstanding[key][0] for key in unknown & self._outstanding.keys())
        events = [event for at, event in enumerate(self._events) if at not in gone]
        refusals = [
            replace(each, events_before=each.events_before - bisect_left(gone, each.events_before))
            for each in self._refusals
            if each.decision not in refused
        ]
        outstanding = {
            key: (place - bisect_left(gone, place), step)
            for key, (place, step) in self._outstanding.items()
            if key not in unknown
        }
        self._events, self._refusals, self._outstanding = events, refusals, outstanding
        if not self.kept:
            self._leave_out(-len(gone), -len(refused))

    def finish(
        self, answer: str | None, metrics: Mapping[str, Json], answered: float | None
    ) -> None:
        """Takes in an answer that nobody proposed, and metrics that are known only at the end."""
        if self.answer is None and answer is not None:
            self.answer, self.answered = answer, answered
        self.metrics |= metrics

    def trace(self) -> Trace | None:
        """The trace of what ran, with the refusals; None if it was not kept."""
        return self._trace(self.metrics, self.labels) if self.kept else None

    def _trace(self, metrics: Mapping[str, Json], labels: Mapping[str, Json]) -> Trace:
        events = list(self._events)
        for place, step in self._outstanding.values():
            if place < len(events):
                events[place] = replace(events[place], step=step)
        return Trace(
            events,
            answer=self.answer,
            metrics=metrics,
            labels=labels,
            refusals=self._refusals,
            answered=self.answered,
        )

    def _has_room(self) -> bool:
        """Is one more event or refusal kept? If not, none is."""
        events, refusals = len(self._events), len(self._refusals)
        if self.kept and events + refusals >= self.limit:
            size = events, refusals
            self.kept, self._events, self._refusals, self._left_out = False, [], [], size
        return self.kept

    def _leave_out(self, events: int, refusals: int) -> None:
        self._left_out = self._left_out[0] + events, self._left_out[1] + refusals

    # ── saving and resuming ──────────────────────────────────────────────────────────────

    def mark(self) -> dict[str, Json]:
        """The extent of the record, as JSON, for `rewind`."""
        events, refusals = self._left_out
        events, refusals = events + len(self._events), refusals + len(self._refusals)
        outstanding = [
            [*key, place, step]
            for key, (place, step) in self._outstanding.items()
            if place < events and not (self.kept and _has_result(self._events[place]))
        ]
        numbers: dict[str, Json] = {"events": events, "refusals": refusals}
        answer: dict[str, Json] = {"answer": self.answer, "answered": self.answered}
        return {**numbers, "outstanding": outstanding, **answer}

    def rewind(self, mark: Json) -> None:
        """Returns to a mark. What followed it is lost, as when a run is resumed from there."""
        names = ("events", "refusals", "outstanding", "answer", "answered")
        events, refusals, outstanding, answer, answered = fields(mark, *names)
        size = whole(events), whole(refusals)
        entries = [[whole(number) for number in listed(each, 4)] for each in listed(outstanding)]
        self._outstanding = {(turn, index): (at, step) for turn, index, at, step in entries}
        self.answer, self.metrics = optional_text(answer), dict(self._given)
        self.answered = None if answered is None else number(answered)
        if any(at >= size[0] for at, _ in self._outstanding.values()):
            raise Damaged("a call is outstanding that was not made")
        if not self.kept:
            self._left_out = size
            return
        if len(self._events) < size[0] or len(self._refusals) < size[1]:
            raise Damaged("events are missing")
        del self._events[size[0] :], self._refusals[size[1] :]
        for place, _ in self._outstanding.values():
            call = self._events[place]
            if not isinstance(call, Call):
                raise Damaged("what is outstanding is the result of a call")
            if _has_result(call):
                unknown = {"error": None, "end": None, "usage": None}
                self._events[place] = replace(call, result=MISSING, **unknown)

    def save(self) -> Json:
        """The record as JSON. Its metrics and labels are left to the guard."""
        kept = self._trace({}, {}).to_record() if self.kept else None
        return {"mark": self.mark(), "kept": kept}

    @property
    def latest_step(self) -> int:
        """The step of the latest event that is kept; -1 if there is none."""
        return max((event.step or 0 for event in self._events[-1:]), default=-1)

    def restore(self, saved: Json) -> None:
        """Resumes a saved record."""
        mark, kept = fields(saved, "mark", "kept")
        self.kept = kept is not None
        if kept is not None:
            trace = Trace.from_record(kept)
            self._events, self._refusals = list(trace.events), list(trace.refusals)
        self.rewind(mark)


def _has_result(event: Event) -> bool:
    return isinstance(event, Call) and (event.result is not MISSING or event.failed)
