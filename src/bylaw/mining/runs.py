"""Runs to learn from: their tools as codes, and where each tool occurs first and last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.candidate import RunMask
from bylaw.trace.event import Call
from bylaw.trace.trace import Trace

NEVER_FIRST: Final = np.int32(1 << 30)
"""The first position of a tool that a run does not call."""
NEVER_LAST: Final = np.int32(-1)
_ERRORS: Final = ("Error", "error", "ERROR")
FAILED: Final = "text ~ /^(Error|error|ERROR)/"
"""The test for failed calls of tools that return errors as text."""


class Runs:
    """Recorded runs, each good or bad."""

    def __init__(self, traces: Sequence[Trace], good: Sequence[bool]) -> None:
        self.traces: Final = traces
        self.good: Final[RunMask] = np.array(good, dtype=np.bool_)
        counts = Counter(call.tool for trace in traces for call in trace.calls)
        self.tools: Final = [
            tool for tool, _ in sorted(counts.items(), key=lambda e: (-e[1], e[0]))
        ]
        self._codes = {tool: code for code, tool in enumerate(self.tools)}
        self.reports_errors_as_text: Final = any(
            isinstance(call.result, str) and call.result.startswith(_ERRORS)
            for trace in traces
            for call in trace.calls
        )

    def __len__(self) -> int:
        return len(self.traces)

    @cached_property
    def bad(self) -> RunMask:
        """The runs that are not good."""
        return ~self.good

    @cached_property
    def sequences(self) -> list[NDArray[np.int32]]:
        """The tools of each run's calls."""
        codes = self._codes
        return [
            np.fromiter((codes[call.tool] for call in trace.calls), np.int32, len(trace.calls))
            for trace in self.traces
        ]

    @cached_property
    def counts(self) -> NDArray[np.int32]:
        """For each run and tool, the number of calls."""
        found = np.zeros((len(self), len(self.tools)), dtype=np.int32)
        for run, sequence in enumerate(self.sequences):
            np.add.at(found[run], sequence, 1)
        return found

    @cached_property
    def has(self) -> NDArray[np.bool_]:
        """For each run and tool: is it called?"""
        return self.counts > 0

    @cached_property
    def first(self) -> NDArray[np.int32]:
        """For each run and tool, the position of its first call."""
        found = np.full((len(self), len(self.tools)), NEVER_FIRST, dtype=np.int32)
        for run, sequence in enumerate(self.sequences):
            found[run, sequence[::-1]] = np.arange(len(sequence) - 1, -1, -1, dtype=np.int32)
        return found

    @cached_property
    def last(self) -> NDArray[np.int32]:
        """For each run and tool, the position of its last call."""
        found = np.full((len(self), len(self.tools)), NEVER_LAST, dtype=np.int32)
        for run, sequence in enumerate(self.sequences):
            found[run, sequence] = np.arange(len(sequence), dtype=np.int32)
        return found

    def excess_chance(self, counts: NDArray[np.int32], most: int) -> float:
        """The logarithm of the probability that no good run exceeds a number by chance.

        By chance, about as large a share of the runs with `most` go one further as of those with
        one less went on to `most`.
        """
        of_good = counts[self.good]
        there, before = int((of_good == most).sum()), int((of_good == most - 1).sum())
        return -there * min(1.0, there / max(1, before))

    def succeeded(self, call: Call) -> bool:
        """Did the call succeed, as the proposed procedure will see it?"""
        if not call.ok:
            return False
        result = call.result
        return not (isinstance(result, str) and result.startswith(_ERRORS))
