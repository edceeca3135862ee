"""Machines of several rules that move together: can they all be satisfied?

One event moves all machines, so the moves are samples from one alphabet over the probes of all of
them. Answers are kept, with the moves that each took, and a kept answer takes as many again. So it
makes no difference to the budget of a run, and hence to its decisions, what was asked before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias

from bylaw.frozen import frozen
from bylaw.names import FINAL_ANSWER
from bylaw.semantics.machine.alphabet import Alphabet, Letter, Sample
from bylaw.semantics.machine.machine import Machine, Move, StateNumber
from bylaw.semantics.machine.reachability import MoveBudget, OutOfBudget, search
from bylaw.semantics.machine.residual import TooLarge
from bylaw.trace.event import Call

MAX_KNOWN: Final = 100_000
"""The number of answers that are kept."""

JointGoal: TypeAlias = Literal["met", "calm"]
"""All machines accept; or all are calm, so that calls of other tools change nothing."""
States: TypeAlias = tuple[StateNumber, ...]
_Question: TypeAlias = tuple[JointGoal, States]
"""Can the goal be reached from these states?"""


@frozen
class JointMove:
    """An event, and the move that it is for each machine. None does not move the machine."""

    sample: Sample
    new_step: bool
    moves: tuple[Move | None, ...]


class JointPlan:
    """Events that satisfy some rules, each with whether it opens a new step."""

    def __init__(self, moves: list[JointMove]) -> None:
        self.events: Final = tuple((move.sample.event, move.new_step) for move in moves)
        self.real: Final = all(move.sample.real for move in moves)
        """Are the events real? If not, the value of some condition was assumed."""
        self.tools: Final = frozenset(e.tool for e, _ in self.events if isinstance(e, Call))
        self.has_messages: Final = len(self.events) > sum(
            isinstance(e, Call) for e, _ in self.events
        )


class Member:
    """A machine among others: the effect on it of calls of tools that it does not name."""

    def __init__(self, machine: Machine) -> None:
        self.machine: Final = machine
        self._met: Final[dict[StateNumber, bool]] = {}
        self._calm: Final[dict[StateNumber, bool]] = {}

    @cached_property
    def wide(self) -> bool:
        """Do calls of tools that it does not name differ to it?"""
        return self.machine.alphabet.elsewhere is None

    @cached_property
    def _foreign(self) -> list[Letter]:
        """The letters of calls of tools that it does not name."""
        alphabet = self.machine.alphabet
        if alphabet.elsewhere is not None:
            return [alphabet.elsewhere]
        return [
            sample.letter
            for sample in alphabet.samples
            if isinstance(sample.event, Call)
            and not sample.final
            and sample.event.tool not in alphabet.named
        ]

    def met(self, state: StateNumber) -> bool:
        """Is the rule satisfied if the trace ends here?"""
        found = self._met.get(state)
        if found is None:
            found = self._met[state] = self.machine.accepts(state)
        return found

    def calm(self, state: StateNumber) -> bool:
        """Is it satisfied, and stays so whatever calls of other tools follow?"""
        found = self._calm.get(state)
        if found is None:
            found = self._calm[state] = self._stays_met(state)
        return found

    def _stays_met(self, state: StateNumber) -> bool:
        seen, waiting = {state}, [state]
        while waiting:
            here = waiting.pop()
            if not self.met(here) or self.machine.configurations[here].ended:
                return False
            after = {
                self.machine.advance(here, (letter, new_step, False))
                for letter in self._foreign
                for new_step in ((True, False) if self.machine.counts_steps else (True,))
            }
            waiting += after - seen
            seen |= after
        return True

    @cached_property
    def ignores_start(self) -> bool:
        """Does it make no difference if a call of a tool that it does not name comes first?"""
        machine, elsewhere = self.machine, self.machine.alphabet.elsewhere
        if elsewhere is None:
            return False
        start, later = machine.start, machine.advance(machine.start, (elsewhere, True, False))
        steps = (True, False) if machine.counts_steps else (True,)
        moves = [
            (sample.letter, new_step, sample.final)
            for sample in machine.alphabet.samples
            for new_step in steps
        ]
        same = all(machine.advance(start, move) == machine.advance(later, move) for move in moves)
        return same and self.met(start) is self.met(later)

    def after(self, state: StateNumber, plan: JointPlan) -> StateNumber:
        """The state after the events of a plan."""
        alphabet = self.machine.alphabet
        for event, new_step in plan.events:
            final = isinstance(event, Call) and event.tool == FINAL_ANSWER
            if isinstance(event, Call) or alphabet.sees_messages:
                move = (alphabet.letter(event), new_step, final)
                state = self.machine.advance(state, move)
        return state


def joint_alphabet(machines: Sequence[Machine]) -> Alphabet:
    """The alphabet over the probes of several machines."""
    alphabets = [machine.alphabet for machine in machines]
    return Alphabet(
        [probe for alphabet in alphabets for probe in alphabet.probes],
        answer=any(machine.sees_answer for machine in machines),
        messages=any(alphabet.sees_messages for alphabet in alphabets),
        vocabulary=alphabets[0].vocabulary,
    )


class Product:
    """The machines of some rules. It keeps the answers to questions about their states."""

    def __init__(self, members: tuple[Member, ...]) -> None:
        self._members: Final = members
        self._machines: Final = [member.machine for member in members]
        self._answers: Final[dict[_Question, tuple[JointPlan | None, int]]] = {}
        """Answers, with the moves that each took. None proves that there is no plan."""
        self._undecided: Final[dict[_Question, int]] = {}
        """Questions that ran out of budget, with the moves that they had."""
        self._lock: Final = threading.Lock()

    @cached_property
    def _alphabet(self) -> Alphabet:
        return joint_alphabet(self._machines)

    @cached_property
    def _all_moves(self) -> list[JointMove]:
        numbers = [
            [(self._alphabet.number[probe], i) for i, probe in enumerate(machine.alphabet.probes)]
            for machine in self._machines
        ]
        both = any(machine.counts_steps for machine in self._machines)
        found = []
        for sample in self._alphabet.samples:
            letters = [
                frozenset(own for joint, own in pairs if joint in sample.letter)
                for pairs in numbers
            ]
            for new_step in (True, False) if both and not sample.final else (True,):
                moves = (
                    self._own_move(machine, sample, letter, new_step)
                    for machine, letter in zip(self._machines, letters, strict=True)
                )
                found.append(JointMove(sample, new_step, tuple(moves)))
        return found

    def _own_move(
        self, machine: Machine, sample: Sample, letter: Letter, new_step: bool
    ) -> Move | None:
        if not isinstance(sample.event, Call) and not machine.alphabet.sees_messages:
            return None
        return letter, new_step or not machine.counts_steps, sample.final

    @cached_property
    def _own_calls(self) -> list[JointMove]:
        """The moves that are calls, other than the answer."""
        return [
            m for m in self._all_moves if isinstance(m.sample.event, Call) and not m.sample.final
        ]

    def plan(self, states: States, goal: JointGoal, budget: MoveBudget) -> JointPlan | None:
        """Events that lead to the goal; None proves that there are none.

        Raises `OutOfBudget` if the budget, in moves of single machines, is too small to decide.
        """
        question = goal, states
        answer = self._answers.get(question)
        if answer is None:
            with self._lock:  # runs in several threads may share the product
                answer = self._answered(question, budget)
        plan, cost = answer
        budget.spend(cost)
        return plan

    def _answered(self, question: _Question, budget: MoveBudget) -> tuple[JointPlan | None, int]:
        """The answer to a question, and the moves that it takes.

        Both depend on the question alone, not on earlier ones: what a run may do must not depend
        on what other runs have asked.
        """
        goal, states = question
        available = budget.left
        if self._undecided.get(question, -1) >= available:
            budget.spend(available + 1)
        if len(self._answers) + len(self._undecided) > MAX_KNOWN:
            self._answers.clear()
            self._undecided.clear()
        own = MoveBudget(available)
        try:
            plan = self._search(states, goal, own)
        except (OutOfBudget, TooLarge):
            self._undecided[question] = available
            budget.left = -1
            raise OutOfBudget from None
        answer = self._answers[question] = plan, available - own.left
        return answer

    def _search(self, start: States, goal: JointGoal, budget: MoveBudget) -> JointPlan | None:
        if self._reached(start, goal):
            return JointPlan([])
        if self._dead(start):
            return None
        machines = self._machines
        choices = self._own_calls if goal == "calm" else self._all_moves

        def moves(states: States) -> Iterator[tuple[JointMove, States]]:
            if goal == "met" and self._ended(states):
                return
            for move in choices:
                pairs = zip(machines, states, move.moves, strict=True)
                yield move, tuple([s if m is None else each.advance(s, m) for each, s, m in pairs])

        def distance(states: States) -> int:
            return sum(m.distance(s, True) for m, s in zip(machines, states, strict=True))

        visited = search(
            start,
            moves,
            is_goal=lambda states: self._reached(states, goal),
            is_dead=self._dead,
            distance=distance,
            budget=budget,
            cost=len(machines),
        )
        if visited.found is not None:
            return JointPlan([move for _, move, _ in visited.path()])
        if not self._alphabet.complete:
            raise OutOfBudget  # an event without a sample may reach the goal
        return None

    def _reached(self, states: States, goal: JointGoal) -> bool:
        pairs = zip(self._members, states, strict=True)
        if goal == "calm":
            return all(member.calm(state) for member, state in pairs)
        return all(member.met(state) for member, state in pairs)

    def _dead(self, states: States) -> bool:
        pairs = zip(self._machines, states, strict=True)
        return any(machine.decided(state) is False for machine, state in pairs)

    def _ended(self, states: States) -> bool:
        pairs = zip(self._machines, states, strict=True)
        return any(machine.configurations[state].ended for machine, state in pairs)
