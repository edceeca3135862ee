"""W514: rules that no trace satisfies together, so that the joint test is off."""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.enforcement.joint.continuation import JointTest
from bylaw.enforcement.joint.rules import JointRules
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.procedure import Procedure


def find_clash(procedure: Procedure) -> Iterator[Finding]:
    """A minimal set of three or more rules that no trace satisfies together, if there is one.

    Two rules that exclude each other, and a rule that nothing satisfies, have their own codes.
    """
    formulas = [constraint.formula for constraint in procedure.constraints]
    joint = JointTest(JointRules(formulas, procedure.order))
    everything = list(joint.forms)
    if joint.possible(everything):
        return
    clashing = joint.conflict(everything)
    if len(clashing) < 3:
        return
    yield Finding(
        "W514",
        tuple(procedure.constraints[i].name for i in clashing),
        "No trace satisfies these rules together, although each pair can be satisfied.",
        "The gate then checks each rule only by itself. Change one of them.",
    )
