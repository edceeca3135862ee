"""The settings of a gate, and the severity that a constraint has in each."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bylaw.procedure.procedure import Constraint, Severity

Setting: TypeAlias = Literal["as-written", "baseline", "block-and-warn", "soft-block"]
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)

Unenforceable: TypeAlias = Literal["error", "score"]
"""A stated severity that cannot be kept: is an error, or the rule is only scored."""
UNENFORCEABLE: Final[tuple[Unenforceable, ...]] = get_args(Unenforceable)

_REPLACED: Final[dict[Setting, Severity]] = {
    "baseline": "TOLERATE",
    "block-and-warn": "BLOCK_AND_WARN",
    "soft-block": "SOFT_BLOCK",
}
TOLERATED_LAYER: Final = "L6"
"""The benchmark computes its values from earlier results: a refusal would reveal them to the model.
Severities as written are enforced whatever the layer."""


def severity_of(constraint: Constraint, setting: Setting) -> Severity:
    """The severity of a constraint in a setting."""
    if setting == "as-written":
        return constraint.effective_severity
    return "TOLERATE" if constraint.layer == TOLERATED_LAYER else _REPLACED[setting]
