"""The level of a violation, in the words that SARIF and GitHub share, from the rule's severity."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from bylaw.procedure.procedure import Severity

Level: TypeAlias = Literal["error", "warning", "note"]
LEVELS: Final[dict[Severity, Level]] = {
    "HARD_STOP": "error",
    "SOFT_BLOCK": "error",
    "ASK": "error",
    "BLOCK_AND_WARN": "warning",
    "TOLERATE": "note",
}
