"""The compliance score: `C = 1 − Σ violated weights / Σ weights`, and its label.

Every score is computed here, for finished traces, gated runs, corpora and rollouts alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Label: TypeAlias = Literal["FULL", "PARTIAL", "NONE"]


class Score(NamedTuple):
    """A compliance score from 0 to 1 and its label; both None if a constraint is undecided."""

    value: float | None
    label: Label | None


UNDECIDED: Final = Score(None, None)


def score_of(weights: Sequence[float], passed: Iterable[bool | None]) -> Score:
    """The score of constraints with these weights; `passed` is None for an undecided one."""
    lost = []
    for weight, held in zip(weights, passed, strict=True):
        if not held:
            if held is None:
                return UNDECIDED
            lost.append(weight)
    label = label_of(len(lost), len(weights))
    return Score(value_of(math.fsum(lost), math.fsum(weights), label), label)


def label_of(violated: int, constraints: int) -> Label:
    """The label. It depends on the number of violated constraints, never on a rounded score."""
    if not violated:
        return "FULL"
    return "NONE" if violated == constraints else "PARTIAL"


def value_of(lost: float, total: float, label: Label) -> float:
    """The score, from the violated and the total weight; exactly 0 if everything is violated."""
    return 0.0 if label == "NONE" else 1 - lost / total
