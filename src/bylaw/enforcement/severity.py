"""The settings of a gate, and the severity that a constraint has in each."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bylaw.procedure.constraint import Constraint, Severity

Setting: TypeAlias = Literal["as-written", "baseline", "block-and-warn", "soft-block"]
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)

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
