"""The facts that rules about data are made from, as arrays with a number for each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining.candidate import RunMask
from bylaw.mining.labels import RunLabels
from bylaw.mining.runs import Runs
from bylaw.mining.sites import ArgumentPath, Sites


class DataFacts:
    """Runs, what is known at their calls, and their labels."""

    def __init__(self, runs: Runs, sites: Sites, labels: RunLabels) -> None:
        self.runs: Final = runs
        self.sites: Final = sites
        self.labels: Final = labels
        self.has_bad: Final = labels.has_bad
        self.calls: Final = {tool: self.array(counts) for tool, counts in sites.calls.items()}
        """For each tool, the number of its calls in each run."""

    def array(self, counts: Mapping[int, int]) -> NDArray[np.int64]:
        """Counts by run, as an array."""
        found = np.zeros(len(self.runs), dtype=np.int64)
        if counts:
            found[list(counts)] = list(counts.values())
        return found

    def number(self, of_runs: Iterable[int]) -> NDArray[np.int64]:
        """The number of times that each run is listed."""
        return np.bincount(np.fromiter(of_runs, np.int64), minlength=len(self.runs))

    def active(self, tool: str) -> RunMask:
        """The runs that call a tool."""
        return self.calls[tool] > 0

    def good_runs(self, tool: str) -> float:
        """The number of good runs that call a tool."""
        return float((self.active(tool) & self.runs.good).sum())

    def required(self, argument: ArgumentPath) -> NDArray[np.int64]:
        """The number of times the argument must fit a rule. A missing one counts against it."""
        if argument.listed:
            return self.number(run for run, _, _ in self.sites.arguments[argument])
        return self.calls[argument.tool]

    def held_often(self, argument: ArgumentPath, held: Mapping[int, int]) -> bool:
        """May the rule hold in enough good runs? A quick test."""
        return len(held) >= 0.5 * max(1.0, self.good_runs(argument.tool))
