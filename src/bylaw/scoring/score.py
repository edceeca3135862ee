"""The compliance score: `C = 1 − Σ violated weights / Σ weights`, and its label.

Every score is made here: of finished traces, of runs behind a gate, of corpora and of rollouts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from bylaw.semantics.verdict import Outcome

Label: TypeAlias = Literal["FULL", "PARTIAL", "NONE"]


class Score(NamedTuple):
    """A compliance score from 0 to 1 and its label; both None if a constraint is undecided."""

    value: float | None
    label: Label | None


UNDECIDED: Final = Score(None, None)


class Scale:
    """The weights of some constraints, ready to score many traces."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights: Final = weights
        self.total: Final = math.fsum(weights)

    def score(self, outcomes: Collection[Outcome]) -> Score:
        """The score of a trace on which the constraints came out so."""
        if Outcome.ERROR in outcomes:
            return UNDECIDED
        violated = Outcome.VIOLATED
        lost = [w for w, each in zip(self.weights, outcomes, strict=True) if each is violated]
        label = label_of(len(lost), len(self.weights))
        return Score(value_of(math.fsum(lost), self.total, label), label)


def label_of(violated: int, constraints: int) -> Label:
    """The label, by how many constraints are violated: never by a rounded number."""
    if not violated:
        return "FULL"
    return "NONE" if violated == constraints else "PARTIAL"


def value_of(lost: float, total: float, label: Label) -> float:
    """The score, by the weight that was lost of the whole; exactly 0 if all of it was."""
    return 0.0 if label == "NONE" else 1 - lost / total
