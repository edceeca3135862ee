"""The machines of a procedure's rules, as all of its runs share them for the joint test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.enforcement.joint.components import components
from bylaw.enforcement.joint.product import Member, Product, joint_alphabet
from bylaw.logic import formula as f
from bylaw.logic.walk import is_local, tools_in, with_labels
from bylaw.names import FINAL_ANSWER
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.machine.alphabet import Alphabet
from bylaw.semantics.machine.closure import Unsupported
from bylaw.semantics.machine.machine import Machine, StateNumber
from bylaw.trace.trace import Events
from bylaw.values import Json
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.view import Order

MAX_PRODUCTS: Final = 1_000
"""The number of products that are kept."""

Rules: TypeAlias = frozenset[int]
FineKey: TypeAlias = tuple[StateNumber | None, ...]
"""The states of some rules; None for one that took no part."""


class JointMachines:
    """The components that the rules form, and the products explored so far."""

    @classmethod
    def of(cls, procedure: Procedure, labels: Mapping[str, Json]) -> JointMachines:
        """The machines of a procedure, for runs with these labels."""
        constraints = procedure.constraints
        formulas = [with_labels(constraint.formula, labels) for constraint in constraints]
        events = [procedure.events_of(constraint) for constraint in constraints]
        return cls(formulas, events, procedure.order, procedure.vocabulary)

    def __init__(
        self,
        formulas: Sequence[f.Formula],
        events: Sequence[Events],
        order: Order = "position",
        vocabulary: Vocabulary = EMPTY,
    ) -> None:
        named = [set(tools_in(formula)) - {FINAL_ANSWER} for formula in formulas]
        self.component: Final = components(named)
        """For each rule, the number of its component."""
        self._rules: Final[dict[int, set[int]]] = {}
        for rule, number in enumerate(self.component):
            self._rules.setdefault(number, set()).add(rule)
        self._formulas: Final = formulas
        self._order: Final[Order] = order
        self._events: Final = events
        self._vocabulary: Final = vocabulary
        self._stateless: Final[dict[int, Machine | None]] = {}
        self._members: Final[dict[Machine, Member]] = {}
        self._products: Final[dict[tuple[Member, ...], Product]] = {}
        self._alphabets: Final[dict[tuple[Machine, ...], Alphabet]] = {}
        self._fine: Final[dict[tuple[int | None, Rules], set[FineKey]]] = {}

    def rules_of(self, numbers: Iterable[int]) -> set[int]:
        """The rules of some components."""
        return set().union(*(self._rules[number] for number in numbers))

    def fine(self, component: int | None, rules: Rules) -> set[FineKey]:
        """States in which these rules of a component were found to have a continuation.

        None stands for the rules that are counted together, which have no component.
        """
        return self._fine.setdefault((component, rules), set())

    def stateless(self, rule: int) -> Machine | None:
        """The machine of a rule about single events (`G` over a condition), whatever its engine.

        As long as the rule is not violated, its first state stands for all others.
        """
        if rule not in self._stateless:
            self._stateless[rule] = self._built(rule)
        return self._stateless[rule]

    def _built(self, rule: int) -> Machine | None:
        formula = self._formulas[rule]
        if isinstance(formula, f.Always) and is_local(formula.operand):
            try:
                return Machine(formula, self._order, self._events[rule], self._vocabulary)
            except Unsupported:
                return None
        return None

    def member(self, machine: Machine) -> Member:
        """The machine as a member of products."""
        found = self._members.get(machine)
        if found is None:
            found = self._members[machine] = Member(machine)
        return found

    def product(self, members: tuple[Member, ...]) -> Product:
        """The product of some machines."""
        found = self._products.get(members)
        if found is None:
            if len(self._products) >= MAX_PRODUCTS:
                for cache in (self._products, self._members, self._alphabets):
                    cache.clear()
            found = self._products[members] = Product(members)
        return found

    def alphabet(self, machines: tuple[Machine, ...]) -> Alphabet:
        """The alphabet over the probes of some machines."""
        found = self._alphabets.get(machines)
        if found is None:
            found = self._alphabets[machines] = joint_alphabet(machines)
        return found
