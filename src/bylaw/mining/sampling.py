"""A sample of runs: all of them while they are few, else as many as memory and time allow."""

from __future__ import annotations

import random
from typing import Final

from bylaw.trace.trace import Trace

_SEED: Final = 7


class RunSample:
    """Good and bad runs of at most so many calls, each chosen with the same probability.

    When there are too many calls, every other run is dropped, and from then on every other run is
    taken; and so on. The same runs in the same order give the same sample.
    """

    def __init__(self, max_calls: int) -> None:
        self._max_calls: Final = max_calls
        self._kept: dict[bool, list[Trace]] = {True: [], False: []}
        self._calls = 0
        self._share = 1.0
        self._choose: Final = random.Random(_SEED)
        self.seen = 0
        """The number of runs that were offered."""

    def add(self, trace: Trace, *, good: bool) -> None:
        """Offers a run."""
        self.seen += 1
        if self._share < 1 and self._choose.random() >= self._share:
            return
        self._kept[good].append(trace)
        self._calls += len(trace.calls)
        while self._calls > self._max_calls and self.size > 2:
            self._share /= 2
            for kept in self._kept.values():
                kept[:] = [each for each in kept if self._choose.random() < 0.5]
            self._calls = sum(len(each.calls) for kept in self._kept.values() for each in kept)

    @property
    def size(self) -> int:
        """The number of runs in the sample."""
        return sum(map(len, self._kept.values()))

    def runs(self, *, good: bool) -> list[Trace]:
        """The good or the bad runs of the sample."""
        return self._kept[good]
