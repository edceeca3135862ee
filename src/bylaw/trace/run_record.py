"""The record of one run at a gate, from its start to its end. It makes the trace of what ran.

A guard keeps one while it decides, and a reader of a gate's log can build the same one:

| in the run | here |
| --- | --- |
| it starts | `RunRecord(metrics, labels)` |
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

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from bylaw.names import FINAL_ANSWER
from bylaw.saved import Damaged, fields, listed, optional_text, whole
from bylaw.trace.event import MISSING, Call, Event, Message, may_get_result
from bylaw.trace.refusal import Refusal
from bylaw.trace.trace import Trace, answer_text
from bylaw.values import Json

DecisionKey: TypeAlias = tuple[int, int]
"""A decision's turn, and its place in the turn."""


class RunRecord:
    """What ran and what was refused, in order. Not thread-safe: the caller holds the lock.

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
        self.kept = limit > 0
        """Are events kept? Not any more once there were too many."""
        self._events: list[Event] = []
        self._refusals: list[Refusal] = []
        self._length = 0
        """The number of events, kept or not."""
        self._refused = 0
        """The number of refusals, kept or not."""
        self._outstanding: dict[DecisionKey, tuple[int, int]] = {}
        """The calls without a result: their place among the events, and their step."""

    # ── the run ──────────────────────────────────────────────────────────────────────────

    def hear(self, message: Message) -> None:
        """Takes in a message, which has a step."""
        if self._has_room():
            self._events.append(message)
        self._length += 1

    def allow(self, key: DecisionKey, call: Call, step: int) -> None:
        """Takes in a call that runs, or the answer."""
        if call.tool == FINAL_ANSWER:
            self.answer = answer_text(call)
            return
        if self._has_room():
            self._events.append(call)
        self._outstanding[key] = self._length, step
        self._length += 1

    def refuse(self, refusal: Refusal) -> None:
        """Takes in a refused call; its place among the events is filled in here."""
        if self._has_room():
            self._refusals.append(replace(refusal, events_before=self._length))
        self._refused += 1

    def settle(self, key: DecisionKey, call: Call) -> None:
        """Takes in an allowed call again, now with its result or error, if these are known."""
        place, step = self._outstanding.pop(key, (-1, -1))
        if self.kept and place >= 0:  # an answer has no place
            self._events[place] = call if call.step == step else replace(call, step=step)

    def withdraw(self) -> None:
        """Removes the answer: the run continues."""
        self.answer = None

    def forget(self, keys: Iterable[DecisionKey]) -> None:
        """Removes calls that were allowed, but did not run because nobody learned of it."""
        known = [self._outstanding.pop(key) for key in keys if key in self._outstanding]
        for gone, _ in sorted(known, reverse=True):
            self._length -= 1
            del self._events[gone : gone + 1]
            for i, each in enumerate(self._refusals):
                if each.events_before > gone:
                    self._refusals[i] = replace(each, events_before=each.events_before - 1)
            for key, (place, step) in self._outstanding.items():
                self._outstanding[key] = place - (place > gone), step

    def finish(self, answer: str | None, metrics: Mapping[str, Json]) -> None:
        """Takes in an answer that nobody proposed, and metrics that are known only at the end."""
        self.answer = answer if self.answer is None else self.answer
        self.metrics |= metrics

    def trace(self) -> Trace | None:
        """The trace of what ran, with the refusals; None if it was not kept."""
        return self._trace(self.metrics, self.labels) if self.kept else None

    def _trace(self, metrics: Mapping[str, Json], labels: Mapping[str, Json]) -> Trace:
        events = list(self._events)
        for place, step in self._outstanding.values():
            events[place] = replace(events[place], step=step)
        known = {"answer": self.answer, "refusals": self._refusals}
        return Trace(events, metrics=metrics, labels=labels, **known)  # type: ignore[arg-type]

    def _has_room(self) -> bool:
        """Is one more event or refusal kept? If not, no event is."""
        if self.kept and self._length + self._refused >= self.limit:
            self.kept = False
            self._events, self._refusals = [], []
        return self.kept

    # ── saving and resuming ──────────────────────────────────────────────────────────────

    def mark(self) -> dict[str, Json]:
        """The extent of the record, as JSON, for `rewind`."""
        outstanding = [[*key, *place] for key, place in self._outstanding.items()]
        return {
            "events": self._length,
            "refusals": self._refused,
            "outstanding": outstanding,
            "answer": self.answer,
        }

    def rewind(self, mark: Json) -> None:
        """Returns to a mark. What followed it is lost, as when a run is resumed from there."""
        length, refused, outstanding, answer = fields(mark, *_MARK)
        self._length, self._refused = whole(length), whole(refused)
        self.answer, self.metrics = optional_text(answer), dict(self._given)
        entries = [[whole(number) for number in listed(each, 4)] for each in listed(outstanding)]
        self._outstanding = {(turn, index): (at, step) for turn, index, at, step in entries}
        if any(at >= self._length for at, _ in self._outstanding.values()):
            raise Damaged("a call is outstanding that was not made")
        if not self.kept:
            return
        if len(self._events) < self._length or len(self._refusals) < self._refused:
            raise Damaged("events are missing")
        del self._events[self._length :], self._refusals[self._refused :]
        for place, _ in self._outstanding.values():
            call = self._events[place]
            if not isinstance(call, Call) or call.tool == FINAL_ANSWER:
                raise Damaged("what is outstanding is the result of a call")
            if not may_get_result(call):
                self._events[place] = replace(call, result=MISSING, error=None)

    def save(self) -> Json:
        """The record as JSON. Its metrics and labels are left to the guard."""
        kept = self._trace({}, {}).to_record() if self.kept else None
        return {"mark": self.mark(), "kept": kept}

    def restore(self, saved: Json) -> None:
        """Resumes a saved record."""
        mark, kept = fields(saved, "mark", "kept")
        self.kept = kept is not None
        if kept is not None:
            trace = Trace.from_record(kept)
            self._events, self._refusals = list(trace.events), list(trace.refusals)
        self.rewind(mark)


_MARK: Final = ("events", "refusals", "outstanding", "answer")
