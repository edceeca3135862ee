"""Questions about all traces at once, answered for certain or not at all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from bylaw.errors import SpecError
from bylaw.logic import formula as f
from bylaw.semantics.closure import Unsupported
from bylaw.semantics.machine import Machine
from bylaw.semantics.monitor import Monitor
from bylaw.semantics.residual import TooLarge
from bylaw.semantics.search import MAX_MOVES, Explorer
from bylaw.trace.trace import Events
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order

PROBED_STATES: Final = 24
"""From how many early states a rule's search is tried out."""


class Prover:
    """Proves what every trace does to formulas, reading traces as one procedure does."""

    def __init__(
        self,
        order: Order,
        events: Events,
        vocabulary: Vocabulary,
        max_moves: int = MAX_MOVES,
    ) -> None:
        self.order: Final[Order] = order
        self.events: Final[Events] = events
        self.vocabulary: Final = vocabulary
        self.max_moves: Final = max_moves
        self._answers: dict[tuple[f.Formula, bool], bool | None] = {}

    def never(self, *formulas: f.Formula) -> bool:
        """Is it certain that no trace satisfies all of these?"""
        return self.possible(True, *formulas) is False

    def always(self, formula: f.Formula) -> bool:
        """Is it certain that every trace satisfies it?"""
        return self.possible(False, formula) is False

    def same(self, left: f.Formula, right: f.Formula) -> bool:
        """Is it certain that the same traces satisfy both?"""
        return self.always(f.Iff(left, right))

    def possible(self, value: bool, *formulas: f.Formula) -> bool | None:
        """Can the conjunction come out so? None where that is not known."""
        try:
            formula = formulas[0] if len(formulas) == 1 else f.And(formulas)
        except SpecError:  # nested too deeply
            return None
        key = (formula, value)
        if key not in self._answers:
            self._answers[key] = self._asked(formula, value)
        return self._answers[key]

    def _asked(self, formula: f.Formula, value: bool) -> bool | None:
        explorer = self._explorer(formula)
        if explorer is None:
            return None
        answer = explorer.can_end(explorer.machine.start, value)
        # That something is possible was shown by sample calls; that it is not needs all of them.
        return None if answer is False and not explorer.exact else answer

    def _explorer(self, formula: f.Formula) -> Explorer | None:
        try:
            machine = Machine(formula, self.order, self.events, self.vocabulary)
        except Unsupported:
            return None
        return Explorer(machine, self.max_moves)

    # ── final verdicts ───────────────────────────────────────────────────────────────────

    def lateness(self, formula: f.Formula) -> tuple[str, bool] | None:
        """Why final verdicts may come late, where they may; and is it only for the budget?"""
        monitor = Monitor(formula, order=self.order, events=self.events, vocabulary=self.vocabulary)
        reason = monitor.reason
        if reason is not None:
            return reason, False
        explorer = self._explorer(formula)
        if explorer is None or self._answers_quickly(explorer):
            return None
        return "the search for a way out needs more states than the budget allows", True

    def _answers_quickly(self, explorer: Explorer) -> bool:
        """Are both questions answered at the start, and behind a few calls?"""
        try:
            for state in _first_states(explorer):
                for value in (True, False):
                    explorer.can_end(state, value)
                if not explorer.exact:
                    return False
        except TooLarge:
            return False
        return True


def _first_states(explorer: Explorer) -> Iterator[int]:
    """The states nearest to the start."""
    machine = explorer.machine
    seen = {machine.start}
    waiting = deque([machine.start])
    while waiting:
        state = waiting.popleft()
        yield state
        for step in explorer.steps(state):
            target = machine.advance(state, step.move)
            if target not in seen and len(seen) < PROBED_STATES:
                seen.add(target)
                waiting.append(target)
