"""Where the time of a training run goes: how fast the model writes, and what our own code costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bylaw.values import Json


@dataclass(slots=True)
class Clock:
    """Counts seconds and tokens. It starts when it is made."""

    begun: float = field(default_factory=time.perf_counter)
    rollouts: float = 0.0
    """Seconds in which rollouts were made, our own code in between included."""
    own: float = 0.0
    """Seconds in our own code: tools, gate, reward, bookkeeping."""
    tokens: int = 0
    """Tokens that the model wrote."""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.begun

    @property
    def share(self) -> float:
        """The share of our own code in the whole time."""
        return self.own / self.seconds

    @property
    def tokens_per_second(self) -> float | None:
        """How fast the model wrote, over all conversations; None if it wrote nothing."""
        return self.tokens / self.rollouts if self.rollouts else None

    @contextmanager
    def making_rollouts(self) -> Iterator[None]:
        """Counts the time of rollouts."""
        since = time.perf_counter()
        try:
            yield
        finally:
            self.rollouts += time.perf_counter() - since

    @contextmanager
    def in_own_code(self) -> Iterator[None]:
        """Counts the time of our own code. Nothing in it may wait for the model."""
        since = time.perf_counter()
        try:
            yield
        finally:
            self.own += time.perf_counter() - since

    def told(self) -> str:
        """The figures in a line."""
        speed = self.tokens_per_second
        written = "" if speed is None else f", {speed:,.0f} tokens/s while writing"
        return (
            f"{self.seconds:,.0f} s, {self.rollouts:,.0f} of them rollouts{written}; "
            f"{self.share:.2%} of the time in Bylaw's own code"
        )

    def to_dict(self) -> dict[str, Json]:
        """The figures as JSON."""
        return {
            "seconds": round(self.seconds, 2),
            "rollout_seconds": round(self.rollouts, 2),
            "own_seconds": round(self.own, 3),
            "own_share": round(self.share, 5),
            "tokens": self.tokens,
            "tokens_per_second": self.tokens_per_second and round(self.tokens_per_second, 1),
        }
