"""The compliance score: `C = 1 − Σ violated weights / Σ weights`, and its label.

Every score is made here: of finished traces, of runs behind a gate, of corpora and of rollouts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Label: TypeAlias = Literal["FULL", "PARTIAL", "NONE"]


class Score(NamedTuple):
    """A compliance score from 0 to 1 and its label; both None if a constraint is undecided."""

    value: float | None
    label: Label | None


UNDECIDED: Final = Score(None, None)


def score_of(weights: Sequence[float], passed: Sequence[bool | None]) -> Score:
    """The score of constraints with these weights, by which of them passed."""
    if None in passed:
        return UNDECIDED
    lost = [weight for weight, held in zip(weights, passed, strict=True) if not held]
    label = label_of(len(lost), len(weights))
    return Score(value_of(math.fsum(lost), math.fsum(weights), label), label)


def label_of(violated: int, constraints: int) -> Label:
    """The label, by how many constraints are violated: never by a rounded number."""
    if not violated:
        return "FULL"
    return "NONE" if violated == constraints else "PARTIAL"


def value_of(lost: float, total: float, label: Label) -> float:
    """The score, by the weight that was lost of the whole; exactly 0 if all of it was."""
    return 0.0 if label == "NONE" else 1 - lost / total
