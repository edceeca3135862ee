"""W514: rules that no trace satisfies together, so that the joint test of them is off."""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.enforcement.joint.conflicts import Conflicts
from bylaw.enforcement.joint.machines import JointMachines
from bylaw.enforcement.joint.rules import JointRules
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.procedure import Procedure
from bylaw.semantics.monitors import Monitors


def find_clash(procedure: Procedure) -> Iterator[Finding]:
    """A minimal set of three or more rules that no trace satisfies together, if there is one.

    Two rules that exclude each other, and a rule that nothing satisfies, have their own codes.
    """
    formulas = [constraint.formula for constraint in procedure.constraints]
    monitors = Monitors(
        formulas,
        order=procedure.order,
        events=[procedure.events_of(constraint) for constraint in procedure.constraints],
        vocabulary=procedure.vocabulary,
    )
    conflicts = Conflicts(
        JointRules(formulas, procedure.order),
        JointMachines.of(procedure, {}),
        monitors,
        enforced=range(len(formulas)),
        takes_part=lambda rule: not monitors.verdicts[rule].final,
    )
    clashing = conflicts.clash_anywhere()
    if len(clashing) < 3:
        return
    yield Finding(
        "W514",
        tuple(procedure.constraints[i].name for i in clashing),
        "No trace satisfies these rules together, although each pair can be satisfied.",
        "The gate then checks them, and all rules that share tools with them, only one by one. "
        "Change one of them.",
    )
