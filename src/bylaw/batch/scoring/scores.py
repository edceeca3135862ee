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
from bylaw.scoring.score import Label, score_of
from bylaw.semantics.verdict import Outcome

OUTCOMES: Final = (Outcome.VIOLATED, Outcome.VACUOUS, Outcome.SATISFIED, Outcome.ERROR)
"""The outcomes in the order of their codes."""
CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
VIOLATED, VACUOUS, SATISFIED, ERROR = range(4)
PASSED: Final = (False, True, None)
"""The verdicts in the order of their codes: violated, passed, undecided."""
VERDICTS: Final = np.array([PASSED.index(each.passed) for each in OUTCOMES], dtype=np.uint8)
"""The verdict of each outcome."""
LABELS: Final[tuple[Label | None, ...]] = ("NONE", "PARTIAL", "FULL", None)
"""The labels in the order of their codes; None is for a trace without a score."""
MAX_KNOWN: Final = 1 << 16
"""The largest number of rows whose scores are kept."""


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
    values: NDArray[np.float64]
    """The score of each trace; NaN if it has none."""
    labels: NDArray[np.int8]
    """An index into LABELS, for each trace."""
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
            np.concatenate([each.values for each in several]),
            np.concatenate([each.labels for each in several]),
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
            values=self.values[rows],
            labels=self.labels[rows],
        )


class RowScores:
    """Scores of rows of outcomes under a procedure. Rows with equal verdicts are scored once."""

    def __init__(self, procedure: Procedure) -> None:
        self._weights: Final = [constraint.weight for constraint in procedure.constraints]
        self._known: Final[dict[bytes, tuple[float, int]]] = {}

    def of(self, outcomes: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """The value of each row, NaN if it has none, and its label as an index into LABELS."""
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        verdicts, width = VERDICTS[outcomes].tobytes(), outcomes.shape[1]
        scores = [
            self._score(verdicts[start : start + width]) for start in range(0, len(verdicts), width)
        ]
        values, labels = zip(*scores, strict=True) if scores else ((), ())
        return np.array(values, dtype=np.float64), np.array(labels, dtype=np.int8)

    def _score(self, verdicts: bytes) -> tuple[float, int]:
        found = self._known.get(verdicts)
        if found is None:
            value, label = score_of(self._weights, [PASSED[code] for code in verdicts])
            found = math.nan if value is None else value, LABELS.index(label)
            self._known[verdicts] = found
        return found
