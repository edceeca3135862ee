"""Many formulas followed together, from the first event to a verdict on each.

Events are dispatched to the formulas that they may move (`dispatch`). Results arrive later than
their calls, and deadlines pass between events.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from bylaw.frozen import replace
from bylaw.saved import Damaged, fields, flag, listed, places, whole
from bylaw.semantics.dispatch import Dispatcher
from bylaw.semantics.engine import Engine
from bylaw.semantics.executed import read_reasons
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, may_get_result
from bylaw.values import Json, copied
from bylaw.work import UNLIMITED, OverBudget, allot

_SAVED: Final = (
    *("length", "calls", "steps", "opened", "waiting", "engines", "verdicts", "open", "broken"),
    *("lost", "executed", "unscored", "reopened"),
)
"""The parts of a saved state."""


class Monitors(Dispatcher):
    """Follows several formulas; `verdicts` has one verdict for each, in the given order.

    `events` is one setting for all formulas, or one for each. `cache` holds machines that other
    runs of the same formulas have built.

    A formula is followed no further once its verdict is final. With `excuses`, an event that dooms
    a formula is excused instead: the formula is followed as if the event had not been, and
    `executed_verdict` is the verdict on all events.

    With `max_work`, a formula that takes more steps at an event cannot be decided there; a result
    that takes more steps stays unknown.
    """

    @property
    def keeps_events(self) -> list[bool]:
        """For each formula: does it keep events and search them later?"""
        return [engine.keeps_events for engine in self.engines]

    @property
    def next_step(self) -> int:
        """The step after that of the latest event."""
        last = self._steps[0]
        return 0 if last is None else last + 1

    def executed_verdict(self, index: int) -> Verdict | None:
        """The verdict of a formula on all events; None if it could not be decided."""
        enforced = None if index in self.faults() else self.verdicts[index]
        return self.executed.verdict(index, enforced)

    # ── results ──────────────────────────────────────────────────────────────────────────

    def record(
        self,
        position: int,
        result: Json,
        *,
        error: str | None = None,
        end: float | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> list[int]:
        """Takes in the result of the event at a position; returns the formulas that it dooms.

        Results arrive after the turn of their call, so they are judged as if the step had ended.
        """
        if position not in self.outstanding:
            return []
        proposed, number, concerned = self.outstanding[position]
        call = replace(proposed, result=result, error=error, end=end, usage=usage)
        doomed, still_unknown = [], []
        following = list(self.executed.engines)
        for index in concerned & self._open:
            engine = self.engines[index]
            place = position if index in self.sees_messages else number
            if not engine.awaits(place):
                continue  # the result does not matter to it
            allot(self._max_work)
            try:
                engine.record(place, call)
            except OverBudget:
                still_unknown.append(index)
                continue
            except Exception as failure:  # a user's comparator
                verdict = self._break(index, failure)
            else:
                allot(self._max_work)
                verdict = self._settled(index, engine)
            finally:
                allot(UNLIMITED)
            fault = index in self.broken or engine.fault is not None
            if verdict is Verdict.VIOLATED or (self._excuses and fault):
                doomed.append(index)
                if self._excuses:
                    self._excuse_call(index, place)
        for index in following:
            self.executed.record(index, position if index in self.sees_messages else number, call)
        if still_unknown:
            self.outstanding[position] = (proposed, number, frozenset(still_unknown))
        else:
            del self.outstanding[position]
        return doomed

    def _settled(self, index: int, engine: Engine) -> Verdict:
        """The verdict after a result, if its step ended. Without one, the next event is judged."""
        try:
            answer = engine.answer()
            self._note(index, answer)
            return answer.verdict_if_step_ended
        except OverBudget:
            self.verdicts[index] = Verdict.PRESUMABLY_VIOLATED
            self._note_unmet(index, self.verdicts[index])
        except Exception as failure:  # a user's comparator
            self._break(index, failure)
        return self.verdicts[index]

    def _excuse_call(self, index: int, place: int) -> None:
        """Follows a formula as if the call whose result was just recorded had not been made."""
        self._follow_executed(index)
        self.broken.pop(index, None)
        self._open.add(index)
        if self.engines[index].drop(place):
            self._reopened.add(index)
        self._note(index, self.engines[index].answer())

    # ── the clock ────────────────────────────────────────────────────────────────────────

    def tick(self, now: float) -> list[tuple[int, float]]:
        """The time has come to `now`; returns the formulas doomed by it, and their deadlines.

        With `excuses`, a formula is then followed as if nothing had been due, and may be returned
        again for a later deadline.
        """
        lost: list[tuple[int, float]] = []
        for index in sorted(self.with_deadlines & self._open):
            engine = self.engines[index]
            while (due := engine.next_deadline()) is not None and due < now:
                engine.tick(now)
                self._note(index, engine.answer())
                if index in self._open:
                    break  # less than a microsecond late
                lost.append((index, due))
                if not self._excuses:
                    break
                self._follow_executed(index)
                self._open.add(index)
                engine.drop_next_deadline()
                self._note(index, engine.answer())
        for index in self.with_deadlines & self.executed.engines.keys():
            self.executed.engines[index].tick(now)
        return lost

    def next_deadline(self) -> float | None:
        """The time by which something must happen, if anything must."""
        found = (self.engines[index].next_deadline() for index in self.with_deadlines & self._open)
        return min((due for due in found if due is not None), default=None)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """The states of all formulas as JSON, for `restore`."""
        state = {
            "length": self.length,
            "calls": self.calls,
            "steps": list(self._steps),
            "opened": self._opened,
            "waiting": [
                [position, event_record(call), number, sorted(concerned)]
                for position, (call, number, concerned) in self.outstanding.items()
            ],
            "engines": [engine.save() for engine in self.engines],
            "verdicts": [verdict.value for verdict in self.verdicts],
            "open": sorted(self._open),
            "broken": [[index, reason] for index, reason in self.broken.items()],
            "reopened": sorted(self._reopened),
            **self.executed.save(),
        }
        return dict(copied(state))  # engines change theirs in place

    def restore(self, saved: Json) -> None:
        """Goes back to states saved for the same formulas. Each part is checked.

        After an exception, it must not be used any more.
        """
        saved = copied(saved)  # the caller may restore it again
        parts = dict(zip(_SAVED, fields(saved, *_SAVED), strict=True))
        size = len(self.engines)
        self.length = whole(parts["length"])
        self.calls = whole(parts["calls"], 0, self.length)
        last, said, over = listed(parts["steps"], 3)
        self._steps = None if last is None else whole(last), flag(said), flag(over)
        self._opened = flag(parts["opened"])
        self.outstanding = dict(map(self._read_outstanding, listed(parts["waiting"])))
        for engine, state in zip(self.engines, listed(parts["engines"], size), strict=True):
            engine.restore(state)
        self.broken = read_reasons(parts["broken"], size)
        self._reopened = set(places(parts["reopened"], size))
        self.executed.restore(parts["lost"], parts["executed"], parts["unscored"], size)
        self._restore_verdicts(parts["verdicts"], parts["open"])

    def _read_outstanding(self, saved: Json) -> tuple[int, tuple[Call, int, frozenset[int]]]:
        position, record, number, concerned = listed(saved, 4)
        call = event_of(record)
        if not isinstance(call, Call) or not may_get_result(call):
            raise Damaged("expected a call without a result")
        waiting = frozenset(places(concerned, len(self.engines)))
        return whole(position, 0, self.length - 1), (call, whole(number, 0, position), waiting)

    def _restore_verdicts(self, verdicts: Json, still_open: Json) -> None:
        """The verdicts follow from the states: what was saved must agree."""
        for index, value in enumerate(listed(verdicts, len(self.engines))):
            verdict = Verdict.PRESUMABLY_VIOLATED
            if index not in self.broken:
                allot(self._max_work)
                with suppress(OverBudget):
                    verdict = self.engines[index].verdict()
                allot(UNLIMITED)
            self.verdicts[index] = verdict
            if verdict.value != value:
                raise Damaged("a verdict does not follow from the state of its formula")
        final = {i for i, verdict in enumerate(self.verdicts) if verdict.final}
        self._open = set(range(len(self.engines))) - final - self.broken.keys()
        if sorted(self._open) != still_open:
            raise Damaged("a formula is followed no longer, although its verdict is open")
        self.unmet = self._find_unmet() - self.broken.keys()
        self.restless = self._find_restless()
