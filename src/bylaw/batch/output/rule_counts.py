"""The outcomes of one rule over many traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bylaw.procedure.procedure import Constraint
from bylaw.values import Json


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """The number of traces with each outcome of a rule, in the order of OUTCOMES."""

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
        """The number of traces."""
        return self.violated + self.vacuous + self.satisfied + self.undecided

    @property
    def passed(self) -> int:
        """The number of traces in which the rule holds, vacuously or not."""
        return self.vacuous + self.satisfied

    @property
    def rate(self) -> float | None:
        """The share of traces that pass, of those in which the rule could be decided."""
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
    """The share of passes among the verdicts on some rules that could be decided."""
    decided = sum(rule.passed + rule.violated for rule in rules)
    return sum(rule.passed for rule in rules) / decided if decided else None


def layer_rates(rules: Sequence[RuleCounts]) -> dict[str, float | None]:
    """The pass rate of each layer that the rules are in."""
    members: dict[str, list[RuleCounts]] = {}
    for rule in rules:
        if rule.constraint.layer is not None:
            members.setdefault(rule.constraint.layer, []).append(rule)
    return {layer: pass_rate(found) for layer, found in sorted(members.items())}
