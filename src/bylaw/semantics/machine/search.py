"""Reachability in a machine, within a budget; answers are kept for later questions.

A search that reaches its goal marks the states on its path; one that runs out of states proves,
for every state it visited, that the goal is unreachable. A search that runs out of budget proves
nothing, and says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from bylaw.frozen import frozen
from bylaw.semantics.engine import EngineAnswer
from bylaw.semantics.machine.alphabet import Sample
from bylaw.semantics.machine.machine import Machine, Move, StateNumber
from bylaw.semantics.machine.reachability import MoveBudget, OutOfBudget, search
from bylaw.semantics.machine.residual import TooLarge
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Event

MAX_MOVES: Final = 20_000
"""The budget of one question, in moves."""
MAX_FAILURES: Final = 3
"""After this many questions that ran out of budget, no more searches are started."""

Path: TypeAlias = tuple[tuple[Event, bool], ...]
"""Events, and whether each opens a new step."""


@frozen
class Step:
    """A possible move, and an event that makes it."""

    move: Move
    sample: Sample


class Leap(NamedTuple):
    """The state that a move leads to, with all that a monitor needs to know of it."""

    state: StateNumber
    answer: EngineAnswer


class Explorer:
    """Answers questions about the future of a machine's states."""

    def __init__(self, machine: Machine, max_moves: int = MAX_MOVES) -> None:
        self.machine: Final = machine
        self.max_moves: Final = max_moves
        self.failures = 0
        self._known: dict[bool, dict[StateNumber, bool]] = {True: {}, False: {}}
        self._verdicts: dict[StateNumber, Verdict] = {}
        self._steps: tuple[Step, ...] | None = None
        self.leaps: dict[tuple[StateNumber, Move], Leap] = {}
        """The moves requested so far."""

    def leap(self, state: StateNumber, move: Move) -> Leap:
        """The leap for a move; computed once."""
        key = state, move
        leap = self.leaps.get(key)
        if leap is None:
            after = self.machine.advance(state, move)
            ended = self.machine.end_step(after)
            verdict = self.verdict(after)
            answer = EngineAnswer(verdict, self.verdict(ended), self.machine.idles(after))
            leap = self.leaps[key] = Leap(after, answer)
        return leap

    @property
    def exact(self) -> bool:
        """Have all questions so far been decided?"""
        return self.failures == 0 and self.machine.alphabet.complete

    def renewed(self) -> Explorer:
        """An explorer of the same machine, with empty tables."""
        return Explorer(self.machine.renewed(), self.max_moves)

    def steps(self, state: StateNumber) -> tuple[Step, ...]:
        """The possible moves from a state."""
        if self.machine.configurations[state].ended:
            return ()
        if self._steps is None:
            both = (True, False) if self.machine.counts_steps else (True,)
            self._steps = tuple(
                Step((sample.letter, new_step, sample.final), sample)
                for sample in self.machine.alphabet.samples
                for new_step in both
                if new_step or not sample.final  # the final answer has a step of its own
            )
        return self._steps

    def verdict(self, state: StateNumber) -> Verdict:
        """The verdict in a state."""
        verdict = self._verdicts.get(state)
        if verdict is None:
            verdict = self._judged(state)
            self._verdicts[state] = verdict
        return verdict

    def _judged(self, state: StateNumber) -> Verdict:
        if self.can_end(state, True) is False:
            return Verdict.VIOLATED
        if self.can_end(state, False) is False:
            return Verdict.SATISFIED
        holds = self.machine.accepts(state)
        return Verdict.PRESUMABLY_SATISFIED if holds else Verdict.PRESUMABLY_VIOLATED

    def can_end(self, state: StateNumber, goal: bool) -> bool | None:
        """Can the formula still have this value at the end? None if the budget ran out."""
        known = self._known[goal]
        if state in known:
            return known[state]
        if self.machine.accepts(state) is goal:
            known[state] = True
            return True
        plain = self.machine.decided(state)
        if plain is not None:
            known[state] = plain is goal
            return known[state]
        outlook = self.machine.outlook(state)
        if outlook is not None:
            known[state] = outlook.true if goal else outlook.false
            return known[state]
        if self.failures >= MAX_FAILURES:
            return None
        try:
            return self._search(state, goal)
        except (TooLarge, OutOfBudget):
            self.failures += 1
            return None

    def _search(self, start: StateNumber, goal: bool) -> bool:
        known, machine = self._known[goal], self.machine

        def moves(state: StateNumber) -> Iterator[tuple[None, StateNumber]]:
            return ((None, machine.advance(state, step.move)) for step in self.steps(state))

        visited = search(
            start,
            moves,
            is_goal=lambda state: known.get(state) or machine.accepts(state) is goal,
            is_dead=lambda s: known.get(s) is False or machine.decided(s) is (not goal),
            distance=lambda state: machine.distance(state, goal),
            budget=MoveBudget(self.max_moves),
        )
        if visited.found is not None:
            known[start] = True
            for _, _, state in visited.path():
                known[state] = True
            return True
        if not machine.alphabet.complete:
            raise OutOfBudget  # a letter without a sample may reach the goal
        for state in visited.came_from:
            known[state] = False
        return False

    # ── shortest examples ────────────────────────────────────────────────────────────────

    def shortest(
        self, wanted: Callable[[StateNumber], bool], start: StateNumber | None = None
    ) -> Path | None:
        """A shortest path to a wanted state, from the start or from another state.

        None if there is none. Raises `OutOfBudget` if the budget is too small to decide.
        """
        begin = self.machine.start if start is None else start
        came_from: dict[StateNumber, tuple[StateNumber, Step] | None] = {begin: None}
        waiting = deque([begin])
        moves = 0
        try:
            while waiting:
                state = waiting.popleft()
                if wanted(state):
                    return self._path(came_from, state)
                for step in self.steps(state):
                    moves += 1
                    if moves > self.max_moves * 10:
                        raise OutOfBudget
                    target = self.machine.advance(state, step.move)
                    if target not in came_from:
                        came_from[target] = (state, step)
                        waiting.append(target)
        except TooLarge:
            raise OutOfBudget from None
        if not self.machine.alphabet.complete:
            raise OutOfBudget
        return None

    def _path(
        self,
        came_from: dict[StateNumber, tuple[StateNumber, Step] | None],
        state: StateNumber,
    ) -> Path:
        backwards = []
        while (link := came_from[state]) is not None:
            state, step = link
            backwards.append((step.sample.event, step.move[1]))
        return tuple(reversed(backwards))
