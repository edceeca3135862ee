"""Rules about the arguments of a call: values, bounds, and combinations that do not occur."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import log
from typing import Final

import numpy as np

from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.facts import DataFacts
from bylaw.mining.fitting import fitted_limits, fitted_values
from bylaw.mining.leaves import LeafValue
from bylaw.mining.wording import any_of, is_one_of, limit_words, tool_text
from bylaw.values import write_json

_MAX_VALUES: Final = 8
"""The most values of an argument that takes part in combinations."""


def arguments(facts: DataFacts) -> Iterator[RuleCandidate]:
    """An argument is one of a few values, or stays within a bound."""
    if not facts.has_bad:
        return
    for argument, given in facts.sites.arguments.items():
        if argument.listed:
            continue
        shown = [(run, value) for run, value, _ in given]
        tool, active = tool_text(argument.tool), facts.active(argument.tool)
        missing = facts.required(argument) > facts.number(run for run, _ in shown)
        about = (argument.path,)
        for fitted in fitted_values(facts, shown, active):
            values = fitted.values
            yield RuleCandidate(
                "value",
                (argument.tool,),
                f"G({tool} -> {is_one_of(f'args.{argument.path}', values)})",
                f"The {argument.path} of {argument.tool} is {any_of(values)}.",
                missing | fitted.violated,
                active,
                fitted.chance,
                0.5 * len(values) * log(1 + len({value for _, value in shown})),
                about,
            )
        for limit in fitted_limits(facts, shown, active):
            yield RuleCandidate(
                "bound",
                (argument.tool,),
                f"G({tool} -> args.{argument.path} {limit.operator} {limit.value})",
                f"The {argument.path} of {argument.tool} is {limit_words(limit)}.",
                missing | limit.violated,
                active,
                limit.chance,
                limit.effort,
                about,
            )


def forbidden_combinations(facts: DataFacts) -> Iterator[RuleCandidate]:
    """Two arguments do not have certain values at once, though each occurs with others."""
    for tool, arguments in _listed_arguments(facts).items():
        for (one, first), (other, second) in combinations(sorted(arguments.items()), 2):
            pairs: dict[tuple[LeafValue, LeafValue], list[int]] = defaultdict(list)
            for (run, number), value in first.items():
                if (run, number) in second:
                    pairs[value, second[run, number]].append(run)
            calls = sum(map(len, pairs.values()))
            of_one, of_other = Counter(first.values()), Counter(second.values())
            for p, q in sorted((p, q) for p in of_one for q in of_other):
                runs = pairs.get((p, q), [])
                if runs and not facts.has_bad:
                    continue
                violated = np.zeros(len(facts.runs), dtype=np.bool_)
                violated[runs] = True
                share = of_one[p] / len(first) * of_other[q] / len(second)
                yield RuleCandidate(
                    "combination",
                    (tool,),
                    f"G({tool_text(tool)} -> "
                    f"!(args.{one} = {write_json(p)} & args.{other} = {write_json(q)}))",
                    f"{tool} is not called with {one} {write_json(p)} "
                    f"and {other} {write_json(q)} at once.",
                    violated,
                    facts.active(tool),
                    chance=calls * log(max(1e-9, 1 - share)),
                    about=(one, str(p), other, str(q)),
                )


def _listed_arguments(
    facts: DataFacts,
) -> dict[str, dict[str, dict[tuple[int, int], LeafValue]]]:
    """For each tool, its arguments with a few values: the value in each call of each run."""
    found: dict[str, dict[str, dict[tuple[int, int], LeafValue]]] = defaultdict(dict)
    for argument, given in facts.sites.arguments.items():
        values = {value for _, value, _ in given}
        texts = all(isinstance(value, str) for value in values)
        few = 2 <= len(values) <= min(_MAX_VALUES, len(given) // 5)
        if texts and few and not argument.listed:
            found[argument.tool][argument.path] = {(run, n): value for run, value, n in given}
    return found
