"""Two procedures on one corpus: the traces that they judge differently, and the rules at fault."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.batch.corpus import CorpusEngine, CorpusProgress, LocalEngine, add_scores, core_count
from bylaw.batch.input.chunks import Cursor, Limits
from bylaw.batch.input.files import CorpusFile, group_files
from bylaw.batch.output.summary import Summary
from bylaw.batch.scoring.scorer import PASSED, VERDICTS, Scores
from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure
from bylaw.values import Json

MOST: Final = 20
"""The number of traces that are kept, of those whose scores changed most."""

_VIOLATED, _HOLDS, _UNDECIDED = range(len(PASSED))


@dataclass(frozen=True, slots=True)
class TraceChange:
    """A trace that the two procedures judge differently."""

    name: str
    old: float | None
    new: float | None
    """The scores."""
    violated: tuple[str, ...]
    """The rules that only the new procedure finds violated."""
    mended: tuple[str, ...]
    """The rules that only the old procedure finds violated."""
    undecided: tuple[str, ...]
    """The rules that only one of the procedures can decide."""

    @property
    def by(self) -> float:
        """The difference of the scores; 0 if one is missing."""
        return 0.0 if self.new is None or self.old is None else self.new - self.old

    def to_dict(self) -> dict[str, Json]:
        """The change as JSON."""
        return {
            "trace": self.name,
            "old": self.old,
            "new": self.new,
            "violated": list(self.violated),
            "mended": list(self.mended),
            "undecided": list(self.undecided),
        }


@dataclass(slots=True)
class CorpusComparison:
    """The effect of an edit to the rules."""

    old: Summary
    new: Summary
    rules: tuple[str, ...] = ()
    """The rules of both procedures."""
    changed: int = 0
    better: int = 0
    worse: int = 0
    violated: list[int] = field(default_factory=list)
    """For each rule, the number of traces that newly violate it."""
    mended: list[int] = field(default_factory=list)
    """For each rule, the number of traces that no longer violate it."""
    most: list[TraceChange] = field(default_factory=list)
    """The traces whose scores changed most."""

    def __post_init__(self) -> None:
        both = (self.old.procedure, self.new.procedure)
        names = [constraint.name for each in both for constraint in each.constraints]
        self.rules = tuple(dict.fromkeys(names))
        self.violated, self.mended = ([0] * len(self.rules) for _ in range(2))

    def add(self, old: Scores, new: Scores, cursor: Cursor) -> list[Diagnostic]:
        """Adds a chunk; returns the errors in its records that are kept."""
        add_scores(self.old, old, cursor)
        return add_scores(self.new, new, cursor)

    @staticmethod
    def paired(old: Scores, new: Scores) -> tuple[Scores, Scores]:
        """The rows of the traces that both procedures could use."""
        if old.names == new.names:
            return old, new
        return old.among(set(new.names)), new.among(set(old.names))

    def changes(self, old: Scores, new: Scores) -> Iterator[TraceChange]:
        """Counts the traces of a chunk that changed, and yields them."""
        before = _verdicts(self.rules, old, self.old.procedure)
        after = _verdicts(self.rules, new, self.new.procedure)
        scores = (old.values, new.values)
        same = np.isclose(*scores, rtol=0, atol=1e-12, equal_nan=True)
        rows = np.flatnonzero((before != after).any(axis=1) | ~same)
        for row in rows:
            change = self._change(
                old.names[row], before[row], after[row], *(s[row] for s in scores)
            )
            self._count(change)
            yield change

    def _change(
        self, name: str, before: NDArray[np.uint8], after: NDArray[np.uint8], old: float, new: float
    ) -> TraceChange:
        moved = before != after

        def named(where: NDArray[np.bool_]) -> tuple[str, ...]:
            return tuple(self.rules[number] for number in np.flatnonzero(moved & where))

        return TraceChange(
            name,
            None if math.isnan(old) else float(old),
            None if math.isnan(new) else float(new),
            named(after == _VIOLATED),
            named((before == _VIOLATED) & (after == _HOLDS)),
            named((before == _UNDECIDED) | (after == _UNDECIDED)),
        )

    def _count(self, change: TraceChange) -> None:
        self.changed += 1
        self.better += change.by > 0
        self.worse += change.by < 0
        for counts, names in ((self.violated, change.violated), (self.mended, change.mended)):
            for name in names:
                counts[self.rules.index(name)] += 1
        if len(self.most) < MOST or abs(change.by) > abs(self.most[-1].by):
            # The selection is stable: of equals, the first in the corpus are kept.
            self.most = heapq.nsmallest(MOST, [*self.most, change], key=lambda c: -abs(c.by))

    def to_dict(self) -> dict[str, Json]:
        """The summary as JSON."""
        rows = zip(self.rules, self.violated, self.mended, strict=True)
        return {
            "traces": self.new.traces,
            "changed": self.changed,
            "better": self.better,
            "worse": self.worse,
            "mean_old": self.old.mean,
            "mean_new": self.new.mean,
            "constraints": [
                {"name": name, "violated": violated, "mended": mended}
                for name, violated, mended in rows
            ],
            "unusable": dict(self.new.unusable),
        }


def _verdicts(rules: Sequence[str], scores: Scores, procedure: Procedure) -> NDArray[np.uint8]:
    """The verdict of each rule on each trace, as an index into PASSED.

    A rule that the procedure does not have counts as one that holds.
    """
    found = np.full((len(scores), len(rules)), _HOLDS, dtype=np.uint8)
    columns = [rules.index(constraint.name) for constraint in procedure.constraints]
    found[:, columns] = VERDICTS[scores.outcomes]
    return found


def compare_on_corpus(
    old: Procedure,
    new: Procedure,
    corpus: Sequence[CorpusFile],
    *,
    engine: CorpusEngine | None = None,
    limits: Limits | None = None,
    changed: Callable[[TraceChange], None] = lambda change: None,
    watch: Callable[[CorpusProgress], None] = lambda progress: None,
) -> CorpusComparison:
    """Scores every trace under both procedures. `changed` is called, in order, for each trace that
    they judge differently. Rules across runs are left out: they judge no single trace.
    """
    old, new = old.of_one_run(), new.of_one_run()
    engine, limits = engine or LocalEngine(core_count()), limits or Limits()
    comparison = CorpusComparison(Summary(old), Summary(new))
    for chunk in engine(group_files(corpus, limits.chunk), Cursor(), [old, new], limits):
        before, after = chunk.scores
        problems = comparison.add(before, after, chunk.start)
        for change in comparison.changes(*comparison.paired(before, after)):
            changed(change)
        watch(CorpusProgress(len(after), chunk.size, problems))
    return comparison
