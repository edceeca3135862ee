"""A formula's machine with its current state.

A call whose result is not recorded yet may have several letters. The follower then is in several
states at once. It keeps the events since the first such call, and takes them in again when a
result arrives. A result that never arrives counts as missing at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.frozen import record
from bylaw.names import FINAL_ANSWER
from bylaw.saved import fields, flag, listed, whole
from bylaw.semantics.engine import Engine, EngineAnswer, EngineMark
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.machine import StateNumber
from bylaw.semantics.machine.search import Explorer
from bylaw.semantics.past.records import event_of, event_record
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, may_get_result
from bylaw.values import Json, canonical

MAX_POSSIBLE: Final = 1_000
"""The limit on states that are followed at once, while results are unknown."""

Possible: TypeAlias = frozenset[StateNumber] | None
"""The states under all outcomes of outstanding calls; None if they cannot be listed."""


@record
class UnsettledMove:
    """An event since the first one whose result matters and is unknown."""

    event: Event
    position: int
    new_step: bool
    letters: Sequence[Letter] | None
    """The letters that it may have; None if they cannot be listed."""
    assumed: Letter
    """Its letter if no more results arrive."""
    before: Possible
    """The possible states before it."""
    before_now: StateNumber
    """The state before it if no more results arrive."""

    @property
    def waits(self) -> bool:
        """Does its result matter, and may it still arrive?"""
        return self.letters is None or len(self.letters) > 1


class Follower(Engine):
    """A machine's state, or several while results are unknown."""

    moves_on_any_call = True

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.machine = explorer.machine
        self.hears_everything = self.machine.alphabet.elsewhere is None
        self.counts_steps = self.machine.counts_steps
        self.now: StateNumber = self.machine.start
        """The state if no more results arrive."""
        self.possible: Possible = frozenset({self.now})
        """The states under all outcomes of outstanding calls."""
        self.unsettled: list[UnsettledMove] = []
        """The events since the first one whose result matters and is unknown."""

    @property
    def reason(self) -> str | None:
        if self.possible is None:
            return "too many results are unknown at once"
        return _inexact(self.explorer)

    # ── taking in events ─────────────────────────────────────────────────────────────────

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        self._tidy()
        letters, assumed = self._letters(event), self.machine.alphabet.letter(event)
        if self.unsettled or letters is None or len(letters) > 1:
            states = self.possible, self.now
            self.unsettled.append(
                UnsettledMove(event, position, new_step, letters, assumed, *states)
            )
        self._advance(event, new_step, letters, assumed)

    def _letters(self, event: Event) -> Sequence[Letter] | None:
        alphabet = self.machine.alphabet
        if may_get_result(event) and alphabet.depends_on_result(event.tool):
            letters = tuple(alphabet.letters_of(event))
            return letters if alphabet.complete else None
        return (alphabet.letter(event),)

    def _advance(
        self, event: Event, new_step: bool, letters: Sequence[Letter] | None, assumed: Letter
    ) -> None:
        advance = self.machine.advance
        final = isinstance(event, Call) and event.tool == FINAL_ANSWER
        self.now = advance(self.now, (assumed, new_step, final))
        if letters is None or self.possible is None:
            self.possible = None
            return
        self.possible = frozenset(
            advance(state, (letter, new_step, final))
            for state in self.possible
            for letter in letters
        )
        if len(self.possible) > MAX_POSSIBLE:
            self.possible = None

    def _tidy(self) -> None:
        """Drops events that are settled, and renews the machine's tables if they are full."""
        if self.unsettled and not self.unsettled[0].waits:
            waiting = (i for i, each in enumerate(self.unsettled) if each.waits)
            del self.unsettled[: next(waiting, len(self.unsettled))]
        if self.machine.crowded():
            self._renew()

    def _renew(self) -> None:
        """Continues with empty tables. A mark keeps the old ones."""
        configurations = self.machine.configurations
        self.explorer = self.explorer.renewed()
        self.machine = self.explorer.machine

        def number(state: StateNumber) -> StateNumber:
            return self.machine.number(configurations[state])

        def numbers(states: Possible) -> Possible:
            return None if states is None else frozenset(map(number, states))

        self.now, self.possible = number(self.now), numbers(self.possible)
        self.unsettled = [
            UnsettledMove(
                each.event,
                each.position,
                each.new_step,
                each.letters,
                each.assumed,
                numbers(each.before),
                number(each.before_now),
            )
            for each in self.unsettled
        ]

    def end_step(self) -> None:
        end = self.machine.end_step
        self.now = end(self.now)
        if self.possible is not None:
            self.possible = frozenset(map(end, self.possible))

    def mark(self) -> EngineMark:
        self._tidy()
        return self.explorer, self.unsettled, len(self.unsettled), self.possible, self.now

    def undo(self, mark: EngineMark) -> None:
        self.explorer, self.unsettled, length, self.possible, self.now = mark
        self.machine = self.explorer.machine
        del self.unsettled[length:]

    # ── results ──────────────────────────────────────────────────────────────────────────

    def awaits(self, position: int) -> bool:
        return any(each.position == position and each.waits for each in self.unsettled)

    def _place(self, position: int) -> int | None:
        places = (i for i, each in enumerate(self.unsettled) if each.position == position)
        return next(places, None)

    def record(self, position: int, call: Call) -> None:
        place = self._place(position)
        if place is None:
            return
        recorded = self.unsettled[place]
        letter = self.machine.alphabet.letter(call)
        recorded.event, recorded.letters, recorded.assumed = call, (letter,), letter
        self.possible, self.now = recorded.before, recorded.before_now
        for each in self.unsettled[place:]:
            self._take_again(each)

    def _take_again(self, each: UnsettledMove) -> None:
        each.before, each.before_now = self.possible, self.now
        self._advance(each.event, each.new_step, each.letters, each.assumed)

    def state_under(self, outcomes: Mapping[int, Call]) -> StateNumber:
        """The state if outstanding calls, by position, have these outcomes, and others none."""
        if not self.unsettled:
            return self.now
        state, alphabet = self.unsettled[0].before_now, self.machine.alphabet
        for each in self.unsettled:
            event = outcomes.get(each.position, each.event) if each.waits else each.event
            final = isinstance(event, Call) and event.tool == FINAL_ANSWER
            state = self.machine.advance(state, (alphabet.letter(event), each.new_step, final))
        return state

    def drop(self, position: int) -> bool:
        place = self._place(position)
        assert place is not None, "its result was just recorded"
        dropped, *later = self.unsettled[place:]
        del self.unsettled[place:]
        self.possible, self.now = dropped.before, dropped.before_now
        opens = dropped.new_step
        for each in later:
            each.new_step, opens = each.new_step or opens, False
            self._take_again(each)
            if self.verdict_if_step_ended() is Verdict.VIOLATED:
                self.possible, self.now = each.before, each.before_now
                opens = each.new_step
            else:
                self.unsettled.append(each)
        return opens

    def outstanding_evidence(self) -> Sequence[int]:
        if not self.unsettled:
            return ()
        *earlier, latest = self.unsettled
        others = [each.position for each in earlier if each.waits]
        if not others:
            return ()
        if latest.before is None or latest.letters is None:
            return others
        advance = self.machine.advance
        for state in latest.before:
            moves = [(letter, latest.new_step, False) for letter in latest.letters]
            if not self._fatal(state) and all(self._fatal(advance(state, m)) for m in moves):
                return others
        return ()

    def _fatal(self, state: StateNumber) -> bool:
        """Is the formula doomed in this state, if its step has ended?"""
        return self.explorer.verdict(self.machine.end_step(state)) is Verdict.VIOLATED

    # ── verdicts ─────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        return self._verdict(self.possible, self.now)

    def verdict_if_step_ended(self) -> Verdict:
        if not self.counts_steps:
            return self.verdict()
        end = self.machine.end_step
        possible = None if self.possible is None else set(map(end, self.possible))
        return self._verdict(possible, end(self.now))

    def _verdict(self, states: Collection[StateNumber] | None, now: StateNumber) -> Verdict:
        if states is not None:
            if len(states) == 1:
                return self.explorer.verdict(now)
            verdicts = {self.explorer.verdict(state) for state in states}
            if len(verdicts) == 1 and (common := verdicts.pop()).final:
                return common
        holds = self.machine.accepts(now)
        return Verdict.PRESUMABLY_SATISFIED if holds else Verdict.PRESUMABLY_VIOLATED

    def concerns(self, name: str) -> bool:
        return name in self.machine.alphabet.named

    def idles(self) -> bool:
        if any(each.waits for each in self.unsettled):
            return False
        return self.machine.idles(self.now)

    # ── saving ───────────────────────────────────────────────────────────────────────────

    def save(self) -> Json:
        possible, now = self.possible, self.now
        waiting = (i for i, each in enumerate(self.unsettled) if each.waits)
        unsettled = self.unsettled[next(waiting, len(self.unsettled)) :]
        if unsettled:
            possible, now = unsettled[0].before, unsettled[0].before_now
        write = self.machine.written
        return {
            "now": write(now),
            "possible": None if possible is None else sorted(map(write, possible), key=canonical),
            "unsettled": [
                [event_record(each.event), each.position, each.new_step] for each in unsettled
            ],
        }

    def restore(self, saved: Json) -> None:
        read = self.machine.read
        now, possible, unsettled = fields(saved, "now", "possible", "unsettled")
        self.now = read(now)
        self.possible = None if possible is None else frozenset(map(read, listed(possible)))
        self.unsettled = []
        for each in listed(unsettled):
            event, position, new_step = listed(each, 3)
            self.take(event_of(event), whole(position), 0, flag(new_step))


class PlainFollower(Engine):
    """The state of a machine that no result can move. Most machines are of this kind."""

    waits = False
    moves_on_any_call = True

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.machine = explorer.machine
        self.hears_everything = self.machine.alphabet.elsewhere is None
        self.counts_steps = self.machine.counts_steps
        self.metered = not all(probe.bare for probe in self.machine.alphabet.probes)
        self.now = self.machine.start
        self._answer: EngineAnswer | None = None
        """The answer after the latest move."""

    @property
    def reason(self) -> str | None:
        return _inexact(self.explorer)

    def follow(self, event: Event, position: int, step: int, new_step: bool) -> EngineAnswer:
        alphabet, final = self.machine.alphabet, False
        letter = None
        if isinstance(event, Call):
            letter, final = alphabet.fixed.get(event.tool), event.tool == FINAL_ANSWER
        move = (alphabet.letter(event) if letter is None else letter, new_step, final)
        leap = self.explorer.leaps.get((self.now, move))
        if leap is None:
            if self.machine.crowded():
                configuration = self.machine.configurations[self.now]
                self.explorer = self.explorer.renewed()
                self.machine = self.explorer.machine
                self.now = self.machine.number(configuration)
            leap = self.explorer.leap(self.now, move)
        self.now, self._answer = leap
        return self._answer

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        self.follow(event, position, step, new_step)

    def record(self, position: int, call: Call) -> None:
        pass

    def awaits(self, position: int) -> bool:
        return False

    def end_step(self) -> None:
        self.now, self._answer = self.machine.end_step(self.now), None

    def verdict(self) -> Verdict:
        return self.explorer.verdict(self.now) if self._answer is None else self._answer.verdict

    def verdict_if_step_ended(self) -> Verdict:
        if self._answer is None:
            return self.explorer.verdict(self.machine.end_step(self.now))
        return self._answer.verdict_if_step_ended

    def concerns(self, name: str) -> bool:
        return name in self.machine.alphabet.named

    def idles(self) -> bool:
        return self.machine.idles(self.now) if self._answer is None else self._answer.idles

    def mark(self) -> EngineMark:
        return self.explorer, self.now, self._answer

    def undo(self, mark: EngineMark) -> None:
        self.explorer, self.now, self._answer = mark
        self.machine = self.explorer.machine

    def save(self) -> Json:
        return self.machine.written(self.now)

    def restore(self, saved: Json) -> None:
        self.now, self._answer = self.machine.read(saved), None


def _inexact(explorer: Explorer) -> str | None:
    if explorer.exact:
        return None
    return "the search for a continuation needs more states than the budget allows"
