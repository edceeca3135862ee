"""How well two yes-or-no verdicts agree. What is undefined is None, never zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often each pair of verdicts occurs; the first of a pair is the one that is assessed."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """The counts of some pairs."""
        found = Counter(pairs)
        kinds = ((True, True), (True, False), (False, True), (False, False))
        return cls(*(found[kind] for kind in kinds))

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def agreement(self) -> float | None:
        """The share of pairs that agree."""
        return _ratio(self.both + self.neither, self.total)

    @property
    def precision(self) -> float | None:
        """Of those that the first says yes to, the share that the second does, too."""
        return _ratio(self.both, self.both + self.only_first)

    @property
    def recall(self) -> float | None:
        """Of those that the second says yes to, the share that the first does, too."""
        return _ratio(self.both, self.both + self.only_second)

    @property
    def kappa(self) -> float | None:
        """Cohen's κ: agreement beyond what chance gives; None where chance gives all of it."""
        if not self.total:
            return None
        first = (self.both + self.only_first) / self.total
        second = (self.both + self.only_second) / self.total
        by_chance = first * second + (1 - first) * (1 - second)
        observed = (self.both + self.neither) / self.total
        return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
