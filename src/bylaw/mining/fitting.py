"""Values and bounds that fit what was seen: those of good runs, as a person would state them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from math import log
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
    chance: float
    """The logarithm of the probability that good runs have no other value by chance."""


class FittedLimit(NamedTuple):
    """A bound on a number or date, and the runs beyond it."""

    operator: str
    value: str
    """As rules write it."""
    violated: RunMask
    effort: float
    """The effort of reading it, beyond that of one digit."""
    chance: float
    """The logarithm of the probability that good runs stay within it by chance."""


def fitted_values(
    facts: DataFacts, shown: Sequence[tuple[int, LeafValue]], active: RunMask
) -> Iterator[FittedValues]:
    """The values that good runs have, if they are few and others were seen or might be."""
    values = {value for _, value in shown}
    floats = any(isinstance(value, float) for value in values)
    if floats or len(values) > 4 * bounds.MAX_VALUES or 3 * len(values) > len(shown):
        return
    masks = {value: np.zeros(len(facts.runs), dtype=np.bool_) for value in values}
    for run, value in shown:
        masks[value][run] = True
    good, tolerated = facts.runs.good, facts.labels.tolerated(active)
    for allowed in bounds.allowed_values(masks, good, tolerated):
        if len(allowed) == len(values) and facts.has_bad:
            continue
        violated = np.zeros(len(facts.runs), dtype=np.bool_)
        for value in values - set(allowed):
            violated |= masks[value]
        chance = _kept_by_chance(facts, [(run, value in allowed) for run, value in shown])
        yield FittedValues(sorted(allowed, key=str), violated, chance)


def _kept_by_chance(facts: DataFacts, fits: Sequence[tuple[int, bool]]) -> float:
    """The logarithm of the probability that all values of good runs fit, as often as all do."""
    share = sum(fit for _, fit in fits) / len(fits)
    good = sum(bool(facts.runs.good[run]) for run, _ in fits)
    return good * log(max(1e-9, share))


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
    for above in bounds.upper_bounds(largest, good, tolerated, whole=whole, rounding=rounding):
        chance = _kept_by_chance(facts, [(run, value <= above.value) for run, value in numbers])
        yield FittedLimit("<=", written(above.value), *above[1:], chance)
    for below in bounds.lower_bounds(smallest, good, tolerated, whole=whole, rounding=rounding):
        chance = _kept_by_chance(facts, [(run, value >= below.value) for run, value in numbers])
        yield FittedLimit(">=", written(below.value), *below[1:], chance)


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
