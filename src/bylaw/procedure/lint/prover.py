"""Questions about all traces at once, answered with certainty or not at all."""

from __future__ import annotations

from typing import Final

from bylaw.errors import SpecError
from bylaw.logic import formula as f
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.search import MAX_MOVES, Explorer
from bylaw.trace.trace import Events
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order


class Prover:
    """Proves facts about formulas over all traces, read with one order and one choice of events."""

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
        """Is it certain that every trace satisfies the formula?"""
        return self.possible(False, formula) is False

    def same(self, left: f.Formula, right: f.Formula) -> bool:
        """Is it certain that the same traces satisfy both?"""
        return self.always(f.Iff(left, right))

    def possible(self, value: bool, *formulas: f.Formula) -> bool | None:
        """Can the conjunction have this value on some trace? None if that is unknown."""
        try:
            formula = formulas[0] if len(formulas) == 1 else f.And(formulas)
        except SpecError:  # nested too deeply
            return None
        key = (formula, value)
        if key not in self._answers:
            self._answers[key] = self._search(formula, value)
        return self._answers[key]

    def _search(self, formula: f.Formula, value: bool) -> bool | None:
        explorer = self.explorer(formula)
        if explorer is None:
            return None
        answer = explorer.can_end(explorer.machine.start, value)
        # Sample calls are enough to show that something is possible, but not that it is impossible.
        return None if answer is False and not explorer.exact else answer

    def explorer(self, formula: f.Formula) -> Explorer | None:
        """A search over the formula's machine; None if it has no machine."""
        try:
            machine = Machine(formula, self.order, self.events, self.vocabulary)
        except Unsupported:
            return None
        return Explorer(machine, self.max_moves)


def conjuncts(formula: f.Formula) -> tuple[f.Formula, ...]:
    """The parts that must all hold."""
    return formula.operands if isinstance(formula, f.And) else (formula,)
