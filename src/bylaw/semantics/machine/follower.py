"""A formula's machine with its current state.

A call whose result is not recorded yet may have several letters. The follower then is in several
states at once, one for each possible letter, and drops those that a recorded result rules out.
A result that never arrives counts as missing at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.engine import Engine, EngineMark
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.search import Explorer, Leap
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call, Event, may_get_result
from bylaw.trace.trace import Trace
from bylaw.values import Json

MAX_BRANCHES: Final = 256
"""The limit on combinations of unknown results that are followed separately."""


@frozen
class WaitingEvent:
    """An event that waits for earlier results."""

    event: Event
    position: int
    new_step: bool

    @property
    def parts(self) -> tuple[Event, int, bool]:
        """The event, its position, and whether it opens a new step."""
        return self.event, self.position, self.new_step


class Follower(Engine):
    """A machine's state, or several while results are unknown.

    Its collections are replaced, never changed, so that `mark` costs nothing.
    """

    moves_on_any_call = True

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.machine = explorer.machine
        self.hears_everything = self.machine.alphabet.elsewhere is None
        self.counts_steps = self.machine.counts_steps
        self.pending: list[int] = []
        """The positions of the calls whose unknown results matter, in order."""
        self.branches: dict[tuple[Letter, ...], int] = {(): self.machine.start}
        """The state for each combination of letters that the pending calls may have."""
        self.assumed: tuple[Letter, ...] = ()
        """The letters of the pending calls if no result ever arrives."""
        self.queue: list[WaitingEvent] = []
        """Events that wait for earlier results because too many are unknown at once."""
        self.ahead: int = self.machine.start
        """With a queue: the state after it if no result ever arrives."""
        self.overflowed = False
        """Have there been too many unknown results at once?"""

    @property
    def reason(self) -> str | None:
        if self.overflowed:
            return "too many results were unknown at once"
        return _inexact(self.explorer)

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
        self._renew_if_full()
        if self.queue or not self._take(event, position, new_step):
            self.overflowed = True
            start = self.ahead if self.queue else self.branches[self.assumed]
            self.ahead = self._moved(start, event, new_step)
            self.queue = [*self.queue, WaitingEvent(event, position, new_step)]

    def mark(self) -> EngineMark:
        return (
            self.explorer,  # states are numbers in its tables
            self.pending,
            self.branches,
            self.assumed,
            self.queue,
            self.ahead,
            self.overflowed,
        )

    def undo(self, mark: EngineMark) -> None:
        (
            self.explorer,
            self.pending,
            self.branches,
            self.assumed,
            self.queue,
            self.ahead,
            self.overflowed,
        ) = mark
        self.machine = self.explorer.machine

    def _moved(self, state: int, event: Event, new_step: bool) -> int:
        """The state after an event, with the result it has now."""
        final = isinstance(event, Call) and event.tool == FINAL_ANSWER
        return self.machine.advance(state, (self.machine.alphabet.letter(event), new_step, final))

    def _take(self, event: Event, position: int, new_step: bool) -> bool:
        """Advances every state by an event; False if its result leaves too many possibilities."""
        alphabet = self.machine.alphabet
        if may_get_result(event) and alphabet.depends_on_result(event.tool):
            letters = alphabet.letters_of(event)
            if not alphabet.complete:
                return False  # its letter may be one that no sample has
            if len(letters) > 1:
                if len(letters) * len(self.branches) > MAX_BRANCHES:
                    return False
                self._branch(position, alphabet.letter(event), letters, new_step)
                return True
        final = isinstance(event, Call) and event.tool == FINAL_ANSWER
        move = (alphabet.letter(event), new_step, final)
        advance = self.machine.advance
        self.branches = {key: advance(state, move) for key, state in self.branches.items()}
        return True

    def _renew_if_full(self) -> None:
        """Continues with empty tables if the machine's state table is full."""
        if not self.machine.crowded():
            return
        configurations = self.machine.configurations
        self.explorer = self.explorer.renewed()
        self.machine = self.explorer.machine
        number = self.machine.number
        self.branches = {key: number(configurations[s]) for key, s in self.branches.items()}
        self.ahead = number(configurations[self.ahead])

    def end_step(self) -> None:
        if not self.queue:
            end = self.machine.end_step
            self.branches = {key: end(state) for key, state in self.branches.items()}

    def _branch(
        self, position: int, assumed: Letter, letters: Mapping[Letter, Call], new_step: bool
    ) -> None:
        self.pending = [*self.pending, position]
        self.assumed = (*self.assumed, assumed)
        self.branches = {
            (*key, letter): self.machine.advance(state, (letter, new_step, False))
            for key, state in self.branches.items()
            for letter in letters
        }

    def awaits(self, position: int) -> bool:
        return position in self.pending or any(each.position == position for each in self.queue)

    def record(self, position: int, call: Call) -> None:
        if position in self.pending:
            index = self.pending.index(position)
            letter = self.machine.alphabet.letter(call)
            kept = {k: s for k, s in self.branches.items() if k[index] == letter}
            self.branches = {(*k[:index], *k[index + 1 :]): s for k, s in kept.items()}
            self.assumed = (*self.assumed[:index], *self.assumed[index + 1 :])
            self.pending = [*self.pending[:index], *self.pending[index + 1 :]]
        self.queue = [
            replace(each, event=call) if each.position == position else each for each in self.queue
        ]
        self._drain()

    def _drain(self) -> None:
        """Takes in waiting events, as far as that is possible now."""
        while self.queue and self._take(*self.queue[0].parts):
            self.queue = self.queue[1:]
        self.ahead = self.branches[self.assumed]
        for each in self.queue:
            self.ahead = self._moved(self.ahead, each.event, each.new_step)

    def save(self) -> Json:
        written = [
            [[sorted(letter) for letter in key], self.machine.written(state)]
            for key, state in self.branches.items()
        ]
        assumed = [sorted(letter) for letter in self.assumed]
        return {
            "pending": self.pending,
            "assumed": assumed,
            "branches": written,
            "queue": Trace([each.event for each in self.queue]).to_record(),
            "places": [[each.position, each.new_step] for each in self.queue],
        }

    def restore(self, saved: Json) -> None:
        self.pending = list(saved["pending"])
        self.assumed = tuple(frozenset(letter) for letter in saved["assumed"])
        self.branches = {
            tuple(frozenset(letter) for letter in key): self.machine.read(state)
            for key, state in saved["branches"]
        }
        waiting = Trace.from_record(saved["queue"]).seen("all", answer=True)
        self.queue = [
            WaitingEvent(event, *place)
            for event, place in zip(waiting, saved["places"], strict=True)
        ]
        self.overflowed = bool(self.queue)
        self._drain()

    @property
    def now(self) -> int:
        """The state if no more results arrive."""
        return self.ahead if self.queue else self.branches[self.assumed]

    def verdict(self) -> Verdict:
        return self._verdict(set(self.branches.values()), self.now)

    def verdict_if_step_ended(self) -> Verdict:
        if self.queue or not self.machine.counts_steps:
            return self.verdict()
        end = self.machine.end_step
        return self._verdict(set(map(end, self.branches.values())), end(self.now))

    def _verdict(self, states: Collection[int], now: int) -> Verdict:
        if len(states) == 1 and not self.queue:
            return self.explorer.verdict(now)
        verdicts = {self.explorer.verdict(state) for state in states}
        if len(verdicts) == 1 and (common := verdicts.pop()).final:
            return common  # the queue cannot change a final verdict
        holds = self.machine.accepts(now)
        return Verdict.PRESUMABLY_SATISFIED if holds else Verdict.PRESUMABLY_VIOLATED

    def concerns(self, name: str) -> bool:
        return name in self.machine.alphabet.named

    def idles(self) -> bool:
        if self.pending or self.queue:
            return False
        return self.machine.idles(self.branches[self.assumed])


class PlainFollower(Engine):
    """The state of a machine that no result can move. Most machines are of this kind."""

    waits = False
    moves_on_any_call = True

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.machine = explorer.machine
        self.hears_everything = self.machine.alphabet.elsewhere is None
        self.counts_steps = self.machine.counts_steps
        self.now = self.machine.start
        self._leap: Leap | None = None
        """The latest move, with its verdict."""

    @property
    def reason(self) -> str | None:
        return _inexact(self.explorer)

    def take(self, event: Event, position: int, step: int, new_step: bool) -> None:
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
        self.now, self._leap = leap.state, leap

    def record(self, position: int, call: Call) -> None:
        pass

    def awaits(self, position: int) -> bool:
        return False

    def end_step(self) -> None:
        self.now, self._leap = self.machine.end_step(self.now), None

    def verdict(self) -> Verdict:
        return self.explorer.verdict(self.now) if self._leap is None else self._leap.verdict

    def verdict_if_step_ended(self) -> Verdict:
        if self._leap is None:
            return self.explorer.verdict(self.machine.end_step(self.now))
        return self._leap.verdict_if_step_ended

    def concerns(self, name: str) -> bool:
        return name in self.machine.alphabet.named

    def idles(self) -> bool:
        return self.machine.idles(self.now) if self._leap is None else self._leap.idles

    def mark(self) -> EngineMark:
        return self.explorer, self.now, self._leap

    def undo(self, mark: EngineMark) -> None:
        self.explorer, self.now, self._leap = mark
        self.machine = self.explorer.machine

    def save(self) -> Json:
        return self.machine.written(self.now)

    def restore(self, saved: Json) -> None:
        self.now, self._leap = self.machine.read(saved), None


def _inexact(explorer: Explorer) -> str | None:
    if explorer.exact:
        return None
    return "the search for a continuation needs more states than the budget allows"
