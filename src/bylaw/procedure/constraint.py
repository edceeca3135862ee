"""A constraint: a rule with its name, weight, layer and severity."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bylaw.errors import Diagnostic, SpecError, not_a_choice
from bylaw.frozen import frozen
from bylaw.logic.formula import Formula
from bylaw.syntax.printer import to_text
from bylaw.trace.trace import Events
from bylaw.values import Json, kind_of

LARGEST_WEIGHT: Final = 1e100
"""Far larger than useful weights, and small enough that sums of weights are finite."""


LAYERS: Final = {
    "L1": "tool branching",
    "L2": "prompt-derived arguments",
    "L3": "sequence ordering",
    "L4": "pair and instance ordering",
    "L5": "call counts",
    "L6": "exact arguments",
}
"""The six layers of the paper. A layer is a label: procedures may use these, others, or none."""

Severity: TypeAlias = Literal["HARD_STOP", "SOFT_BLOCK", "ASK", "BLOCK_AND_WARN", "TOLERATE"]
"""The reaction of a gate to a call that dooms the constraint, strongest first."""
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
DEFAULT_SEVERITY: Final[Severity] = "SOFT_BLOCK"


@frozen
class Constraint:
    """One rule of a procedure."""

    name: str
    formula: Formula
    weight: float = 1.0
    layer: str | None = None
    severity: Severity | None = None
    """The severity that the author states. It is a promise: no guard is made that cannot keep it.
    None stands for the default, as far as the rule can be enforced."""
    why: str | None = None
    """The reason for the rule, for people and for an agent whose call is refused."""
    fix: str | None = None
    """Advice on what to do instead."""
    rule: str = ""
    """The formula as its author wrote it."""
    events: Events | None = None
    """The events that this rule sees; None for the procedure's choice."""

    def __post_init__(self) -> None:
        if reason := weight_problem(self.weight):
            raise SpecError(Diagnostic("E205", reason, where=f"{self.name}.weight"))
        if self.severity is not None and self.severity not in SEVERITIES:
            message, help = not_a_choice("severity", self.severity, SEVERITIES)
            raise SpecError(Diagnostic("E212", message, help, where=f"{self.name}.severity"))
        if not self.rule:
            object.__setattr__(self, "rule", to_text(self.formula))

    @property
    def effective_severity(self) -> Severity:
        """The severity that is stated, or the default."""
        return self.severity or DEFAULT_SEVERITY

    def to_dict(self) -> dict[str, Json]:
        """The constraint as a procedure file writes it, without absent fields."""
        optional = {
            "severity": self.severity,
            "events": self.events,
            "layer": self.layer,
            "why": self.why,
            "fix": self.fix,
        }
        return {"name": self.name, "rule": self.rule, "weight": self.weight} | {
            key: value for key, value in optional.items() if value is not None
        }


def weight_problem(weight: object) -> str | None:
    """The reason why this is not a weight, or None if it is one."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return f"a weight is a number, not {kind_of(weight)}"
    if not 0 < weight <= LARGEST_WEIGHT:
        return f"a weight is above 0 and at most {LARGEST_WEIGHT:g}"
    return None
