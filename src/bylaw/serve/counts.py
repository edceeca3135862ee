"""Counts of what a gate does, in the text format of Prometheus.

No label holds anything that an agent chose, so the number of series is fixed.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bylaw.values import Json

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""The upper ends of the classes of times, in seconds."""


class Histogram:
    """Times by class."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Counts a time."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class GateCounts:
    """The counts of one process. Any thread may count."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self.decisions: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: Final = Histogram()
        self.commit_seconds: Final = Histogram()
        self.recovery_seconds: Final = Histogram()
        self.commits = self.conflicts = self.store_errors = self.deletions = 0

    def committed(self, entries: int, seconds: float) -> None:
        """A transaction was committed."""
        with self._lock:
            self.commits += 1
            self.commit_seconds.add(seconds)
            self.operations["stored"] += entries

    def conflicted(self) -> None:
        """Another replica was first."""
        with self._lock:
            self.conflicts += 1

    def store_failed(self) -> None:
        """The store could not be used."""
        with self._lock:
            self.store_errors += 1

    def deleted(self, runs: int) -> None:
        """Runs were deleted."""
        with self._lock:
            self.deletions += runs

    def recovered(self, seconds: float) -> None:
        """A run was recovered from the store."""
        with self._lock:
            self.recovery_seconds.add(seconds)

    def decided(self, decisions: Iterable[Mapping[str, Json]]) -> None:
        """Decisions were committed."""
        with self._lock:
            self.decisions.update(str(each["action"]) for each in decisions)

    def requested(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        with self._lock:
            self.requests[route, status] += 1
            self.seconds.add(seconds)

    def text(self, gauges: Mapping[str, tuple[str, int]]) -> str:
        """All counts, and some numbers of now, each with what it is."""
        with self._lock:
            lines = [
                *_counter("decisions_total", "Decisions on calls.", "action", self.decisions),
                *_requests(self.requests),
                *_plain("commits_total", "counter", "Transactions.", self.commits),
                *_plain(
                    "conflicts_total",
                    "counter",
                    "Entries refused: another replica was first.",
                    self.conflicts,
                ),
                *_plain(
                    "store_errors_total", "counter", "Failures of the store.", self.store_errors
                ),
                *_plain(
                    "operations_total", "counter", "Operations stored.", self.operations["stored"]
                ),
                *_plain("deleted_runs_total", "counter", "Runs deleted.", self.deletions),
                *_histogram("request_seconds", "Time to answer requests.", self.seconds),
                *_histogram("commit_seconds", "Time to commit.", self.commit_seconds),
                *_histogram("recovery_seconds", "Time to recover runs.", self.recovery_seconds),
            ]
        for name, (about, value) in gauges.items():
            lines += _plain(name, "gauge", about, value)
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP bylaw_{name} {about}", f"# TYPE bylaw_{name} {kind}"]


def _plain(name: str, kind: str, about: str, value: int) -> list[str]:
    return [*_head(name, kind, about), f"bylaw_{name} {value}"]


def _counter(name: str, about: str, label: str, counts: Counter[str]) -> list[str]:
    rows = [f'bylaw_{name}{{{label}="{each}"}} {counts[each]}' for each in sorted(counts)]
    return [*_head(name, "counter", about), *rows]


def _requests(counts: Counter[tuple[str, int]]) -> list[str]:
    rows = [
        f'bylaw_requests_total{{route="{route}",status="{status}"}} {number}'
        for (route, status), number in sorted(counts.items())
    ]
    return [*_head("requests_total", "counter", "Requests answered."), *rows]


def _histogram(name: str, about: str, times: Histogram) -> list[str]:
    lines, below = _head(name, "histogram", about), 0
    ends: Sequence[str] = [*(f"{end:g}" for end in BUCKETS), "+Inf"]
    for end, count in zip(ends, times.counts, strict=True):
        below += count
        lines.append(f'bylaw_{name}_bucket{{le="{end}"}} {below}')
    return [*lines, f"bylaw_{name}_sum {times.total:.6f}", f"bylaw_{name}_count {below}"]
