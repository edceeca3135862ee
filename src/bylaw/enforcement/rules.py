"""What all guards of a procedure share: made once, and then at hand for every run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.logic.walk import tools_in
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.machine.machine_cache import MachineCache


class Rules:
    """The rules of a procedure, made ready for runs."""

    def __init__(self, procedure: Procedure) -> None:
        formulas = [constraint.formula for constraint in procedure.constraints]
        self.named: Final = [frozenset(tools_in(formula)) for formula in formulas]
        """The tools that each rule names."""
        self.joint: Final = JointRules(formulas, procedure.order)
        self.machines: Final = MachineCache(procedure.vocabulary)
        self._compatible: Final[dict[frozenset[int], tuple[bool, bool]]] = {}

    def compatible(self, enforced: Iterable[int]) -> tuple[bool, bool]:
        """Can these rules be met together at all? And is that certain?"""
        key = frozenset(enforced)
        found = self._compatible.get(key)
        if found is None:
            joint = JointTest(self.joint)
            found = self._compatible[key] = joint.possible(sorted(key)), joint.decided
        return found
