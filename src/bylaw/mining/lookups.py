"""Rules about what the last lookup of an argument shows."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.facts import DataFacts
from bylaw.mining.fitting import fitted_limits, fitted_values
from bylaw.mining.sites import LookedUp
from bylaw.mining.wording import any_of, is_one_of, last_result, limit_words, tool_text


def states(facts: DataFacts) -> Iterator[RuleCandidate]:
    """The last lookup of an argument shows one of a few values, or a bounded number."""
    for looked_up, shown in facts.sites.shown.items():
        argument = looked_up.argument
        if argument.listed:
            continue
        missing = facts.required(argument) > facts.number(run for run, _ in shown)
        if not facts.labels.acceptable(missing, facts.active(argument.tool)):
            continue
        begin, meaning = _looked_up(looked_up)
        about = (argument.path, looked_up.field)
        tools = (argument.tool, looked_up.lookup.tool)
        active = facts.active(argument.tool)
        base = facts.sites.results[looked_up.lookup.tool, looked_up.field]
        for fitted in fitted_values(facts, shown, active):
            values = fitted.values
            test = is_one_of(f"o.{looked_up.field}", values)
            share = sum(base[value] for value in values) / max(1, base.total())
            yield RuleCandidate(
                "state",
                tools,
                f"{begin} {test})",
                f"{meaning} the {looked_up.field} {any_of(values)}.",
                missing | fitted.violated,
                active,
                log(max(1e-9, share)) * facts.good_runs(argument.tool),
                0.5 * len(values) * log(1 + len(base)),
                about,
            )
        for limit in fitted_limits(facts, shown, active):
            yield RuleCandidate(
                "state bound",
                tools,
                f"{begin} o.{looked_up.field} {limit.operator} {limit.value})",
                f"{meaning} that the {looked_up.field} is {limit_words(limit)}.",
                missing | limit.violated,
                active,
                limit.chance,
                limit.effort,
                about,
            )


def agreements(facts: DataFacts) -> Iterator[RuleCandidate]:
    """An argument agrees with what the last lookup of another shows."""
    for comparison, held in facts.sites.agreeing.items():
        looked_up = comparison.looked_up
        argument = looked_up.argument
        if argument.listed or not facts.held_often(argument, held):
            continue
        let = f"let v = args.{argument.path}, o = {last_result(looked_up.lookup)}"
        test = f"args.{comparison.argument} {comparison.operator} o.{looked_up.field}"
        words = {"=": "equals", "<=": "is at most", ">=": "is at least"}[comparison.operator]
        base = facts.sites.results[looked_up.lookup.tool, looked_up.field]
        same = sum(n * n for n in base.values()) / max(1, base.total()) ** 2
        active = facts.active(argument.tool)
        chance = log(max(1e-6, same)) * facts.good_runs(argument.tool)
        yield RuleCandidate(
            "agreement",
            (argument.tool, looked_up.lookup.tool),
            f"G({tool_text(argument.tool)} -> {let}: {test})",
            f"The {comparison.argument} of {argument.tool} {words} the {looked_up.field} that "
            f"the last {looked_up.lookup.tool} with the same {looked_up.lookup.path} showed.",
            facts.required(argument) > facts.array(held),
            active,
            chance if comparison.operator == "=" else 0.0,
            0.0 if comparison.operator == "=" else 0.2,
            (comparison.argument, looked_up.field),
        )


def _looked_up(found: LookedUp) -> tuple[str, str]:
    argument, lookup = found.argument, found.lookup
    last = last_result(lookup)
    begin = f"G({tool_text(argument.tool)} -> let v = args.{argument.path}, o = {last}:"
    same = f"the last {lookup.tool} with the same {lookup.path}"
    return begin, f"{argument.tool} is called only if {same} showed"
