"""The calls that doom a formula with a machine, and the ways to lose it without such a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from bylaw.names import FINAL_ANSWER
from bylaw.semantics.dooming import DoomingEvent
from bylaw.semantics.machine.alphabet import Letter
from bylaw.semantics.machine.machine import Move, StateNumber
from bylaw.semantics.machine.search import Explorer, Path
from bylaw.semantics.verdict import Verdict
from bylaw.trace.event import Call
from bylaw.values import canonical

_ProposedCall: TypeAlias = tuple[Call, bool, list[Move]]
"""A call, whether it begins a step, and the moves that its possible results lead to."""


class DoomingCalls:
    """Finds out what dooms the formula of a machine. Its answers can raise `OutOfBudget`."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer: Final = explorer

    def what_dooms(self) -> DoomingEvent | None:
        """The cause that dooms the formula; None if no prefix does."""
        verdict = self._explorer.verdict
        if self._explorer.shortest(lambda state: verdict(state) is Verdict.VIOLATED) is None:
            return None
        found = self.shortest()
        return "result" if found is None else found[0]

    def shortest(self) -> tuple[DoomingEvent, Path] | None:
        """A shortest prefix whose last call dooms the formula, whatever its result.

        That call is the final answer only if no other call dooms it.
        """
        others = [each for each in self._calls if each[0].tool != FINAL_ANSWER]
        if (path := self._shortest(others)) is not None:
            return "call", path
        path = self._shortest(self._calls) if len(others) < len(self._calls) else None
        return None if path is None else ("answer", path)

    def _shortest(self, calls: Sequence[_ProposedCall]) -> Path | None:
        last: tuple[Call, bool] | None = None

        def wanted(state: StateNumber) -> bool:
            nonlocal last
            if not self._is_open(state):
                return False
            dooming = ((call, new) for call, new, moves in calls if all(self._dooms(state, moves)))
            last = next(dooming, None)
            return last is not None

        path = self._explorer.shortest(wanted)
        return None if last is None or path is None else (*path, last)

    def can_be_lost(self) -> bool:
        """Can a result doom the formula, although the call itself did not?"""

        def wanted(state: StateNumber) -> bool:
            found = (set(self._dooms(state, moves)) for _, _, moves in self._calls)
            return self._is_open(state) and any(len(each) == 2 for each in found)

        return self._explorer.shortest(wanted) is not None

    def can_be_unmet(self) -> bool:
        """Can a trace end while the formula is violated, but a continuation could satisfy it?"""
        accepts = self._explorer.machine.accepts
        wanted = self._explorer.shortest(lambda each: self._is_open(each) and not accepts(each))
        return wanted is not None

    def _is_open(self, state: StateNumber) -> bool:
        ended = self._explorer.machine.configurations[state].ended
        return not ended and self._explorer.verdict(state) is not Verdict.VIOLATED

    def _dooms(self, state: StateNumber, moves: Iterable[Move]) -> Iterator[bool]:
        """For each move, whether it dooms the formula."""
        advance, verdict = self._explorer.machine.advance, self._explorer.verdict
        return (verdict(advance(state, move)) is Verdict.VIOLATED for move in moves)

    @cached_property
    def _calls(self) -> list[_ProposedCall]:
        """The calls that can be proposed.

        The sample of a letter is its plainest call; for another tool it may be the only letter.
        """
        alphabet = self._explorer.machine.alphabet
        steps = [
            (event, step.move)
            for step in self._explorer.steps(self._explorer.machine.start)
            if isinstance(event := step.sample.event, Call)
        ]
        tools = dict.fromkeys([*(event.tool for event, _ in steps), alphabet.other])
        tools.pop(FINAL_ANSWER, None)
        letters: dict[str, list[Letter]] = {}
        found: list[_ProposedCall] = []
        for event, (letter, new_step, final) in steps:
            for tool in [FINAL_ANSWER] if final else dict.fromkeys([event.tool, *tools]):
                call = Call(tool, event.args)
                key = canonical([tool, dict(event.args)])
                if key not in letters:
                    letters[key] = list(alphabet.letters_of(call))
                if letter in letters[key]:
                    moves = [(each, new_step, final) for each in letters[key]]
                    found.append((call, new_step, moves))
                elif tool == event.tool:
                    # Assumptions about arguments count as known: some call may meet them.
                    found.append((event, new_step, [(letter, new_step, final)]))
        return found
