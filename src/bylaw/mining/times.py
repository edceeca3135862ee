"""Rules about times: so many calls, or so much, within a while; one call soon after another.

They are looked for only where every call has a start, and bad runs show that they matter: how long
agents take is mostly a habit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining import bounds
from bylaw.mining.candidate import RuleCandidate, RunMask
from bylaw.mining.facts import DataFacts
from bylaw.mining.runs import Runs
from bylaw.mining.totals import amounts, shuffled
from bylaw.mining.wording import times, tool_text

DURATIONS: Final = (
    *((1, "1 s"), (5, "5 s"), (10, "10 s"), (30, "30 s"), (60, "1 min"), (120, "2 min")),
    *((300, "5 min"), (600, "10 min"), (900, "15 min"), (1800, "30 min"), (3600, "1 h")),
    *((7200, "2 h"), (14400, "4 h"), (86400, "24 h"), (604800, "7 d")),
)
"""The durations that people state, in seconds."""
_MAX_RATE: Final = 5
_MAX_DURATIONS: Final = 3
"""The durations that are proposed: other rules tell which of them is needed."""
_NEVER: Final = np.iinfo(np.int64).max // 4
_MICROSECONDS: Final = 1_000_000
_ERA: Final = 10**8 * _MICROSECONDS
"""Longer than a run and a duration; three years."""


def rates(facts: DataFacts) -> Iterator[RuleCandidate]:
    """A tool is called so often within a while, or an argument adds up to so much."""
    starts = _starts(facts.runs) if facts.has_bad else None
    if starts is None:
        return
    for code, tool in enumerate(facts.runs.tools):
        times_of = [
            when[sequence == code]
            for when, sequence in zip(starts, facts.runs.sequences, strict=True)
        ]
        ones = [np.ones(len(when)) for when in times_of]
        written, active = tool_text(tool), facts.active(tool)
        good, tolerated = facts.runs.good, facts.labels.tolerated(active)
        window_counts = _most_within(times_of, ones)
        for most in range(1, _MAX_RATE + 1):
            for violated, duration in _durations(facts, window_counts > most, active):
                yield RuleCandidate(
                    "rate",
                    (tool,),
                    f"G({written} -> length(sofar({written}, {duration})) <= {most})",
                    f"{tool} is called at most {times(most)} in any {duration}.",
                    violated,
                    active,
                    about=(str(most),),
                )
        for path, given in _amounts(facts, tool).items():
            sums = _most_within(times_of, given)
            by_chance = _most_within(times_of, shuffled(given, good))
            whole = _whole(given)
            for row, other, (_, duration) in zip(sums, by_chance, DURATIONS, strict=True):
                for fitted in bounds.upper_bounds(row, good, tolerated, whole=whole):
                    limit = f"{fitted.value:.12g}"
                    yield RuleCandidate(
                        "window total",
                        (tool,),
                        f"G({written} -> sum(sofar({written}, {duration}).args.{path}) <= {limit})",
                        f"In any {duration}, the {path} of {tool} adds up to at most {limit}.",
                        fitted.violated,
                        active,
                        -float((other[good] > fitted.value).sum()),
                        fitted.effort,
                        about=(path,),
                    )


def deadlines(facts: DataFacts) -> Iterator[RuleCandidate]:
    """A call comes soon after one of another tool, or is followed by one soon."""
    starts = _starts(facts.runs) if facts.has_bad else None
    if starts is None:
        return
    before = _longest_waits(facts.runs, starts)
    after = _longest_waits(facts.runs, [-when[::-1] for when in starts], backwards=True)
    for a, tool in enumerate(facts.runs.tools):
        active = facts.active(tool)
        for b, other in enumerate(facts.runs.tools):
            if a == b:
                continue
            for kind, waits, operator, words in (
                ("recent", before, "O", "{a} is called only within {d} after {b}."),
                ("deadline", after, "F", "After {a}, {b} is called within {d}."),
            ):
                limits = np.array([seconds * _MICROSECONDS for seconds, _ in DURATIONS])
                violated = active & (waits[a, b] > limits[:, None])
                for broken, duration in _durations(facts, violated, active):
                    rule = f"{operator} {tool_text(other)} within {duration}"
                    yield RuleCandidate(
                        kind,
                        (tool, other),
                        f"G({tool_text(tool)} -> {rule})",
                        words.format(a=tool, b=other, d=duration),
                        broken,
                        active,
                    )


def _starts(runs: Runs) -> list[NDArray[np.int64]] | None:
    """When the calls of each run began, in microseconds; None unless all times are known."""
    found = []
    for trace in runs.traces:
        starts = [call.start for call in trace.calls]
        if any(start is None for start in starts):
            return None
        when = np.array([round((start or 0) * _MICROSECONDS) for start in starts], dtype=np.int64)
        if (np.diff(when) < 0).any():
            return None  # the order of calls is not that of time
        found.append(when)
    return found


def _amounts(facts: DataFacts, tool: str) -> dict[str, list[NDArray[np.float64]]]:
    """For each argument of a tool that can be added up: its values in each run, call by call."""
    found = {}
    for argument, given in facts.sites.arguments.items():
        if argument.tool != tool or argument.listed or len(given) != facts.calls[tool].sum():
            continue
        numbers = amounts(given)
        if numbers is not None:
            by_run: list[list[float]] = [[] for _ in range(len(facts.runs))]
            for run, value, _ in numbers:
                by_run[run].append(value)
            found[argument.path] = [np.array(values, dtype=np.float64) for values in by_run]
    return found


def _whole(given: list[NDArray[np.float64]]) -> bool:
    return all(bool((values == np.floor(values)).all()) for values in given)


def _most_within(
    times_of: list[NDArray[np.int64]], weights: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """For each duration and run, the largest sum of weights within it; minus infinity if none."""
    found = np.full((len(DURATIONS), len(times_of)), -np.inf)
    runs = [run for run, when in enumerate(times_of) if len(when)]
    if not runs:
        return found
    # All runs on one line, each in an era of its own that no window reaches out of.
    when = np.concatenate([times_of[run] - times_of[run][0] + run * _ERA for run in runs])
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([weights[run] for run in runs]))])
    begins = np.cumsum([0, *(len(times_of[run]) for run in runs[:-1])])
    for row, (seconds, _) in enumerate(DURATIONS):
        begin = np.searchsorted(when, when - seconds * _MICROSECONDS, side="left")
        found[row, runs] = np.maximum.reduceat(sums[1:] - sums[begin], begins)
    return found


def _longest_waits(
    runs: Runs, starts: list[NDArray[np.int64]], *, backwards: bool = False
) -> NDArray[np.int64]:
    """For each pair of tools and run, the longest time from the second to a call of the first."""
    found = np.full((len(runs.tools), len(runs.tools), len(runs)), -1, dtype=np.int64)
    for run, sequence in enumerate(runs.sequences):
        latest = np.full(len(runs.tools), -_NEVER, dtype=np.int64)
        for tool, when in zip(
            (sequence[::-1] if backwards else sequence).tolist(), starts[run].tolist(), strict=True
        ):
            found[tool, :, run] = np.maximum(found[tool, :, run], when - latest)
            latest[tool] = when
    return found


def _durations(
    facts: DataFacts, violated: NDArray[np.bool_], active: RunMask
) -> Iterator[tuple[RunMask, str]]:
    """The durations that explain the labels best, given the runs that break each."""
    good = facts.runs.good
    in_good = violated[:, good].sum(axis=1)
    in_bad = violated[:, ~good].sum(axis=1)
    gains = bounds.label_gain(in_bad, in_good, int((~good).sum()), int(good.sum()))
    gains[in_good > facts.labels.tolerated(active)] = -np.inf
    for best in np.argsort(-gains, kind="stable")[:_MAX_DURATIONS].tolist():
        if gains[best] > 0:
            yield violated[best], DURATIONS[best][1]
