"""Many formulas followed at once: an event touches only those that can tell it from others.

A formula is touched by a call if it names the tool, if it could not pass over the call of a
tool that it does not name (`X`, a window of positions), or if it asks about calls in general.
The cost of a call is that of the few rules it concerns, not of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.history import History
from bylaw.semantics.machine.follower import Follower, Token, may_get_result
from bylaw.semantics.machine.machine_cache import MachineCache
from bylaw.semantics.machine.search import Leap
from bylaw.semantics.machine.slices import Slices
from bylaw.semantics.monitor import Engine, engine_for
from bylaw.semantics.past.compiled import heard_role
from bylaw.semantics.past.memories import event_of, event_record
from bylaw.semantics.past.registers import Registers
from bylaw.semantics.steps import StepCounter
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event
from bylaw.trace.trace import Events
from bylaw.values import Json, copied
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order


@frozen
class Attempt:
    """An event that was taken in on trial."""

    doomed: list[int]
    """The formulas that it dooms."""
    take_back: Callable[[], None]
    """Makes it as if the event had not been."""


_Before: TypeAlias = tuple[int, Token, Verdict]
"""A formula, where it stood, and its verdict."""


class Monitors:
    """Follows several formulas; `verdicts` are theirs, in the order given.

    `events` may be one for all, or one for each formula. `warm` holds machines that other runs of
    the same formulas have used.
    """

    def __init__(
        self,
        formulas: Iterable[f.Formula],
        *,
        order: Order = "position",
        events: Events | Sequence[Events] = "calls",
        vocabulary: Vocabulary = EMPTY,
        labels: Mapping[str, Json] | None = None,
        warm: MachineCache | None = None,
    ) -> None:
        rules = list(formulas)
        self._kinds: Final = [events] * len(rules) if isinstance(events, str) else list(events)
        self.length = 0
        """How many events have been taken in."""
        self._calls = 0
        self._steps = StepCounter()
        self._opened = False
        """Has a message opened the step, so that rules that see only calls have not heard of it?"""
        self._waiting: dict[int, tuple[Call, int, frozenset[int]]] = {}
        """Calls without a result yet: the call, its number among calls, who took it in."""
        self._engines: list[Engine] = [
            engine_for(rule, order, kind, vocabulary, {}, labels or {}, warm)[0]
            for rule, kind in zip(rules, self._kinds, strict=True)
        ]
        self._plain = [
            engine if isinstance(engine, Follower) and engine.machine.alphabet.never_waits else None
            for engine in self._engines
        ]
        """The machines that no result can move; they are the most, and the quickest."""
        self._unmoved = frozenset(i for i, each in enumerate(self._plain) if each is not None)
        self._overhearing = {
            i
            for i, each in enumerate(self._engines)
            if isinstance(each, History) and each.asks_functions
        }
        """The rules that ask functions of users, which see every message."""
        self._histories = [(i, e) for i, e in enumerate(self._engines) if isinstance(e, History)]
        self.verdicts: list[Verdict] = [engine.verdict() for engine in self._engines]
        self._open = {i for i, verdict in enumerate(self.verdicts) if not verdict.final}
        self._always = {i for i in self._open if self._hears_everything(i)}
        self._restless = {i for i in self._open - self._always if self._is_machine(i)}
        """Those that any call might move, at present; before the first call that is all."""
        self._concerned = {} if warm is None or labels else warm.concerned
        self._broken: dict[int, str] = {}
        """The formulas whose engine failed, because a function of the user's did, and how."""

    def _is_machine(self, index: int) -> bool:
        return isinstance(self._engines[index], Follower)

    def _hears_everything(self, index: int) -> bool:
        engine = self._engines[index]
        if isinstance(engine, Follower):
            return engine.machine.alphabet.elsewhere is None
        return not isinstance(engine, Registers)

    def _concerned_by(self, name: str) -> frozenset[int]:
        """Those that name the tool or role, or must hear of every event."""
        found = self._concerned.get(name)
        if found is None:
            naming = {i for i, engine in enumerate(self._engines) if engine.concerns(name)}
            found = self._concerned[name] = frozenset(naming | self._always)
        return found

    @property
    def keeps_events(self) -> list[bool]:
        """For each formula: does it keep events that later questions look through?"""
        return [
            isinstance(e, History) or (isinstance(e, Registers) and e.keeps_events)
            for e in self._engines
        ]

    def step(self, event: Event) -> list[int]:
        """Takes in the next event; which formulas does it doom?"""
        return self._step(event, None)

    def attempt(self, event: Event) -> Attempt:
        """Takes in the next event on trial: `take_back` makes it as if it had not been.

        The event is judged as if its step ended with it. What that dooms may still be met within
        the step: `verdicts` say how it stands.
        """
        here = (self.length, self._calls, self._steps.save(), self._opened)
        before: list[_Before] = []
        doomed = self._step(event, before)

        def take_back() -> None:
            for each in reversed(before):
                self._restore(*each)
            self._back_to(*here)

        return Attempt(doomed, take_back)

    def _step(self, event: Event, before: list[_Before] | None) -> list[int]:
        """Takes in an event; on trial, notes in `before` where the formulas stood."""
        step, new_step = self._steps.of(event)
        position, self.length = self.length, self.length + 1
        is_call = isinstance(event, Call)
        new_to_calls = new_step or self._opened
        self._opened = new_to_calls and not is_call
        number, self._calls = self._calls, self._calls + is_call
        name = event.tool if isinstance(event, Call) else heard_role(event.role)
        final = name == FINAL_ANSWER
        concerned = self._concerned_by(name)
        if self._restless:
            concerned = concerned | self._restless
        doomed = []
        for index in concerned & self._open:
            everything = self._kinds[index] == "all"
            if not is_call and not everything and index not in self._overhearing:
                continue
            engine = self._engines[index]
            opens = new_step if everything else new_to_calls
            try:
                plain = self._plain[index]
                if plain is not None:
                    if before is not None:
                        before.append((index, plain.mark(), self.verdicts[index]))
                    alphabet = plain.machine.alphabet
                    letter = alphabet.fixed.get(name) if is_call else None
                    if letter is None:
                        letter = alphabet.letter(event)
                    leap = plain.leap((letter, opens, final))
                    verdict = self._landed(index, leap, before is not None)
                else:
                    if isinstance(engine, Follower):
                        engine.tidy()
                    if before is not None:
                        before.append((index, engine.mark(), self.verdicts[index]))
                    place = position if everything else number
                    verdict = self._moved(index, event, place, step, opens, before is not None)
            except Exception as error:  # a user's comparator
                verdict = self._break(index, error)
            if verdict is Verdict.VIOLATED:
                doomed.append(index)
        if may_get_result(event):
            self._waiting[position] = (event, number, (concerned & self._open) - self._unmoved)
        return doomed

    def _moved(
        self, index: int, event: Event, place: int, step: int, opens: bool, step_ends: bool
    ) -> Verdict:
        """One formula takes in an event; its verdict."""
        engine = self._engines[index]
        if isinstance(engine, Follower | Slices):
            engine.step(event, place, opens)
        else:
            engine.take(event, place, step)
        return self._settled(index, step_ends=step_ends)

    def _landed(self, index: int, leap: Leap, step_ends: bool) -> Verdict:
        """As `_settled`, for a machine that moved in one go."""
        if index not in self._always:
            (self._restless.discard if leap.idles else self._restless.add)(index)
        self.verdicts[index] = leap.verdict
        if leap.final:
            self._open.discard(index)
            self._restless.discard(index)
            return leap.verdict
        return leap.verdict_if_step_ended if step_ends else leap.verdict

    def _break(self, index: int, error: Exception) -> Verdict:
        """Stops following a formula that cannot be decided any more."""
        self._broken[index] = f"raised {type(error).__name__}: {error}"
        self.verdicts[index] = Verdict.PRESUMABLY_VIOLATED
        self.retire(index)
        return self.verdicts[index]

    def _back_to(self, length: int, calls: int, steps: Json, opened: bool) -> None:
        self._waiting.pop(length, None)
        self.length, self._calls, self._opened = length, calls, opened
        self._steps.restore(steps)

    def _restore(self, index: int, token: object, verdict: Verdict) -> None:
        """Puts a formula back to where it stood before an attempt."""
        engine = self._engines[index]
        engine.undo(token)
        self.verdicts[index] = verdict
        self._broken.pop(index, None)
        self._open.add(index)
        if isinstance(engine, Follower) and index not in self._always and not engine.idles():
            self._restless.add(index)

    def faults(self) -> dict[int, str]:
        """The formulas that could not be decided at the latest event, and why."""
        found = {i: engine.fault for i, engine in self._histories if i in self._open}
        return self._broken | {i: fault for i, fault in found.items() if fault is not None}

    def retire(self, index: int) -> None:
        """Stops following a formula; its verdict stays what it is."""
        self._open.discard(index)
        self._restless.discard(index)

    def record(self, position: int, result: Json, *, error: str | None = None) -> list[int]:
        """Takes in the result of the event at a position; which formulas does it doom?

        Results come when the turn of their call is over, so that is how they are judged.
        """
        if position not in self._waiting:
            return []
        proposed, number, concerned = self._waiting.pop(position)
        call = replace(proposed, result=result, error=error)
        doomed = []
        for index in concerned & self._open:
            engine = self._engines[index]
            place = position if self._kinds[index] == "all" else number
            if not engine.awaits(place):
                continue  # the result makes no difference to it
            try:
                engine.record(place, call)
                verdict = self._settled(index, step_ends=True)
            except Exception as failure:  # a user's comparator
                verdict = self._break(index, failure)
            if verdict is Verdict.VIOLATED:
                doomed.append(index)
        return doomed

    def _settled(self, index: int, *, step_ends: bool = False) -> Verdict:
        """The verdict on a formula that was moved; if it is final, nothing moves it again."""
        engine = self._engines[index]
        if isinstance(engine, Follower) and index not in self._always:
            if engine.idles():
                self._restless.discard(index)
            else:
                self._restless.add(index)
        verdict = self.verdicts[index] = engine.verdict()
        if verdict.final:
            self._open.discard(index)
            self._restless.discard(index)
        elif step_ends:
            return self._if_step_ended(engine, verdict)
        return verdict

    def _if_step_ended(self, engine: Engine, verdict: Verdict) -> Verdict:
        """The verdict if nothing more happened in this step; the step itself goes on."""
        if isinstance(engine, Follower):
            return engine.verdict_if_step_ended() if engine.machine.counts_steps else verdict
        if not isinstance(engine, Slices) or engine.queue or not engine.machine.counts_steps:
            return verdict
        token = engine.mark()
        engine.end_step()
        verdict = engine.verdict()
        engine.undo(token)
        return verdict

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> dict[str, Json]:
        """Where all formulas stand, as JSON; `restore` goes on from there."""
        standing = {
            "length": self.length,
            "calls": self._calls,
            "steps": self._steps.save(),
            "opened": self._opened,
            "waiting": [
                [position, event_record(call), number, sorted(concerned)]
                for position, (call, number, concerned) in self._waiting.items()
            ],
            "engines": [engine.save() for engine in self._engines],
            "verdicts": [verdict.value for verdict in self.verdicts],
            "open": sorted(self._open),
            "broken": [[index, reason] for index, reason in self._broken.items()],
        }
        return dict(copied(standing))  # the formulas go on

    def restore(self, saved: Mapping[str, Json]) -> None:
        """Puts these formulas where the same ones stood when they were saved."""
        saved = copied(saved)  # it may be gone back to again
        self.length, self._calls = saved["length"], saved["calls"]
        self._steps.restore(saved["steps"])
        self._opened = saved["opened"]
        self._waiting = {}
        for position, record, number, concerned in saved["waiting"]:
            call = event_of(record)
            assert isinstance(call, Call), "only calls wait for results"
            self._waiting[position] = (call, number, frozenset(concerned))
        for engine, state in zip(self._engines, saved["engines"], strict=True):
            engine.restore(state)
        self.verdicts[:] = [Verdict(value) for value in saved["verdicts"]]
        self._open = set(saved["open"])
        self._broken = dict(saved["broken"])
        # Whoever might be moved by any call is asked again; the first call settles it.
        self._restless = {i for i in self._open - self._always if self._is_machine(i)}
