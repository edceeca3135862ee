"""Many formulas followed together: an event touches only those that it may move.

A call touches a formula that names its tool, one that a call of any tool would move at present
(`X`, a window of positions), and one about calls in general. The cost of a call is
that of the few formulas it touches, not of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.reach import is_past_but_for_functions
from bylaw.logic.walk import everything, sees_answer, with_labels
from bylaw.semantics.engine import Engine, EngineMark, heard_role
from bylaw.semantics.evaluation import check_closed
from bylaw.semantics.history import History
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.follower import Follower, PlainFollower
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.past.compiled import past_bodies
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.semantics.past.registers import Registers
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, Message, may_get_result
from bylaw.trace.trace import Events
from bylaw.values import Json, copied
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

_MIN_OUTSTANDING: Final = 64
"""With more outstanding results than this, those that no longer matter are dropped."""


def engine_for(
    formula: f.Formula,
    order: Order,
    events: Events,
    vocabulary: Vocabulary,
    metrics: Mapping[str, Json],
    labels: Mapping[str, Json],
    cache: MachineCache | None = None,
) -> Engine:
    """The cheapest engine that can follow a formula."""
    if cache is not None and not labels and (known := cache.known(formula, order, events)):
        return _following(known)
    check_closed(formula, vocabulary)
    original, formula = formula, with_labels(formula, labels)
    if cache is None or formula is not original:  # labels belong to one run
        cache = MachineCache(vocabulary)
    if any(isinstance(part, f.Compare | f.Says | f.Found) for part in everything(formula)):
        # A machine could follow most rules about data, too, but it would need every event.
        with suppress(Unsupported):
            return Registers(formula, labels)
    try:
        return _following(cache.explorer(formula, order, events))
    except Unsupported as error:
        reason = str(error)
    if not sees_answer(formula):
        try:
            return Slices(formula, order, events, vocabulary)
        except Unsupported as error:
            reason = str(error)
    with suppress(Unsupported):
        return Registers(formula, labels)
    past = past_bodies(formula, is_past_but_for_functions) is not None
    late = None if past else reason
    return History(formula, order, events, vocabulary, metrics, labels, past=past, reason=late)


def _following(explorer: Explorer) -> Engine:
    plain = explorer.machine.alphabet.never_waits
    return PlainFollower(explorer) if plain else Follower(explorer)


@dataclass(slots=True)
class Attempt:
    """An event that was taken in on trial."""

    doomed: list[int]
    """The formulas that it dooms."""
    take_back: Callable[[], None]
    """Undoes the event."""


_Before: TypeAlias = tuple[int, EngineMark, Verdict]
"""A formula, the state of its engine, and its verdict."""


class Monitors:
    """Follows several formulas; `verdicts` has one verdict for each, in the given order.

    `events` is one setting for all formulas, or one for each. `cache` holds machines that other
    runs of the same formulas have built.
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
    ) -> None:
        rules = list(formulas)
        kinds = [events] * len(rules) if isinstance(events, str) else list(events)
        self.length = 0
        """The number of events so far."""
        self._calls = 0
        self._steps = StepCounter()
        self._opened = False
        """Has a message opened the step, so that the next call opens it for rules about calls?"""
        self.outstanding: dict[int, tuple[Call, int, frozenset[int]]] = {}
        """Calls without a result yet, each with its number among calls and the formulas waiting."""
        self._outstanding_limit = _MIN_OUTSTANDING
        self.engines: Final = [
            engine_for(rule, order, kind, vocabulary, metrics or {}, labels or {}, cache)
            for rule, kind in zip(rules, kinds, strict=True)
        ]
        engines = list(enumerate(self.engines))
        self._sees_messages: Final = frozenset(i for i, kind in enumerate(kinds) if kind == "all")
        self._hears_messages: Final = self._sees_messages | {i for i, e in engines if e.overhears}
        self._unmoved: Final = frozenset(i for i, e in engines if not e.waits)
        self._fallible: Final = [(i, e) for i, e in engines if e.may_fail]
        self.verdicts: list[Verdict] = [engine.verdict() for engine in self.engines]
        self._open = {i for i, verdict in enumerate(self.verdicts) if not verdict.final}
        self._always = {i for i in self._open if self.engines[i].hears_everything}
        self._movable = {i for i, e in engines if e.moves_on_any_call} - self._always
        self._restless = self._find_restless()
        """The formulas that any call may move at present; before the first call, most of them."""
        self._concerned = {} if cache is None or labels else cache.concerned
        self._broken: dict[int, str] = {}
        """The formulas that cannot be decided because a user's function failed."""

    def _find_restless(self) -> set[int]:
        return {i for i in self._open & self._movable if not self.engines[i].idles()}

    def _concerned_by(self, name: str) -> frozenset[int]:
        """The formulas that name the tool or role, or that need every event."""
        found = self._concerned.get(name)
        if found is None:
            naming = {i for i, engine in enumerate(self.engines) if engine.concerns(name)}
            found = self._concerned[name] = frozenset(naming | self._always)
        return found

    @property
    def keeps_events(self) -> list[bool]:
        """For each formula: does it keep events and search them later?"""
        return [engine.keeps_events for engine in self.engines]

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def step(self, event: Event) -> list[int]:
        """Takes in the next event; returns the formulas that it dooms."""
        return self._step(event, None)

    def attempt(self, event: Event) -> Attempt:
        """Takes in the next event on trial; `take_back` undoes it.

        The event is judged as if its step ended with it. A formula doomed on that assumption may
        still be met within the step: its entry in `verdicts` is not final.
        """
        here = (self.length, self._calls, self._steps.save(), self._opened)
        before: list[_Before] = []
        doomed = self._step(event, before)

        def take_back() -> None:
            for each in reversed(before):
                self._undo(*each)
            self.outstanding.pop(here[0], None)
            self.length, self._calls, steps, self._opened = here
            self._steps.restore(steps)

        return Attempt(doomed, take_back)

    def _step(self, event: Event, before: list[_Before] | None) -> list[int]:
        """Takes in an event; on trial, adds the states of the formulas it moves to `before`."""
        step, new_step = self._steps.of(event)
        position, self.length = self.length, self.length + 1
        is_call = isinstance(event, Call)
        new_to_calls = new_step or self._opened
        self._opened = new_to_calls and not is_call
        number, self._calls = self._calls, self._calls + is_call
        name = event.tool if isinstance(event, Call) else heard_role(event.role)
        concerned = self._concerned_by(name)
        if self._restless:
            concerned = concerned | self._restless
        if not is_call:
            concerned = concerned & self._hears_messages
        doomed = []
        for index in concerned & self._open:
            engine = self.engines[index]
            if before is not None:
                before.append((index, engine.mark(), self.verdicts[index]))
            try:
                if index in self._sees_messages:
                    engine.take(event, position, step, new_step)
                else:
                    engine.take(event, number, step, new_to_calls)
                verdict = self._settled(index, step_ends=before is not None)
            except Exception as error:  # a user's comparator
                verdict = self._break(index, error)
            if verdict is Verdict.VIOLATED:
                doomed.append(index)
        if may_get_result(event):
            waiting = (concerned & self._open) - self._unmoved
            self.outstanding[position] = (event, number, frozenset(waiting))
            if before is None and len(self.outstanding) > self._outstanding_limit:
                self._drop_unawaited()
        return doomed

    def pass_over(self, message: Message) -> None:
        """Counts the step of a message that no formula sees; the message has no position."""
        self._opened = self._steps.of(message)[1] or self._opened

    def end_step(self) -> None:
        """Ends the current step: the next event is in a new one."""
        self._steps.end()
        for index in sorted(self._open):
            self.engines[index].end_step()
            self._settled(index)

    def _settled(self, index: int, *, step_ends: bool = False) -> Verdict:
        """The new verdict on a formula that has moved; it is retired if the verdict is final."""
        engine = self.engines[index]
        if index in self._movable:
            (self._restless.discard if engine.idles() else self._restless.add)(index)
        verdict = self.verdicts[index] = engine.verdict()
        if verdict is Verdict.VIOLATED or verdict is Verdict.SATISFIED:
            self.retire(index)
        elif step_ends and engine.counts_steps:
            return engine.verdict_if_step_ended()
        return verdict

    def _break(self, index: int, error: Exception) -> Verdict:
        """Stops following a formula that can no longer be decided."""
        self._broken[index] = f"raised {type(error).__name__}: {error}"
        self.verdicts[index] = Verdict.PRESUMABLY_VIOLATED
        self.retire(index)
        return self.verdicts[index]

    def _undo(self, index: int, mark: EngineMark, verdict: Verdict) -> None:
        """Returns a formula to its state before an attempt."""
        engine = self.engines[index]
        engine.undo(mark)
        self.verdicts[index] = verdict
        self._broken.pop(index, None)
        self._open.add(index)
        if index in self._movable and not engine.idles():
            self._restless.add(index)

    def faults(self) -> dict[int, str]:
        """The formulas that could not be decided at the latest event, with the reasons."""
        found = {i: engine.fault for i, engine in self._fallible if i in self._open}
        return self._broken | {i: fault for i, fault in found.items() if fault is not None}

    def retire(self, index: int) -> None:
        """Stops following a formula; its verdict stays as it is."""
        self._open.discard(index)
        self._restless.discard(index)

    # ── results ──────────────────────────────────────────────────────────────────────────

    def record(self, position: int, result: Json, *, error: str | None = None) -> list[int]:
        """Takes in the result of the event at a position; returns the formulas that it dooms.

        Results arrive after the turn of their call, so they are judged as if the step had ended.
        """
        if position not in self.outstanding:
            return []
        proposed, number, concerned = self.outstanding.pop(position)
        call = replace(proposed, result=result, error=error)
        doomed = []
        for index in concerned & self._open:
            place = position if index in self._sees_messages else number
            if not self.engines[index].awaits(place):
                continue  # the result does not matter to it
            try:
                self.engines[index].record(place, call)
                verdict = self._settled(index, step_ends=True)
            except Exception as failure:  # a user's comparator
                verdict = self._break(index, failure)
            if verdict is Verdict.VIOLATED:
                doomed.append(index)
        return doomed

    def _drop_unawaited(self) -> None:
        """Drops the outstanding results that no formula waits for any more."""
        self.outstanding = {
            position: (call, number, concerned)
            for position, (call, number, concerned) in self.outstanding.items()
            if any(
                self.engines[i].awaits(position if i in self._sees_messages else number)
                for i in concerned & self._open
            )
        }
        self._outstanding_limit = max(_MIN_OUTSTANDING, 2 * len(self.outstanding))

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """The states of all formulas as JSON, for `restore`."""
        state = {
            "length": self.length,
            "calls": self._calls,
            "steps": self._steps.save(),
            "opened": self._opened,
            "waiting": [
                [position, event_record(call), number, sorted(concerned)]
                for position, (call, number, concerned) in self.outstanding.items()
            ],
            "engines": [engine.save() for engine in self.engines],
            "verdicts": [verdict.value for verdict in self.verdicts],
            "open": sorted(self._open),
            "broken": [[index, reason] for index, reason in self._broken.items()],
        }
        return dict(copied(state))  # engines change theirs in place

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Goes back to states saved for the same formulas."""
        saved = copied(saved)  # the caller may restore it again
        self.length, self._calls = saved["length"], saved["calls"]
        self._steps.restore(saved["steps"])
        self._opened = saved["opened"]
        self.outstanding = {}
        for position, record, number, concerned in saved["waiting"]:
            call = event_of(record)
            assert isinstance(call, Call), "only calls wait for results"
            self.outstanding[position] = (call, number, frozenset(concerned))
        for engine, state in zip(self.engines, saved["engines"], strict=True):
            engine.restore(state)
        self.verdicts[:] = [Verdict(value) for value in saved["verdicts"]]
        self._open = set(saved["open"])
        self._broken = dict(saved["broken"])
        self._restless = self._find_restless()


class StepCounter:
    """Assigns steps to events as they arrive; a finished trace has the same steps.

    An event without a step gets the next one; calls share the step of the assistant's text.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._said = False
        """Was the previous event an assistant's message?"""
        self._over = False
        """Is the current step over, whatever step the next event carries?"""

    def of(self, event: Event) -> tuple[int, bool]:
        """The step of the next event, and whether that is a new step."""
        step = event.step
        if step is None:
            before = -1 if self._last is None else self._last
            shares = self._said and isinstance(event, Call) and not self._over
            step = before if shares else before + 1
        new = step != self._last or self._over
        self._last, self._over = step, False
        self._said = isinstance(event, Message) and event.role == "assistant"
        return step, new

    def end(self) -> None:
        """Ends the current step."""
        self._over = True

    def save(self) -> Json:
        """The count as JSON."""
        return [self._last, self._said, self._over]

    def restore(self, saved: Json) -> None:
        """Goes back to a saved count."""
        self._last, self._said, self._over = saved
