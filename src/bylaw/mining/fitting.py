"""Values and bounds that fit what was seen: those of good runs, as a person would state them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from bylaw.mining import bounds
from bylaw.mining.candidate import RunMask
from bylaw.mining.facts import DataFacts
from bylaw.mining.leaves import LeafValue
from bylaw.values import write_json


class FittedValues(NamedTuple):
    """The values that are allowed, and the runs with another one."""

    values: list[LeafValue]
    violated: RunMask


class FittedLimit(NamedTuple):
    """A bound on a number or date, and the runs beyond it."""

    operator: str
    value: str
    """As rules write it."""
    violated: RunMask
    levels: int
    """The number of bounds among which it was chosen."""


def fitted_values(
    facts: DataFacts, shown: Sequence[tuple[int, LeafValue]], active: RunMask
) -> FittedValues | None:
    """The values that good runs have, if they are few and others were seen or might be."""
    values = {value for _, value in shown}
    floats = any(isinstance(value, float) for value in values)
    if floats or len(values) > 4 * bounds.MAX_VALUES or 3 * len(values) > len(shown):
        return None
    masks = {value: np.zeros(len(facts.runs), dtype=np.bool_) for value in values}
    for run, value in shown:
        masks[value][run] = True
    allowed = bounds.allowed_values(masks, facts.runs.good, facts.labels.tolerated(active))
    if allowed is None or (len(allowed) == len(values) and facts.has_bad):
        return None
    violated = np.zeros(len(facts.runs), dtype=np.bool_)
    for value in values - set(allowed):
        violated |= masks[value]
    return FittedValues(sorted(allowed, key=str), violated)


def fitted_limits(
    facts: DataFacts, shown: Sequence[tuple[int, LeafValue]], active: RunMask
) -> Iterator[FittedLimit]:
    """Bounds from above and from below on what is always a number, or always a date."""
    if not facts.has_bad:
        return
    dates = _dates(shown)
    numbers = dates or [(n, v) for n, v in shown if isinstance(v, int | float)]
    if len(numbers) < len(shown) or any(isinstance(value, bool) for _, value in shown):
        return
    whole = all(value == int(value) for _, value in numbers)
    largest = np.full(len(facts.runs), -np.inf)
    smallest = np.full(len(facts.runs), np.inf)
    for run, value in numbers:
        largest[run] = max(largest[run], value)
        smallest[run] = min(smallest[run], value)
    good, tolerated = facts.runs.good, facts.labels.tolerated(active)
    rounding = bounds.round_date if dates else bounds.fewest_digits
    written = _written_date if dates else _written_number
    above = bounds.upper_bound(largest, good, tolerated, whole=whole, rounding=rounding)
    if above is not None:
        yield FittedLimit("<=", written(above.value), *above[1:])
    below = bounds.lower_bound(smallest, good, tolerated, whole=whole, rounding=rounding)
    if below is not None:
        yield FittedLimit(">=", written(below.value), *below[1:])


def _dates(shown: Sequence[tuple[int, LeafValue]]) -> list[tuple[int, float]]:
    """The values as numbers of days; nothing unless all are dates."""
    found = []
    for run, value in shown:
        if not isinstance(value, str) or len(value) != len("2026-01-01"):
            return []
        try:
            found.append((run, float(date.fromisoformat(value).toordinal())))
        except ValueError:
            return []
    return found


def _written_date(day: float) -> str:
    return write_json(date.fromordinal(int(day)).isoformat())


def _written_number(number: float) -> str:
    return f"{number:.12g}"
