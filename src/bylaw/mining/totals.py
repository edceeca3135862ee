"""Rules about all calls of a tool so far: how many for each value, and what they add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bylaw.mining import bounds
from bylaw.mining.candidate import RuleCandidate, RunMask
from bylaw.mining.facts import DataFacts
from bylaw.mining.leaves import LeafValue, value_key
from bylaw.mining.sites import ArgumentPath, GivenValue
from bylaw.mining.wording import times, tool_text

_SEED: Final = 7


def per_key(facts: DataFacts) -> Iterator[RuleCandidate]:
    """So many calls with the same argument."""
    pools = _pools(facts)
    for argument, given in facts.sites.arguments.items():
        if argument.listed or "." in argument.path:
            continue
        counts: dict[tuple[int, LeafValue], int] = defaultdict(int)
        for run, value, _ in given:
            counts[run, value_key(value)] += 1
        most = np.zeros(len(facts.runs))
        for (run, _), count in counts.items():
            most[run] = max(most[run], count)
        chance = _repetition_chance(facts, argument, pools[argument.path])
        for limit in range(1, min(int(most.max()), 5) + 1):
            violated = most > limit
            if not facts.has_bad and (limit > 1 or violated.any()):
                break
            if facts.has_bad and not violated.any():
                break
            rule = (
                f"G({tool_text(argument.tool)} -> let v = args.{argument.path}: "
                f"length(sofar(call({tool_text(argument.tool)}, {argument.path} = v))) <= {limit})"
            )
            yield RuleCandidate(
                "per key",
                (argument.tool,),
                rule,
                f"{argument.tool} is called at most {times(limit)} with the same {argument.path}.",
                violated,
                facts.active(argument.tool),
                chance,
                0.0,
                (argument.path,),
            )


def _pools(facts: DataFacts) -> dict[str, dict[int, set[LeafValue]]]:
    """For each name of arguments and each run, the values that the run has for it."""
    found: dict[str, dict[int, set[LeafValue]]] = defaultdict(lambda: defaultdict(set))
    for argument, given in facts.sites.arguments.items():
        pool = found[argument.path]
        for run, value, _ in given:
            pool[run].add(value_key(value))
    return found


def _repetition_chance(
    facts: DataFacts, argument: ArgumentPath, pool: dict[int, set[LeafValue]]
) -> float:
    """The logarithm of the probability that no value occurs twice in a good run by chance.

    By chance, a value is any of those that the run has for arguments of this name.
    """
    chance = 0.0
    for run in np.flatnonzero(facts.runs.good & (facts.calls[argument.tool] > 1)).tolist():
        calls = int(facts.calls[argument.tool][run])
        chance += calls * (calls - 1) / 2 * log(1 - 1 / max(2, len(pool[run])))
    return chance


def totals(facts: DataFacts) -> Iterator[RuleCandidate]:
    """An argument adds up to so much in a run, or for each value of another argument."""
    if not facts.has_bad:
        return
    for argument, given in facts.sites.arguments.items():
        if argument.listed:
            continue
        numbers = amounts(given)
        if numbers is not None:
            yield from _totals(facts, argument, numbers)


def amounts(given: Sequence[GivenValue]) -> list[tuple[int, float, int]] | None:
    """The values as numbers that can be added up; None if some cannot."""
    found = [(run, float(value), n) for run, value, n in given if not isinstance(value, str)]
    if len(found) < len(given) or any(value < 0 for _, value, _ in found):
        return None
    return found


def shuffled(values: Sequence[NDArray[np.float64]], good: RunMask) -> list[NDArray[np.float64]]:
    """The values of each run, with those of good runs exchanged at random."""
    places = np.flatnonzero(good).tolist()
    pool = np.concatenate([values[run] for run in places]) if places else np.zeros(0)
    np.random.default_rng(_SEED).shuffle(pool)
    found, at = list(values), 0
    for run in places:
        found[run] = pool[at : at + len(values[run])]
        at += len(values[run])
    return found


def _totals(
    facts: DataFacts, argument: ArgumentPath, numbers: Sequence[tuple[int, float, int]]
) -> Iterator[RuleCandidate]:
    tool, path = tool_text(argument.tool), argument.path
    whole = all(value == int(value) for _, value, _ in numbers)
    by_run: list[list[float]] = [[] for _ in range(len(facts.runs))]
    for run, value, _ in numbers:
        by_run[run].append(value)
    given = [np.array(values) for values in by_run]
    sums, by_chance = _sums(given), _sums(shuffled(given, facts.runs.good))
    active = facts.active(argument.tool)
    good, tolerated = facts.runs.good, facts.labels.tolerated(active)
    for fitted in bounds.upper_bounds(sums, good, tolerated, whole=whole):
        yield RuleCandidate(
            "total",
            (argument.tool,),
            f"G({tool} -> sum(sofar({tool}).args.{path}) <= {fitted.value:.12g})",
            f"The {path} of all calls of {argument.tool} adds up to at most {fitted.value:.12g}.",
            fitted.violated,
            active,
            -float((by_chance[good] > fitted.value).sum()),
            fitted.effort,
            (argument.path,),
        )
    keys: dict[str, dict[tuple[int, int], LeafValue]] = {}
    for other, found in facts.sites.arguments.items():
        plain = other.tool == argument.tool and not other.listed and "." not in other.path
        if plain and other.path != path and len(found) == len(numbers):
            keys[other.path] = {(run, n): value_key(value) for run, value, n in found}
    for key, values in keys.items():
        by_key: dict[tuple[int, LeafValue], float] = defaultdict(float)
        for run, value, n in numbers:
            by_key[run, values.get((run, n), "")] += value
        most = np.full(len(facts.runs), -np.inf)
        for (run, _), total in by_key.items():
            most[run] = max(most[run], total)
        for fitted in bounds.upper_bounds(most, good, tolerated, whole=whole):
            of_key = f"sofar(call({tool}, {key} = v))"
            yield RuleCandidate(
                "total per key",
                (argument.tool,),
                f"G({tool} -> let v = args.{key}: "
                f"sum({of_key}.args.{path}) <= {fitted.value:.12g})",
                f"{path} of {argument.tool} adds up to at most {fitted.value:.12g} for each {key}.",
                fitted.violated,
                active,
                0.0,
                fitted.effort,
                (argument.path, key),
            )


def _sums(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of each run; minus infinity where there is nothing."""
    return np.array([each.sum() if len(each) else -np.inf for each in values])
