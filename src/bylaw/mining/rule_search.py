"""A search for the set of rules that explains most of the labels for the least effort."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.bounds import label_gain
from bylaw.mining.labels import RunLabels

_MOST_RULES: Final = 24
_ROUNDS: Final = 4
"""The number of passes through the rules for exchanges, and of attempts to do without some."""


class RuleSearch:
    """Rules by number: the runs that break each, and the effort of reading it."""

    def __init__(
        self,
        table: NDArray[np.bool_],
        costs: NDArray[np.float64],
        labels: RunLabels,
        threshold: float,
    ) -> None:
        self._bad: Final = table[:, ~labels.good].astype(np.float32)
        self._good: Final = table[:, labels.good].astype(np.float32)
        self._costs: Final = costs
        self._threshold: Final = threshold

    def chosen(self) -> list[int]:
        """The best set that was found, without rules that add too little to the others."""
        chosen = self._grown([])
        for _ in range(_ROUNDS):
            better = self._shaken(chosen)
            if better is None:
                break
            chosen = better
        # Only now: a rule that explains few of many bad runs says much once the others are known.
        return self._needed(chosen)

    def _grown(self, chosen: list[int], without: Sequence[int] = ()) -> list[int]:
        """Rules are added one after another; after each, every one may be exchanged."""
        while len(chosen) < _MOST_RULES:
            added = self._values(chosen) - self._value(chosen)
            added[[*chosen, *without]] = -np.inf
            best = int(np.argmax(added))
            if added[best] <= 0:
                break
            chosen = self._exchanged([*chosen, best], without)
        return chosen

    def _exchanged(self, chosen: list[int], without: Sequence[int] = ()) -> list[int]:
        """The rules, each exchanged for a better one as long as there is one."""
        for _ in range(_ROUNDS):
            before = list(chosen)
            for place in range(len(chosen)):
                others = chosen[:place] + chosen[place + 1 :]
                values = self._values(others)
                values[[*others, *without]] = -np.inf
                best = int(np.argmax(values))
                if values[best] > values[chosen[place]] + 1e-9:
                    chosen[place] = best
            if chosen == before:
                break
        return chosen

    def _shaken(self, chosen: list[int]) -> list[int] | None:
        """A better set without one or two of the rules, if there is one."""
        value = self._value(chosen)
        for size in (1, 2):
            for without in combinations(chosen, size):
                others = [each for each in chosen if each not in without]
                found = self._exchanged(self._grown(others, without))
                if self._value(found) > value + 1e-9:
                    return found
        return None

    def _needed(self, chosen: list[int]) -> list[int]:
        """Without rules that add too little to the others, the one that adds least first."""
        while chosen:
            others = [[each for each in chosen if each != number] for number in chosen]
            added = [self._value(chosen) - self._value(rest) for rest in others]
            least = int(np.argmin(added))
            if added[least] >= self._threshold:
                break
            chosen = self._exchanged(others[least])
        return chosen

    def _values(self, others: Sequence[int]) -> NDArray[np.float64]:
        """For each rule, the value of the set with it and the others."""
        bad, good = self._union(others)
        in_bad = bad.sum() + self._bad @ (1 - bad)
        in_good = good.sum() + self._good @ (1 - good)
        gains = self._gain(in_bad, in_good)
        return gains - self._costs - float(self._costs[list(others)].sum())

    def _value(self, chosen: Sequence[int]) -> float:
        bad, good = self._union(chosen)
        gain = self._gain(np.array([bad.sum()]), np.array([good.sum()]))
        return float(gain[0]) - float(self._costs[list(chosen)].sum())

    def _gain(
        self, in_bad: NDArray[np.float32], in_good: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        counts = in_bad.astype(np.int64), in_good.astype(np.int64)
        return label_gain(*counts, self._bad.shape[1], self._good.shape[1])

    def _union(self, chosen: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The bad and the good runs that break some rule, as ones."""
        rows = list(chosen)
        if not rows:
            empty = np.zeros(self._bad.shape[1], np.float32)
            return empty, np.zeros(self._good.shape[1], np.float32)
        return self._bad[rows].max(axis=0), self._good[rows].max(axis=0)
