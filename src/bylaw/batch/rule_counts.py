"""How a rule did on a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bylaw.procedure.constraint import Constraint
from bylaw.values import Json


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """How often a rule had each outcome. The counts are in the order of OUTCOMES."""

    constraint: Constraint
    violated: int
    vacuous: int
    satisfied: int
    undecided: int

    @property
    def name(self) -> str:
        """The constraint's name."""
        return self.constraint.name

    @property
    def traces(self) -> int:
        """How many traces there are."""
        return self.violated + self.vacuous + self.satisfied + self.undecided

    @property
    def passed(self) -> int:
        """In how many traces it holds, be it only because there was nothing to check."""
        return self.vacuous + self.satisfied

    @property
    def rate(self) -> float | None:
        """The share of traces that pass it, of those in which it could be decided."""
        return pass_rate([self])

    @property
    def vacuous_share(self) -> float | None:
        """The share of traces in which there was nothing to check."""
        return self.vacuous / self.traces if self.traces else None

    def to_dict(self) -> dict[str, Json]:
        """The counts as JSON."""
        return {
            "name": self.name,
            "layer": self.constraint.layer,
            "weight": self.constraint.weight,
            "rate": self.rate,
            "violated": self.violated,
            "vacuous": self.vacuous,
            "satisfied": self.satisfied,
            "undecided": self.undecided,
        }


def pass_rate(rules: Sequence[RuleCounts]) -> float | None:
    """The share of verdicts on some rules that are passes, of those that were decided."""
    decided = sum(rule.passed + rule.violated for rule in rules)
    return sum(rule.passed for rule in rules) / decided if decided else None
