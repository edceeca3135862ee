"""The good runs, and the number of them that may break a rule all the same."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from bylaw.mining.candidate import RunMask


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The good runs, and the share of them that may break a rule."""

    good: RunMask
    tolerance: float

    def tolerated(self, active: RunMask) -> int:
        """The number of good runs that may break a rule which concerns these runs.

        Without bad runs, it is a share of those that the rule concerns. With bad runs, labels may
        be wrong, so that it is a share of all; bad runs then show whether the rule tells anything.
        """
        if self.has_bad:
            wrong = self.tolerance * len(self.good) / 2
            return int(wrong + 2 * sqrt(wrong))
        return int(self.tolerance * int(np.count_nonzero(active & self.good)) + 0.5)

    @property
    def has_bad(self) -> bool:
        """Are there runs that are not good?"""
        return not bool(self.good.all())

    def acceptable(self, violated: RunMask, active: RunMask) -> bool:
        """Do few enough good runs break it?"""
        return int(np.count_nonzero(violated & self.good)) <= self.tolerated(active)
