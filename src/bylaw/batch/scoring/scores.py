"""The outcomes and scores of many traces, as arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.score import Label
from bylaw.semantics.verdict import Outcome

OUTCOMES: Final = (Outcome.VIOLATED, Outcome.VACUOUS, Outcome.SATISFIED, Outcome.ERROR)
"""The outcomes in the order of their codes."""
CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
VIOLATED, VACUOUS, SATISFIED, ERROR = range(4)
LABELS: Final[tuple[Label | None, ...]] = ("NONE", "PARTIAL", "FULL", None)
"""The labels in the order of their codes; None is for a trace without a score."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that is not a trace."""

    name: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class Scores:
    """The outcomes of some traces, a row each, in the order of the records."""

    names: list[str]
    """For example `runs.jsonl:17`."""
    calls: NDArray[np.int64]
    """The number of calls of each trace."""
    outcomes: NDArray[np.int8]
    """An index into OUTCOMES, for each trace and constraint."""
    unusable: list[Unusable] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    """The number of notes of each code on the records."""
    alone: Counter[str] = field(default_factory=Counter)
    """For each constraint without a reading in columns, the number of traces judged one by one."""

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def together(cls, several: Sequence[Scores]) -> Scores:
        """The rows of several, one after the other."""
        return cls(
            [name for each in several for name in each.names],
            np.concatenate([each.calls for each in several]),
            np.concatenate([each.outcomes for each in several]),
            [record for each in several for record in each.unusable],
            sum((each.notes for each in several), Counter()),
            sum((each.alone for each in several), Counter()),
        )

    def sorted(self) -> Scores:
        """The rows in the order of their lines; all must be of one file."""
        order = sorted(range(len(self)), key=lambda row: int(self.names[row].rpartition(":")[2]))
        return self._rows(order)

    def among(self, names: Set[str]) -> Scores:
        """The rows of some traces."""
        return self._rows([row for row, name in enumerate(self.names) if name in names])

    def _rows(self, rows: list[int]) -> Scores:
        return replace(
            self,
            names=[self.names[row] for row in rows],
            calls=self.calls[rows],
            outcomes=self.outcomes[rows],
        )

    def values(self, procedure: Procedure) -> NDArray[np.float64]:
        """The score of each trace; NaN if it has none."""
        weights = [constraint.weight for constraint in procedure.constraints]
        violated, error = self.outcomes == VIOLATED, self.outcomes == ERROR
        scores = 1 - _lost(violated, weights) / math.fsum(weights)
        scores[violated.all(axis=1)] = 0.0
        scores[error.any(axis=1)] = math.nan
        return scores

    def labels(self) -> NDArray[np.int8]:
        """The label of each trace, as an index into LABELS."""
        violated = (self.outcomes == VIOLATED).sum(axis=1)
        found = np.ones(len(self), dtype=np.int8)
        found[violated == 0] = LABELS.index("FULL")
        found[violated == self.outcomes.shape[1]] = LABELS.index("NONE")
        found[(self.outcomes == ERROR).any(axis=1)] = LABELS.index(None)
        return found


FINENESS: Final = 1 << 20
"""Weights that are whole multiples of its inverse, as most are, can be added in any order."""


def _lost(violated: NDArray[np.bool_], weights: Sequence[float]) -> NDArray[np.float64]:
    """The violated weights of each row, summed as `math.fsum` sums them, to the last bit."""
    whole = [weight * FINENESS for weight in weights]
    if all(weight.is_integer() for weight in whole) and math.fsum(whole) < 2**53:
        sums: NDArray[np.float64] = violated @ np.array(weights)
        return sums  # which are exact, in whatever order they were added
    of_each = np.array(weights)
    return np.fromiter((math.fsum(of_each[row]) for row in violated), np.float64, len(violated))
