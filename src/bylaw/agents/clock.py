"""Measures a training run: generation speed, and the share of time in Bylaw's own code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bylaw.values import Json


@dataclass(slots=True)
class Clock:
    """Counts seconds and tokens, from its creation on."""

    started: float = field(default_factory=time.perf_counter)
    rollouts: float = 0.0
    """Seconds spent on rollouts, including Bylaw's own code in between."""
    own: float = 0.0
    """Seconds in Bylaw's own code: tools, gate, reward, bookkeeping."""
    tokens: int = 0
    """Generated tokens."""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def share(self) -> float:
        """The share of the total time spent in Bylaw's own code."""
        return self.own / self.seconds

    @property
    def tokens_per_second(self) -> float | None:
        """Generated tokens per second, over all conversations; None if there were none."""
        return self.tokens / self.rollouts if self.rollouts else None

    @contextmanager
    def making_rollouts(self) -> Iterator[None]:
        """Measures the time of rollouts."""
        since = time.perf_counter()
        try:
            yield
        finally:
            self.rollouts += time.perf_counter() - since

    @contextmanager
    def in_own_code(self) -> Iterator[None]:
        """Measures Bylaw's own code, which must not wait for the model meanwhile."""
        since = time.perf_counter()
        try:
            yield
        finally:
            self.own += time.perf_counter() - since

    def summary(self) -> str:
        """The measurements in one line."""
        speed = self.tokens_per_second
        written = "" if speed is None else f", {speed:,.0f} tokens/s while generating"
        return (
            f"{self.seconds:,.0f} s, {self.rollouts:,.0f} of them rollouts{written}; "
            f"{self.share:.2%} of the time in Bylaw's own code"
        )

    def to_dict(self) -> dict[str, Json]:
        """The measurements as JSON."""
        return {
            "seconds": round(self.seconds, 2),
            "rollout_seconds": round(self.rollouts, 2),
            "own_seconds": round(self.own, 3),
            "own_share": round(self.share, 5),
            "tokens": self.tokens,
            "tokens_per_second": self.tokens_per_second and round(self.tokens_per_second, 1),
        }
