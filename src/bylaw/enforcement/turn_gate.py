"""The part of a guard that decides turns: one lock, one clock, and a person to ask.

Decisions are made under the lock: concurrent turns are decided as if they came one after the other.
The lock is not held while a person is asked, so an approved call is judged again.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

from bylaw.enforcement.asking import Ask, Question
from bylaw.enforcement.atomic import AtomicChange, interrupted
from bylaw.enforcement.deciding import abort, advance, refuse_rest, stop_unlogged
from bylaw.enforcement.decision import Decision
from bylaw.enforcement.events import EnforcementEvent
from bylaw.enforcement.judge import Outstanding
from bylaw.enforcement.listening import GuardListener, notify
from bylaw.enforcement.run import Run
from bylaw.enforcement.turn import Turn
from bylaw.enforcement.validation import LATEST, checked_time, unusable
from bylaw.trace.event import Call


class TurnGate:
    """Decides the turns of one run, and lets its time pass: a guard is one."""

    def __init__(
        self,
        new_run: Callable[[float | None], Run],
        *,
        lock: threading.RLock,
        clock: Callable[[], float] | None,
        ask: Ask | None,
        ask_timeout: float | None,
        outstanding: Outstanding,
        max_text: float,
        shared: bool,
        listener: GuardListener | None,
    ) -> None:
        self.outstanding: Final[Outstanding] = outstanding
        self._lock: Final = lock
        self._clock: Final = clock
        self._ask: Final = ask
        self._ask_timeout: Final = ask_timeout
        self._max_text: Final = max_text
        self._shared: Final = shared
        self._listener: Final = listener
        self._run = new_run(self._time())

    # ── proposing ────────────────────────────────────────────────────────────────────────

    def propose(self, calls: Iterable[Call], *, same_turn: bool = False) -> list[Decision]:
        """Decides the calls of one model turn, in order. A turn may have no calls.

        The arguments must be JSON, and are copied. If anything is raised, the turn is taken back,
        or the run has ended: no call counts that will not run. With `same_turn`, the calls belong
        to the turn before, unless there was a message since: for hooks that are asked about the
        calls of a turn one by one.
        """
        turn = Turn(calls, self._max_text, self._run.turn, self._time())
        turn.continues = same_turn
        try:
            if (question := self._advance(turn)) is not None:
                self._decide(turn, question)
            return self._announced(turn.decisions)
        except BaseException:  # Ctrl-C included
            self._abort(turn)
            raise

    async def propose_async(
        self, calls: Iterable[Call], *, same_turn: bool = False
    ) -> list[Decision]:
        """As `propose`, without blocking the event loop.

        So it is while a person is asked, and while the log is synced: tasks share a sync.
        """
        turn = Turn(calls, self._max_text, self._run.turn, self._time())
        turn.continues = same_turn
        try:
            await self._decide_async(turn)
            return self._announced(turn.decisions)
        except BaseException:  # cancellation included
            self._abort(turn)
            raise

    def _announced(self, decisions: list[Decision]) -> list[Decision]:
        """The decisions, once the listener knows them."""
        if self._listener is not None:
            notify(self._listener.decided, self, decisions)
        return decisions

    def rounds(self, calls: Iterable[Call]) -> Iterator[list[Decision]]:
        """Decides one model turn in rounds; run the calls of each before the next is decided.

        With `outstanding="wait"`, a call that depends on results of its turn is decided in a later
        round. Otherwise there is one round.
        """
        turn = Turn(calls, self._max_text, self._run.turn, self._time())
        turn.waits = self.outstanding == "wait"
        try:
            while turn.next_round():
                self._decide(turn, self._advance(turn))
                yield self._announced(turn.latest)
        except GeneratorExit:  # between two rounds
            raise
        except BaseException:
            self._abort(turn)
            raise

    async def rounds_async(self, calls: Iterable[Call]) -> AsyncIterator[list[Decision]]:
        """As `rounds`, without blocking the event loop; see `propose_async`."""
        turn = Turn(calls, self._max_text, self._run.turn, self._time())
        turn.waits = self.outstanding == "wait"
        try:
            while turn.next_round():
                await self._decide_async(turn)
                yield self._announced(turn.latest)
        except GeneratorExit:
            raise
        except BaseException:
            self._abort(turn)
            raise

    def _decide(self, turn: Turn, question: Question | None) -> None:
        while question is not None and self._ask is not None:
            turn.answer(question, question.ask(self._ask, self._ask_timeout))
            question = self._advance(turn)

    async def _decide_async(self, turn: Turn) -> None:
        while (question := await self._advance_async(turn)) is not None and self._ask is not None:
            turn.answer(question, await question.ask_async(self._ask, self._ask_timeout))

    def _advance(self, turn: Turn) -> Question | None:
        question = self._judge(turn)
        if turn.queued is None or self._run.journal.commit(turn.queued[0]):
            return question
        self._stop(turn, turn.queued[1])
        return None

    async def _advance_async(self, turn: Turn) -> Question | None:
        question = self._judge(turn)
        if turn.queued is None or await self._run.journal.commit_async(turn.queued[0]):
            return question
        self._stop(turn, turn.queued[1])
        return None

    def _judge(self, turn: Turn) -> Question | None:
        """Decides, up to the next question. What it queues is not on disk yet."""
        now = turn.start if turn.number < 0 else self._time()
        with self._lock:
            turn.queued = None
            run = self._run
            if run.inside is None and run.judge.interrupted is None:
                self._pass_time(now)
                return advance(self._run, turn, asks=self._ask is not None)
            refuse_rest(self._run, turn)
            return None

    def _stop(self, turn: Turn, unlogged: list[int]) -> None:
        with self._lock:
            stop_unlogged(self._run, turn, unlogged)

    def _abort(self, turn: Turn) -> None:
        with self._lock:
            abort(self._run, turn)

    # ── the clock ────────────────────────────────────────────────────────────────────────

    def _time(self) -> float | None:
        """The time by the clock; None if there is none."""
        if self._clock is None:
            return None
        now = self._clock()
        if type(now) is float and -LATEST < now < LATEST:
            return now
        return checked_time("the time by the clock", now)

    def _pass_time(self, now: float | None) -> None:
        """Moves the run to this time, under the lock; it never goes back."""
        run = self._run
        if self._shared and now is not None and self._clock is not None:
            now = run.judge.next_time(now if run.now is None else max(now, run.now))
        if now is not None and (run.now is None or now >= run.now):
            if run.judge.with_deadlines:
                run.tick(now)
                run.inside = None
            else:
                run.now = now

    def tick(self, now: float | None = None) -> list[EnforcementEvent]:
        """Lets time pass; returns the deadlines that have passed, as events of these times.

        The time is that of the clock unless it is given. `next_deadline` says when it is worth
        calling; every other method lets time pass, too.
        """
        now = self._time() if now is None else checked_time("now", now)
        with self._lock, AtomicChange(self._run) as intact:
            self._require(intact)
            known = len(self._run.journal.events)
            self._pass_time(now)
            return self._run.journal.events[known:]

    @property
    def has_deadlines(self) -> bool:
        """Can the passing of time change anything?"""
        return self._run.judge.with_deadlines

    @property
    def next_deadline(self) -> float | None:
        """The time by which some rule needs something to happen, if one does."""
        with self._lock:
            run = self._run
            return None if run.interrupted or run.finished else run.judge.next_deadline()

    def _stated(self, name: str, given: float | None) -> float | None:
        """The time of something: by the clock, or as stated."""
        if given is not None and self._clock is not None:
            help = "Leave it out, or make the guard with clock=None."
            raise unusable(f"`{name}` cannot be given: this guard has a clock", help)
        return self._time() if given is None else checked_time(name, given)

    def _require(self, intact: bool) -> None:
        if not intact:
            raise interrupted(self._run.interrupted or "propose")
