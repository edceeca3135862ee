"""Two procedures on one corpus: which traces are judged differently, and by which rules."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.batch.corpus import Step, all_cores
from bylaw.batch.pieces import Limits, Place
from bylaw.batch.pipeline import Engine, Local
from bylaw.batch.scores import ERROR, VIOLATED, Scores
from bylaw.batch.sources import Source, groups
from bylaw.batch.summary import Summary
from bylaw.errors import Diagnostic
from bylaw.procedure.procedure import Procedure
from bylaw.values import Json

MOST: Final = 20
"""How many of the traces that changed most are kept."""

_HOLDS, _BROKEN, _UNDECIDED = range(3)
"""What a rule says of a trace. One that a procedure does not have is as good as one that holds."""


@dataclass(frozen=True, slots=True)
class Change:
    """A trace that the two procedures judge differently."""

    name: str
    old: float | None
    new: float | None
    """The scores."""
    violated: tuple[str, ...]
    """The rules that it violates now."""
    mended: tuple[str, ...]
    """The rules that it violates no longer."""
    undecided: tuple[str, ...]
    """The rules that can be decided only now, or no longer."""

    @property
    def by(self) -> float:
        """By how much the score changed; not at all where one is missing."""
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
class Comparison:
    """What an edit to the rules changes."""

    old: Summary
    new: Summary
    rules: tuple[str, ...] = ()
    """All of both procedures."""
    changed: int = 0
    better: int = 0
    worse: int = 0
    violated: list[int] = field(default_factory=list)
    """For each rule, how many traces violate it now that did not."""
    mended: list[int] = field(default_factory=list)
    most: list[Change] = field(default_factory=list)
    """The traces whose scores changed most."""

    def __post_init__(self) -> None:
        both = (self.old.procedure, self.new.procedure)
        names = [constraint.name for each in both for constraint in each.constraints]
        self.rules = tuple(dict.fromkeys(names))
        self.violated, self.mended = ([0] * len(self.rules) for _ in range(2))

    def add(self, old: Scores, new: Scores, place: Place) -> list[Diagnostic]:
        """Counts a piece in; gives what is wrong with its records, as far as that is kept."""
        self.old.add(old, place)
        return self.new.add(new, place)

    @staticmethod
    def paired(old: Scores, new: Scores) -> tuple[Scores, Scores]:
        """The rows of those traces that both could use."""
        if old.names == new.names:
            return old, new
        return old.among(set(new.names)), new.among(set(old.names))

    def changes(self, old: Scores, new: Scores) -> Iterator[Change]:
        """The traces of a piece that changed; they are counted, too."""
        before = _says(self.rules, old, self.old.procedure)
        after = _says(self.rules, new, self.new.procedure)
        scores = (old.values(self.old.procedure), new.values(self.new.procedure))
        same = np.isclose(*scores, rtol=0, atol=1e-12, equal_nan=True)
        rows = np.flatnonzero((before != after).any(axis=1) | ~same)
        for row in rows:
            change = self._change(
                old.names[row], before[row], after[row], *(s[row] for s in scores)
            )
            self._count(change)
            yield change

    def _change(
        self, name: str, before: NDArray[np.int8], after: NDArray[np.int8], old: float, new: float
    ) -> Change:
        moved = before != after

        def named(where: NDArray[np.bool_]) -> tuple[str, ...]:
            return tuple(self.rules[number] for number in np.flatnonzero(moved & where))

        return Change(
            name,
            None if math.isnan(old) else float(old),
            None if math.isnan(new) else float(new),
            named(after == _BROKEN),
            named((before == _BROKEN) & (after == _HOLDS)),
            named((before == _UNDECIDED) | (after == _UNDECIDED)),
        )

    def _count(self, change: Change) -> None:
        self.changed += 1
        self.better += change.by > 0
        self.worse += change.by < 0
        for counts, names in ((self.violated, change.violated), (self.mended, change.mended)):
            for name in names:
                counts[self.rules.index(name)] += 1
        if len(self.most) < MOST or abs(change.by) > abs(self.most[-1].by):
            # Sorting is stable, so of equals those that came first are kept.
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


def _says(rules: Sequence[str], scores: Scores, procedure: Procedure) -> NDArray[np.int8]:
    """What each rule says of each trace."""
    found = np.full((len(scores), len(rules)), _HOLDS, dtype=np.int8)
    for number, constraint in enumerate(procedure.constraints):
        column = found[:, rules.index(constraint.name)]
        column[scores.outcomes[:, number] == VIOLATED] = _BROKEN
        column[scores.outcomes[:, number] == ERROR] = _UNDECIDED
    return found


def compare_on_corpus(
    old: Procedure,
    new: Procedure,
    corpus: Sequence[Source],
    *,
    engine: Engine | None = None,
    limits: Limits | None = None,
    changed: Callable[[Change], None] = lambda change: None,
    watch: Callable[[Step], None] = lambda step: None,
) -> Comparison:
    """Scores every trace under both procedures. `changed` is told of each that is judged
    differently, in order.
    """
    engine, limits = engine or Local(all_cores()), limits or Limits()
    comparison = Comparison(Summary(old), Summary(new))
    for result in engine(groups(corpus, limits.piece), Place(), [old, new], limits):
        before, after = result.scores
        problems = comparison.add(before, after, result.place)
        for change in comparison.changes(*comparison.paired(before, after)):
            changed(change)
        watch(Step(len(after), result.size, problems))
    return comparison
