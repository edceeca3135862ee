"""Giving events to formulas: each event reaches only those that it may move.

A call touches a formula that names its tool, one that a call of any tool would move at present
(`X`, a window of positions), and one about calls in general. The cost of a call is
that of the few formulas it touches, not of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.semantics.engine import NAMELESS, Engine, EngineAnswer, EngineMark, heard_role
from bylaw.semantics.engines import engine_for
from bylaw.semantics.executed import ExecutedVerdicts, reason_of
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, Message, may_get_result
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order
from bylaw.work import UNLIMITED, OverBudget, allot, meter

_MIN_OUTSTANDING: Final = 64
"""With more outstanding results than this, those that no longer matter are dropped."""
_Before: TypeAlias = tuple[int, EngineMark, Verdict, bool, bool]
"""A formula before an event on trial: its number, the state of its engine, and its verdict. Did the
event open a step for the formula, and did it so because the event that opened the step was
excused?"""
_NOTHING: Final[Mapping[int, list[Call]]] = MappingProxyType({})
_Steps: TypeAlias = tuple[int | None, bool, bool]
"""The step of the latest event. Was that an assistant's message? Is the step over, whatever step
the next event carries?"""


class Attempt:
    """An event that was taken in on trial."""

    __slots__ = (
        "_calls",
        "_executed",
        "_formulas",
        "_opened",
        "_position",
        "_steps",
        "before",
        "doomed",
        "early",
    )

    def __init__(self, formulas: Dispatcher) -> None:
        self._formulas = formulas
        self._position, self._calls = formulas.length, formulas.calls
        self._opened, self._steps = formulas._opened, formulas._steps
        self._executed = formulas.executed.mark() if formulas.executed.engines else None
        self.before: list[_Before] = []
        """The formulas that the event moves."""
        self.doomed: list[int] = []
        """The formulas that the event dooms."""
        self.early: Mapping[int, list[Call]] = _NOTHING
        """The formulas that other outcomes of outstanding calls would doom through the event, with
        these calls."""

    @property
    def moved(self) -> list[int]:
        """The formulas that the event may have moved."""
        return [before[0] for before in self.before]

    def take_back(self) -> None:
        """Undoes the event."""
        formulas = self._formulas
        for before in self.before:
            formulas._undo(before)
        if self._executed is not None:
            formulas.executed.undo(self._executed)
        formulas.outstanding.pop(self._position, None)
        formulas.length, formulas.calls = self._position, self._calls
        formulas._opened = self._opened
        formulas._steps = self._steps

    def keep(self, excused: Iterable[int] = ()) -> None:
        """Keeps the event. These formulas are then followed as if it had not been."""
        chosen = set(excused)
        for before in self.before if chosen else ():
            if before[0] in chosen:
                self._formulas._excuse(before)


class Dispatcher:
    """Several formulas, each with its engine, and the events that they have seen.

    For the arguments, see `Monitors`.
    """

    def __init__(
        self,
        formulas: Iterable[f.Formula],
        *,
        order: Order = "position",
        events: Events | Sequence[Events] = "calls",
        vocabulary: Vocabulary = EMPTY,
        metrics: Mapping[str, Json] | None = None,
        labels: Mapping[str, Json] | None = None,
        cache: MachineCache | None = None,
        excuses: bool = False,
        max_work: float = UNLIMITED,
    ) -> None:
        rules = list(formulas)
        self._excuses: Final = excuses
        self._max_work: Final = max_work
        kinds = [events] * len(rules) if isinstance(events, str) else list(events)
        self.length = 0
        """The number of events so far."""
        self.calls = 0
        """The number of calls among them."""
        self._steps: _Steps = None, False, False
        self._opened = False
        """Has a message opened the step, so that the next call opens it for rules about calls?"""
        self.outstanding: dict[int, tuple[Call, int, frozenset[int]]] = {}
        """Calls without a result yet, each with its number among calls and the formulas waiting."""
        self._outstanding_limit = _MIN_OUTSTANDING

        def new_engine(index: int) -> Engine:
            settings = order, kinds[index], vocabulary, metrics or {}, labels or {}, cache
            return engine_for(rules[index], *settings)

        self.engines: Final = [new_engine(index) for index in range(len(rules))]
        self.executed: Final = ExecutedVerdicts(new_engine, max_work)
        self._reopened: set[int] = set()
        """The formulas of which the event that opened the current step was excused."""
        engines = list(enumerate(self.engines))
        self.sees_messages: Final = frozenset(i for i, kind in enumerate(kinds) if kind == "all")
        """The formulas to which messages are events."""
        self._hears_messages: Final = self.sees_messages | {i for i, e in engines if e.overhears}
        self.fallible: Final = [(i, e) for i, e in engines if e.may_fail]
        """The formulas that call functions of users, with their engines."""
        self.with_deadlines: Final = frozenset(i for i, e in engines if e.has_deadlines)
        """The formulas that can be doomed by the passing of time alone."""
        self.verdicts: list[Verdict] = [engine.verdict() for engine in self.engines]
        self.unmet: set[int] = self._find_unmet()
        """The formulas that would be violated if the trace ended now, but are not doomed."""
        self._open = {i for i, verdict in enumerate(self.verdicts) if not verdict.final}
        self._always = {i for i in self._open if self.engines[i].hears_everything}
        self._movable = {i for i, e in engines if e.moves_on_any_call} - self._always
        self.restless = self._find_restless()
        """The formulas that any call may move at present; before the first call, most of them."""
        self._concerned = {} if cache is None or labels else cache.concerned
        self.broken: dict[int, str] = {}
        """The formulas that cannot be decided because a user's function failed."""
        self.exhausted: set[int] = set()
        """The formulas for which the latest event took more than `max_work`."""

    def _find_restless(self) -> set[int]:
        return {i for i in self._open & self._movable if not self.engines[i].idles()}

    def _find_unmet(self) -> set[int]:
        return {i for i, v in enumerate(self.verdicts) if v is Verdict.PRESUMABLY_VIOLATED}

    def _note_unmet(self, index: int, verdict: Verdict) -> None:
        if verdict is Verdict.PRESUMABLY_VIOLATED:
            self.unmet.add(index)
        elif self.unmet:
            self.unmet.discard(index)

    def concerned_by(self, name: str) -> frozenset[int]:
        """The formulas that name the tool or role, or that need every event."""
        found = self._concerned.get(name)
        if found is None:
            naming = {i for i, engine in enumerate(self.engines) if engine.concerns(name)}
            found = self._concerned[name] = frozenset(naming | self._always)
        return found

    @property
    def wide(self) -> frozenset[int]:
        """The formulas that calls of any tool concern, also of one that they do not name."""
        return self.concerned_by(NAMELESS)

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def step(self, event: Event) -> list[int]:
        """Takes in the next event; returns the formulas that it dooms."""
        if not self._excuses:
            return self._step(event, None)
        attempt = self.attempt(event)
        lost = sorted({*attempt.doomed, *self.faults()})
        attempt.keep(lost)
        return lost

    def attempt(self, event: Event) -> Attempt:
        """Takes in the next event on trial; `take_back` undoes it.

        The event is judged as if its step ended with it. A formula doomed on that assumption may
        still be met within the step: its entry in `verdicts` is not final.
        """
        attempt = Attempt(self)
        attempt.doomed = self._step(event, attempt.before)
        if len(self.outstanding) > (attempt._position in self.outstanding):
            attempt.early = self._found_early(attempt)
        return attempt

    def _found_early(self, attempt: Attempt) -> dict[int, list[Call]]:
        """The formulas for which the latest event should have waited, with those calls."""
        early: dict[int, list[Call]] = {}
        for index, *_ in attempt.before:
            engine = self.engines[index]
            if index in self._open and engine.waits and index not in attempt.doomed:
                allot(self._max_work)
                try:
                    waiting = engine.outstanding_evidence()
                except OverBudget as error:
                    self._break(index, error)
                    continue
                finally:
                    allot(UNLIMITED)
                if waiting:
                    early[index] = self._outstanding_calls(index, waiting)
        return early

    def _outstanding_calls(self, index: int, places: Sequence[int]) -> list[Call]:
        numbers = {
            position if index in self.sees_messages else number: call
            for position, (call, number, _) in self.outstanding.items()
        }
        return [numbers[place] for place in places if place in numbers]

    def _step(self, event: Event, before: list[_Before] | None) -> list[int]:
        """Takes in an event; on trial, adds the states of the formulas it moves to `before`."""
        step, new_step = self._step_of(event)
        position, self.length = self.length, self.length + 1
        new_to_calls = new_step or self._opened
        number = self.calls
        if isinstance(event, Call):
            self.calls, self._opened = number + 1, False
            concerned = self._concerned.get(event.tool) or self.concerned_by(event.tool)
            if self.restless:
                concerned = concerned | self.restless
        else:
            self._opened = new_to_calls
            concerned = self.concerned_by(heard_role(event.role)) | self.restless
            concerned = concerned & self._hears_messages
        if self.exhausted:
            self.exhausted = set()
        doomed: list[int] = []
        waiting: list[int] = []
        engines, verdicts, open_formulas = self.engines, self.verdicts, self._open
        for index in concerned & open_formulas:
            engine, reopened = engines[index], index in self._reopened
            place, opens = number, new_to_calls
            if index in self.sees_messages:
                place, opens = position, new_step
            if reopened:
                self._reopened.discard(index)
                opens = True
            if engine.metered:
                meter.limit = meter.left = self._max_work
            try:
                if before is not None:
                    before.append((index, engine.mark(), verdicts[index], opens, reopened))
                answer = engine.follow(event, place, step, opens)
            except Exception as error:  # a user's comparator, or too much work
                self._break(index, error)
                continue
            finally:
                if engine.metered:
                    meter.limit = meter.left = UNLIMITED
            verdict, ended, idles = answer
            if verdict is not verdicts[index] or not idles or index in self.restless:
                self._note(index, answer)
            if (verdict if before is None else ended) is Verdict.VIOLATED:
                doomed.append(index)
            if engine.waits and index in open_formulas:
                waiting.append(index)
        if self.executed.engines:
            seen = (position, step, new_step), (number, step, new_to_calls)
            for index in list(self.executed.engines):
                if isinstance(event, Call) or index in self._hears_messages:
                    self.executed.take(index, event, *seen[index not in self.sees_messages])
            waiting += self.executed.waiting()
        if position == 0:
            self.restless = set(self.restless)  # it has lost most of its members: a smaller table
        if waiting and may_get_result(event):
            self.outstanding[position] = (event, number, frozenset(waiting))
            if before is None and len(self.outstanding) > self._outstanding_limit:
                self.drop_unawaited()
        return doomed

    def _step_of(self, event: Event) -> tuple[int, bool]:
        """The step of the next event, and whether that is a new step; as in a finished trace.

        An event without a step gets the next one; calls share the step of the assistant's text.
        """
        last, said, over = self._steps
        step = event.step
        if step is None:
            shares = said and isinstance(event, Call) and not over
            step = (-1 if last is None else last) + (not shares)
        self._steps = step, isinstance(event, Message) and event.role == "assistant", False
        return step, over or step != last

    def pass_over(self, message: Message) -> None:
        """Counts the step of a message that no formula sees; the message has no position."""
        self._opened = self._step_of(message)[1] or self._opened

    def end_step(self) -> None:
        """Ends the current step: the next event is in a new one."""
        last, said, _ = self._steps
        self._steps = last, said, True
        for index in sorted(self._open):
            self.engines[index].end_step()
            self._note(index, self.engines[index].answer())

    def _note(self, index: int, answer: EngineAnswer) -> None:
        """Notes the state of a formula that has moved; it is retired if its verdict is final."""
        verdict, _, idles = answer
        if not idles:
            if index in self._movable:
                self.restless.add(index)
        elif index in self.restless:
            self.restless.remove(index)
        if verdict is not self.verdicts[index]:
            self.verdicts[index] = verdict
            self._note_unmet(index, verdict)
        if verdict is Verdict.VIOLATED or verdict is Verdict.SATISFIED:
            self.retire(index)

    def _break(self, index: int, error: Exception) -> Verdict:
        """Stops following a formula that can no longer be decided."""
        self.broken[index] = reason_of(error)
        if isinstance(error, OverBudget):
            self.exhausted.add(index)
        self.verdicts[index] = Verdict.PRESUMABLY_VIOLATED
        self.unmet.discard(index)
        self.retire(index)
        return self.verdicts[index]

    def _undo(self, before: _Before) -> None:
        """Returns a formula to its state before an attempt."""
        index, mark, verdict, _, reopened = before
        self.engines[index].undo(mark)
        self.verdicts[index] = verdict
        self._note_unmet(index, verdict)
        self.broken.pop(index, None)
        self._open.add(index)
        if reopened:
            self._reopened.add(index)
        if index in self._movable and not self.engines[index].idles():
            self.restless.add(index)

    # ── excused events ───────────────────────────────────────────────────────────────────

    def _excuse(self, before: _Before) -> None:
        """Follows a formula as if the latest event had not been."""
        index, *_, opens_step, _ = before
        self._follow_executed(index)
        self._undo(before)
        if opens_step:
            self._reopened.add(index)

    def _follow_executed(self, index: int) -> None:
        """Has the verdict on the executed events followed apart from the one that is enforced."""
        engine, verdict = self.engines[index], self.verdicts[index]
        self.executed.follow(index, engine, verdict, self.broken.get(index))

    def faults(self) -> dict[int, str]:
        """The formulas that could not be decided at the latest event, with the reasons."""
        if not self.fallible:
            return self.broken
        found = {i: engine.fault for i, engine in self.fallible if i in self._open}
        return self.broken | {i: fault for i, fault in found.items() if fault is not None}

    def retire(self, index: int) -> None:
        """Stops following a formula; its verdict stays as it is."""
        self._open.discard(index)
        self.restless.discard(index)

    def others_wait(self, own: int | None) -> bool:
        """Do formulas wait for results of calls other than the one at the position `own`?"""
        if not self.outstanding or (len(self.outstanding) == 1 and own in self.outstanding):
            return False
        return any(waiting for p, (_, _, waiting) in self.outstanding.items() if p != own)

    def drop_unawaited(self) -> None:
        """Drops the outstanding results that no formula waits for any more."""
        self.outstanding = {
            position: (call, number, concerned)
            for position, (call, number, concerned) in self.outstanding.items()
            if any(
                engine.awaits(position if i in self.sees_messages else number)
                for i in concerned
                for engine in self._following(i)
            )
        }
        self._outstanding_limit = max(_MIN_OUTSTANDING, 2 * len(self.outstanding))

    def _following(self, index: int) -> Iterator[Engine]:
        """The engines that still follow a formula."""
        if index in self._open:
            yield self.engines[index]
        if index in self.executed.engines:
            yield self.executed.engines[index]
