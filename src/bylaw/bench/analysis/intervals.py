"""95 % bootstrap intervals of means, with a fixed seed.

Runs of one prompt are correlated, whether they are trials or tasks with equal texts. So groups of
values are resampled, a group for each prompt, and not single values.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from bylaw.tables import Interval

DRAWS: Final = 2000


def interval(groups: Sequence[Sequence[float]]) -> Interval:
    """The interval of the mean of all values; groups are resampled with replacement."""
    rng = random.Random(0)
    summed = [(sum(group), len(group)) for group in groups]
    means = sorted(
        sum(total for total, _ in drawn) / sum(size for _, size in drawn)
        for drawn in (rng.choices(summed, k=len(summed)) for _ in range(DRAWS))
    )
    return means[round(0.025 * (DRAWS - 1))], means[round(0.975 * (DRAWS - 1))]
