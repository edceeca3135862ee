"""Machines that are built once and shared by all runs that follow the same rules.

A machine is a pure function that remembers its results. The second run of a procedure therefore
starts at once, with most of its states explored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from bylaw.logic.formula import Formula
from bylaw.semantics.machine.machine import Machine
from bylaw.semantics.machine.search import Explorer
from bylaw.trace.trace import Events
from bylaw.values import Json, identity
from bylaw.vocabulary.registry import Vocabulary
from bylaw.vocabulary.view import Order

_Key: TypeAlias = tuple[int, str, Order, Events]
_NewFormula: TypeAlias = Callable[[], Formula]
_WHOLE: Final = ""
"""The place of a value in the key of a machine that is not an instance."""


class MachineCache:
    """The machines of one list of formulas, under one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary: Final = vocabulary
        self._made: Final[dict[_Key, tuple[Formula, Explorer]]] = {}
        self.concerned: Final[dict[str, frozenset[int]]] = {}
        """For each tool or role, the indices of the formulas it concerns."""

    def known(self, formula: Formula, order: Order, events: Events) -> Explorer | None:
        """The machine of a formula, if it was built already and its state table is not full."""
        made = self._made.get((id(formula), _WHOLE, order, events))
        return None if made is None or made[1].machine.crowded() else made[1]

    def explorer(self, formula: Formula, order: Order, events: Events) -> Explorer:
        """The machine of a formula. The key is the formula's identity, not its equality."""
        return self._explorer((id(formula), _WHOLE, order, events), formula, lambda: formula)

    def instance(
        self, formula: Formula, value: Json, order: Order, events: Events, body: _NewFormula
    ) -> Explorer:
        """The machine of a quantified formula's body for one value."""
        return self._explorer((id(formula), identity(value), order, events), formula, body)

    def _explorer(self, key: _Key, formula: Formula, followed: _NewFormula) -> Explorer:
        *_, order, events = key
        made = self._made.get(key)
        if made is None:
            explorer = Explorer(Machine(followed(), order, events, self._vocabulary))
        elif made[1].machine.crowded():
            explorer = made[1].renewed()
        else:
            return made[1]
        self._made[key] = formula, explorer  # kept alive, so that its id stays unique
        return explorer
