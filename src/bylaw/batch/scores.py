"""A procedure on many traces, column by column: what travels between processes and into files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure
from bylaw.scoring.verify import Label
from bylaw.semantics.verdict import Outcome

OUTCOMES: Final = (Outcome.VIOLATED, Outcome.VACUOUS, Outcome.SATISFIED, Outcome.ERROR)
"""The outcomes in the order of their codes."""
CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
VIOLATED, VACUOUS, SATISFIED, ERROR = range(4)
LABELS: Final[tuple[Label | None, ...]] = ("NONE", "PARTIAL", "FULL", None)
"""The labels in the order of their codes; the last is that of a trace without a score."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that is no trace."""

    name: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class Scores:
    """The outcomes of some traces, a row each, in the order of the records."""

    names: list[str]
    """`runs.jsonl:17`, as everywhere."""
    calls: NDArray[np.int64]
    """How many calls each trace has."""
    outcomes: NDArray[np.int8]
    """An index into OUTCOMES, for each trace and constraint."""
    unusable: list[Unusable] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    """How often each kind of oddity was noted while reading."""
    alone: Counter[str] = field(default_factory=Counter)
    """For each constraint, how many traces had to be judged one by one."""

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def together(cls, parts: Sequence[Scores]) -> Scores:
        """The rows of several, one after the other."""
        return cls(
            [name for part in parts for name in part.names],
            np.concatenate([part.calls for part in parts]),
            np.concatenate([part.outcomes for part in parts]),
            [each for part in parts for each in part.unusable],
            sum((part.notes for part in parts), Counter()),
            sum((part.alone for part in parts), Counter()),
        )

    def sorted(self) -> Scores:
        """The rows in the order of their lines, where all are of one file."""
        order = sorted(range(len(self)), key=lambda row: int(self.names[row].rpartition(":")[2]))
        return replace(
            self,
            names=[self.names[row] for row in order],
            calls=self.calls[order],
            outcomes=self.outcomes[order],
        )

    def values(self, procedure: Procedure) -> NDArray[np.float64]:
        """The score of each trace; NaN where there is none."""
        rows, inverse = self._distinct()
        weights = [constraint.weight for constraint in procedure.constraints]
        total = math.fsum(weights)
        found = [_score(row, weights, total) for row in rows]
        return np.array(found, dtype=np.float64)[inverse]

    def labels(self) -> NDArray[np.int8]:
        """The label of each trace, as an index into LABELS."""
        violated = (self.outcomes == VIOLATED).sum(axis=1)
        found = np.ones(len(self), dtype=np.int8)
        found[violated == 0] = LABELS.index("FULL")
        found[violated == self.outcomes.shape[1]] = LABELS.index("NONE")
        found[(self.outcomes == ERROR).any(axis=1)] = LABELS.index(None)
        return found

    def _distinct(self) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
        """The rows that differ, and which of them each trace has: there are few of them."""
        whole = np.ascontiguousarray(self.outcomes).view(f"V{self.outcomes.shape[1]}").ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        return self.outcomes[first], inverse.ravel()


def _score(row: Iterable[int], weights: Sequence[float], total: float) -> float:
    """The score, summed as `Report.score` sums it, so that the two are equal to the last bit."""
    codes = list(row)
    if ERROR in codes:
        return math.nan
    lost = [weight for code, weight in zip(codes, weights, strict=True) if code == VIOLATED]
    return 0.0 if len(lost) == len(weights) else 1 - math.fsum(lost) / total
