"""Severities in force: the settings that replace them, and the escalation of soft blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, get_args

from bylaw.procedure.constraint import SEVERITIES, Constraint, Severity
from bylaw.values import Json

Setting: TypeAlias = Literal["as-written", "baseline", "block-and-warn", "soft-block"]
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)
SoftBlockMode: TypeAlias = Literal["same-constraint", "in-a-row", "in-total"]
"""Which soft blocks count towards the end of the run: those of one constraint, those with no call
allowed in between, or all of them."""
SOFT_BLOCK_MODES: Final[tuple[SoftBlockMode, ...]] = get_args(SoftBlockMode)

_REPLACED: Final[dict[Setting, Severity]] = {
    "baseline": "TOLERATE",
    "block-and-warn": "BLOCK_AND_WARN",
    "soft-block": "SOFT_BLOCK",
}
UNENFORCED_LAYER: Final = "L6"
"""Its values are computed from earlier results: a refusal would reveal them to the model."""


def severity_of(constraint: Constraint, setting: Setting, *, enforce_l6: bool) -> Severity:
    """The severity of a constraint in a setting."""
    if constraint.layer == UNENFORCED_LAYER and not enforce_l6:
        return "TOLERATE"
    return _REPLACED.get(setting, constraint.severity)


def strongest(severities: Iterable[Severity]) -> Severity:
    """The strongest of several severities: the one that decides."""
    return min(severities, key=SEVERITIES.index)


def blocks(severity: Severity) -> bool:
    """Does the severity keep a call from running?"""
    return severity != "TOLERATE"


class Escalation:
    """Counts soft blocks and decides when the run must end."""

    def __init__(self, mode: SoftBlockMode, limit: int) -> None:
        self.mode: Final = mode
        self.limit: Final = limit
        self.of_constraint: Counter[str] = Counter()
        self.in_a_row = 0
        self.in_total = 0

    def block(self, names: Sequence[str]) -> bool:
        """Counts a call that these constraints blocked. True if the run must end."""
        self.of_constraint.update(names)
        self.in_a_row += 1
        self.in_total += 1
        reached: dict[SoftBlockMode, int] = {
            "same-constraint": max(self.of_constraint[name] for name in names),
            "in-a-row": self.in_a_row,
            "in-total": self.in_total,
        }
        return reached[self.mode] >= self.limit

    def allow(self) -> None:
        """Counts an allowed call: it ends a row of soft blocks."""
        self.in_a_row = 0

    def save(self) -> Json:
        """The counts as JSON."""
        return {
            "of_constraint": dict(self.of_constraint),
            "in_a_row": self.in_a_row,
            "in_total": self.in_total,
        }

    def restore(self, saved: Json) -> None:
        """Resumes saved counts."""
        self.of_constraint = Counter(saved["of_constraint"])
        self.in_a_row, self.in_total = saved["in_a_row"], saved["in_total"]
