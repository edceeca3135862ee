"""The engine for deadlines: `G(a -> F b within 1 h)` keeps one deadline for each key.

The rule is doomed by the first event that starts after a deadline, or by a tick of the clock. An
event without a start can neither meet a deadline nor have one, so it dooms the rule if something
must follow it. Without `within`, something must follow at any time: nothing is ever overdue, the
starts do not matter, and the engine keeps the keys that still wait.

While results are outstanding, two accounts are kept: a hopeful one, in which unknown results meet
what they can and oblige to nothing, and one in which they never arrive. The rule is doomed if even
the hopeful account is overdue. Events from the first one that depends on an unknown result are
kept, and are taken in again when a result arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from bylaw.errors import Diagnostic, TraceError
from bylaw.frozen import field, record
from bylaw.logic import formula as f
from bylaw.logic.walk import is_past, sees_answer
from bylaw.names import FINAL_ANSWER
from bylaw.saved import fields, flag, listed, number, whole
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.past.ages import KeyPlace
from bylaw.semantics.past.compiled import Compiler
from bylaw.semantics.past.keyed import KeyedMemory, label
from bylaw.semantics.past.obligations import Obligations
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.undo import Undo
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import MISSING, Call, Event, may_get_result
from bylaw.trace.time import microseconds
from bylaw.values import LARGEST, Json
from bylaw.vocabulary.local import EventContext, NotLocal, Slots, Test
from bylaw.vocabulary.possible import UNSEEN, Unseen
from bylaw.vocabulary.view import Kleene

_Response: TypeAlias = f.EventuallyWithin | f.LaterWithin | f.Eventually | f.Later


def _response(body: f.Formula) -> _Response:
    """The operator that says what must follow, below `let` and the condition."""
    match body:
        case f.Let(_, _, inner) | f.Implies(_, inner):
            return _response(inner)
        case f.EventuallyWithin() | f.LaterWithin() | f.Eventually() | f.Later():
            return body
        case _:
            raise Unsupported("it is not a deadline after an event")


@record
class _Taken:
    """An event that was taken in, and how to take it out again."""

    event: Event | int
    """An event, or the time of a deadline that was dropped, in microseconds."""
    position: int = -1
    step: int = -1
    undo: list[Undo] = field(default_factory=list)
    settled: bool = True
    """Is everything known that it decides?"""


class Deadlines(Engine):
    """A trigger, what must follow it in time, and the events that still wait for that."""

    def __init__(
        self, formula: f.Formula, labels: Mapping[str, Json], *, reason: str | None = None
    ) -> None:
        if not isinstance(formula, f.Always) or formula.free:
            raise Unsupported("it refers to later events and compares data")
        body = formula.operand
        response = _response(body)
        limit: int | None = None
        if isinstance(response, f.EventuallyWithin | f.LaterWithin):
            limit = microseconds(response.seconds.value)
        apart = isinstance(response, f.LaterWithin | f.Later)
        self.has_deadlines = limit is not None
        self._reason: Final = reason
        self._hopeful: Final = Obligations(limit, apart=apart)
        self._plain: Final = Obligations(limit, apart=apart)
        self._compiler: Final = Compiler(labels)
        self._goal: KeyedMemory
        try:
            self._trigger: Final = self._compiled(body, {})
        except NotLocal as error:
            raise Unsupported(str(error)) from None
        if self._compiler.memories:
            raise Unsupported("a deadline depends on earlier events")
        self._sees_answer: Final = sees_answer(formula)
        self.violated = False
        self._hopeless = False
        """Would it be violated if no more results arrived, whatever else happens?"""
        self._latest: float | None = None
        self._log: list[_Taken] = []
        """The events from the first one that is unsettled; at least those since the last mark."""
        self._marked = False
        """May the latest events be undone?"""

    @property
    def reason(self) -> str | None:
        return self._reason

    # ── compiling ────────────────────────────────────────────────────────────────────────

    def _compiled(self, body: f.Formula, slots: Slots) -> Test:
        """The test whether an event must be followed. It binds the values that form the key."""
        match body:
            case f.Let(variable, value, inner):
                slot = self._compiler.new_slot()
                read = self._compiler.possible(value, slots)
                test = self._compiled(inner, {**slots, variable: slot})

                def bound(now: EventContext) -> Kleene:
                    now.values[slot] = read(now)
                    return test(now)

                return bound
            case f.Implies(left, right) if is_past(left):
                applies = self._compiler.formula(left, slots)
                follows = self._compiled(right, slots)

                def both(now: EventContext) -> Kleene:
                    answer = applies(now)
                    if answer is False:
                        return False
                    follows(now)  # binds the values of the key
                    return answer

                return both
            case (
                f.EventuallyWithin(operand)
                | f.LaterWithin(operand)
                | f.Eventually(operand)
                | f.Later(operand)
            ):
                self._goal = KeyedMemory(self._compiler.keyed_condition(operand, slots))
                return lambda now: True
            case _:
                raise Unsupported("it is not a deadline after an event")

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        """Takes in an event."""
        if isinstance(event, Call) and event.tool == FINAL_ANSWER and not self._sees_answer:
            return
        start, latest = event.start, self._latest
        if self.has_deadlines and start is not None and latest is not None and start < latest:
            message = "this event starts before an earlier one"
            help = "A rule with a deadline is followed in the order of time: sort the events."
            raise TraceError(Diagnostic("E308", message, help))
        if not self._marked:
            self._drop_settled()
        taken = _Taken(event, position, step)
        self._log.append(taken)
        self._apply(taken)

    def _apply(self, taken: _Taken) -> None:
        event, undo = taken.event, taken.undo
        if isinstance(event, int):
            for account in (self._hopeful, self._plain):
                undo += account.drop_before(event + 1)
            return
        before = self.violated, self._hopeless, self._latest

        def put_back() -> None:
            self.violated, self._hopeless, self._latest = before

        undo.append(put_back)
        start = microseconds(event.start) if self.has_deadlines else 0
        if start is not None and self.has_deadlines:
            self._latest = event.start
            deadline = self._hopeful.deadline()
            self.violated = self.violated or (deadline is not None and start > deadline)
        waits = may_get_result(event)
        must, meets = self._asked(event, taken, pending=waits)
        taken.settled = must is not None and meets is not None
        hopeless = self._account(self._hopeful, taken, must is True, meets is not False, start)
        self.violated = self.violated or hopeless
        if waits and not taken.settled:
            must, meets = self._asked(event, taken, pending=False)
        hopeless = self._account(self._plain, taken, must is True, meets is True, start)
        self._hopeless = self._hopeless or hopeless

    def _asked(self, event: Event, taken: _Taken, *, pending: bool) -> tuple[Kleene, Kleene]:
        """Must the event be followed, and is it what others wait for?"""
        size = self._compiler.size
        moment = EventContext(event, taken.position, taken.step, pending, size)
        must = self._trigger(moment)
        wanted = self._wanted(moment) if must is not False else None
        if wanted is UNSEEN:
            must, wanted = None, None
        self._key: KeyPlace | None = wanted
        self._met: list[KeyPlace] | None = self._goal.places(moment)
        meets = self._goal.sure(moment)
        return must, None if self._met is None and meets is not False else meets

    def _wanted(self, moment: EventContext) -> KeyPlace | Unseen | None:
        """The key that a follower must have; None if no event can have it."""
        labels: list[str] = []
        unseen = False
        for key in self._goal.condition.keys:
            value = key.of_query(moment)
            if value is MISSING or (value is None and not key.null_counts):
                return None
            if value is UNSEEN:
                unseen = True
            else:
                labels.append(label(value))
        return UNSEEN if unseen else tuple(labels)

    def _account(
        self, owed: Obligations, taken: _Taken, must: bool, meets: bool, start: int | None
    ) -> bool:
        """Enters an event into one of the accounts. True if nothing can follow it in time."""
        if start is None or (must and self._key is None):
            return must
        if must and self._key is not None:
            taken.undo += owed.add(self._key, start, taken.step)
        if meets:
            places = list(owed.waiting) if self._met is None else self._met
            taken.undo += owed.meet(places, start, taken.step)
        return False

    # ── results ──────────────────────────────────────────────────────────────────────────

    def awaits(self, position: int) -> bool:
        place = self._place(position)
        return place is not None and not self._log[place].settled

    def _place(self, position: int) -> int | None:
        """The place in the log of the event at a position; most often it is the latest."""
        places = range(len(self._log) - 1, -1, -1)
        return next((i for i in places if self._log[i].position == position), None)

    def record(self, position: int, call: Call) -> None:
        place = self._place(position)
        if place is None:
            return
        self._log[place].event = call
        self._take_again(place)

    def drop(self, position: int) -> bool:
        place = self._place(position)
        assert place is not None, "its result was recorded"
        self._take_back(place)
        del self._log[place]
        for each in self._log[place:]:
            self._apply(each)
        return False

    def _take_again(self, place: int) -> None:
        self._take_back(place)
        for each in self._log[place:]:
            self._apply(each)

    def _take_back(self, place: int) -> None:
        for each in reversed(self._log[place:]):
            while each.undo:
                each.undo.pop()()

    # ── the clock ────────────────────────────────────────────────────────────────────────

    def tick(self, now: float) -> None:
        deadline = self._hopeful.deadline()
        if deadline is not None and microseconds(now) > deadline:
            self.violated = True

    def next_deadline(self) -> float | None:
        deadline = self._hopeful.deadline()
        return None if deadline is None else deadline / 1_000_000

    def drop_next_deadline(self) -> None:
        deadline = self._hopeful.deadline()
        assert deadline is not None, "it has passed"
        self.violated = False
        self._log.append(_Taken(deadline))
        self._apply(self._log[-1])

    # ── verdicts and states ──────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        if self.violated:
            return Verdict.VIOLATED
        owing = self._hopeless or self._plain.earliest() is not None
        return Verdict.PRESUMABLY_VIOLATED if owing else Verdict.PRESUMABLY_SATISFIED

    def _drop_settled(self) -> None:
        """Drops the events before the first one that is unsettled."""
        settled = next((i for i, each in enumerate(self._log) if not each.settled), len(self._log))
        del self._log[:settled]

    def mark(self) -> EngineMark:
        self._marked = True
        self._drop_settled()
        return len(self._log)

    def undo(self, mark: EngineMark) -> None:
        self._take_back(mark)
        del self._log[mark:]

    def save(self) -> Json:
        self._take_back(0)
        saved = {
            "hopeful": self._hopeful.save(),
            "plain": self._plain.save(),
            "violated": self.violated,
            "hopeless": self._hopeless,
            "latest": self._latest,
            "log": [_saved(each) for each in self._log],
        }
        for each in self._log:
            self._apply(each)
        return saved

    def restore(self, saved: Json) -> None:
        hopeful, plain, violated, hopeless, latest, log = fields(
            saved, "hopeful", "plain", "violated", "hopeless", "latest", "log"
        )
        size = len(self._goal.condition.keys)
        self._hopeful.restore(hopeful, size)
        self._plain.restore(plain, size)
        self.violated, self._hopeless = flag(violated), flag(hopeless)
        self._latest = None if latest is None else number(latest)
        self._log = []
        for each in listed(log):
            taken = _restored(each)
            self._log.append(taken)
            self._apply(taken)


def _saved(taken: _Taken) -> Json:
    if isinstance(taken.event, int):
        return taken.event
    return [event_record(taken.event), taken.position, taken.step]


def _restored(saved: Json) -> _Taken:
    if isinstance(saved, int):
        return _Taken(whole(saved, least=-LARGEST))
    event, position, step = listed(saved, 3)
    return _Taken(event_of(event), whole(position), whole(step))
