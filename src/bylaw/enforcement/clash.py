"""W514: rules that clash from the start, so that a gate cannot ask whether all can be met."""

from __future__ import annotations

from collections.abc import Iterator

from bylaw.enforcement.joint import Joint
from bylaw.enforcement.rules import Rules
from bylaw.procedure.lint.finding import Finding
from bylaw.procedure.procedure import Procedure


def find_clash(procedure: Procedure) -> Iterator[Finding]:
    """The smallest set of rules that no trace satisfies together, where there are three or more.

    Two rules that exclude each other, and one that nothing can satisfy, have codes of their own.
    """
    joint = Joint(procedure.derived(Rules).joint)
    everything = list(joint.forms)
    if joint.possible(everything):
        return
    clashing = joint.conflict(everything)
    if len(clashing) < 3:
        return
    yield Finding(
        "W514",
        "warning",
        tuple(procedure.constraints[i].name for i in clashing),
        "No trace satisfies these rules together, although each pair can be satisfied.",
        "A gate then asks each rule by itself only: change one of them.",
    )
