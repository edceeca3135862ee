"""What a gate does about a rule: the severities, the settings that replace them, escalation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, Literal, TypeAlias

from bylaw.procedure.constraint import Constraint, Severity
from bylaw.values import Json

Setting: TypeAlias = Literal["as-written", "baseline", "block-and-warn", "soft-block"]
SETTINGS: Final[tuple[Setting, ...]] = ("as-written", "baseline", "block-and-warn", "soft-block")

_REPLACED: Final = {
    "baseline": Severity.TOLERATE,
    "block-and-warn": Severity.BLOCK_AND_WARN,
    "soft-block": Severity.SOFT_BLOCK,
}
_STRONGEST_FIRST: Final = tuple(Severity)
UNENFORCED_LAYER: Final = "L6"
"""Its values are computed from earlier results: a refusal would hand them to the model."""


def severity_of(constraint: Constraint, setting: Setting, *, enforce_l6: bool) -> Severity:
    """The severity that acts for a constraint in a setting."""
    if constraint.layer == UNENFORCED_LAYER and not enforce_l6:
        return Severity.TOLERATE
    return _REPLACED.get(setting, constraint.severity)


def strongest(severities: Iterable[Severity]) -> Severity:
    """The one that decides among several."""
    return min(severities, key=_STRONGEST_FIRST.index)


def blocks(severity: Severity) -> bool:
    """Does it keep a call from running?"""
    return severity is not Severity.TOLERATE


class SoftBlockMode(Enum):
    """Which soft blocks count towards the end of the run."""

    SAME_CONSTRAINT = "same constraint"
    """Those of one constraint."""
    IN_A_ROW = "in a row"
    """Those with no call allowed in between."""
    IN_TOTAL = "in total"
    """All of them."""


class Escalation:
    """Counts soft blocks, and says when the run must end."""

    def __init__(self, mode: SoftBlockMode, limit: int) -> None:
        self.mode: Final = mode
        self.limit: Final = limit
        self.of_constraint: Counter[str] = Counter()
        self.in_a_row = 0
        self.in_total = 0

    def block(self, names: Sequence[str]) -> bool:
        """Counts a call that these constraints blocked; must the run end with it?"""
        self.of_constraint.update(names)
        self.in_a_row += 1
        self.in_total += 1
        reached = {
            SoftBlockMode.SAME_CONSTRAINT: max(self.of_constraint[name] for name in names),
            SoftBlockMode.IN_A_ROW: self.in_a_row,
            SoftBlockMode.IN_TOTAL: self.in_total,
        }
        return reached[self.mode] >= self.limit

    def allow(self) -> None:
        """A call was allowed."""
        self.in_a_row = 0

    def save(self) -> Json:
        """The counts as JSON."""
        return {
            "of_constraint": dict(self.of_constraint),
            "in_a_row": self.in_a_row,
            "in_total": self.in_total,
        }

    def restore(self, saved: Json) -> None:
        """Goes back to saved counts."""
        self.of_constraint = Counter(saved["of_constraint"])
        self.in_a_row, self.in_total = saved["in_a_row"], saved["in_total"]
