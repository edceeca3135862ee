"""Rules about where the value of an argument comes from, and where it is used again."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Final

from bylaw.mining.candidate import RuleCandidate
from bylaw.mining.facts import DataFacts
from bylaw.mining.leaves import value_key
from bylaw.mining.sites import SAID, YES, ArgumentPath, EarlierValue
from bylaw.mining.wording import bind, earlier_event, place_in_result, tool_text

_SAID_BY_CHANCE: Final = 0.05
"""The probability that a user happens to name a value of four or more characters."""
_MIN_SAID: Final = 4


def joined(facts: DataFacts) -> Iterator[RuleCandidate]:
    """The argument was looked up, returned or said before."""
    for (argument, source), held in facts.sites.earlier.items():
        own = source.kind == "argument" and source.tool == argument.tool
        if own or facts.sites.echoed.get(source, 0) > 0:
            continue  # an echo is no source
        if not facts.held_often(argument, held):
            continue
        violated = facts.required(argument) > facts.array(held)
        named, about = bind(argument), (argument.path,)
        match source.kind:
            case "argument":
                told, kind = f"was looked up with {source.tool} before", "lookup"
            case "said":
                told, kind = "was named by the user", "said"
            case _:
                where = place_in_result(source)
                told, kind = f"was returned by {source.tool} before, in {where}", "source"
        body = earlier_event(source)
        same_name = kind == "source" and argument.path == source.path
        extra = -0.1 if same_name else 0.0  # the same name is easier to read
        tools = (argument.tool, *([source.tool] if source.tool else []))
        yield RuleCandidate(
            kind,
            tools,
            f"G({tool_text(argument.tool)} -> {named} {body})",
            f"{'Each' if argument.listed else 'The'} {argument.path} of {argument.tool} {told}.",
            violated,
            facts.active(argument.tool),
            _join_chance(facts, argument, source),
            extra,
            about,
        )


def _join_chance(facts: DataFacts, argument: ArgumentPath, source: EarlierValue) -> float:
    """The logarithm of the probability that the values match by chance."""
    good, total = facts.runs.good, max(2, len(facts.runs))
    chance = 0.0
    spread = facts.sites.spread.get(source, {})
    for run, value, _ in facts.sites.arguments[argument]:
        if not good[run]:
            continue
        if source == SAID:
            chance += log(_SAID_BY_CHANCE) if len(str(value)) >= _MIN_SAID else 0.0
        else:
            others = spread.get(value_key(value), 1) - 1
            chance += log(min(1.0, max(1.0 / total, others / (total - 1))))
    return chance


def later(facts: DataFacts) -> Iterator[RuleCandidate]:
    """A later call has the same argument."""
    for (argument, other), held in facts.sites.later.items():
        if argument.listed or "." in argument.path or not facts.held_often(argument, held):
            continue
        rule = (
            f"G({tool_text(argument.tool)} -> {bind(argument)} "
            f"F call({tool_text(other.tool)}, {other.path} = v))"
        )
        yield RuleCandidate(
            "follow-up",
            (argument.tool, other.tool),
            rule,
            f"After {argument.tool}, {other.tool} is called with the same {other.path}.",
            facts.required(argument) > facts.array(held),
            facts.active(argument.tool),
            0.0,
            0.0,
            (argument.path,),
        )


def done_before(facts: DataFacts) -> Iterator[RuleCandidate]:
    """No earlier call of another tool has the same argument."""
    if not facts.has_bad:
        return
    for (argument, other), found in facts.sites.repeated.items():
        if argument.listed:
            continue
        rule = (
            f"G({tool_text(argument.tool)} -> {bind(argument)} "
            f"length(sofar(call({tool_text(other.tool)}, {other.path} = v))) = 0)"
        )
        yield RuleCandidate(
            "done before",
            (argument.tool, other.tool),
            rule,
            f"After {other.tool}, {argument.tool} is not called with the same {other.path}.",
            facts.array(found) > 0,
            facts.active(argument.tool),
            0.0,
            0.0,
            (argument.path,),
        )


def confirmed(facts: DataFacts) -> Iterator[RuleCandidate]:
    """The user's last message is a yes."""
    agreed, said = facts.sites.yeses
    if not agreed:
        return
    by_chance = log(min(0.999, (agreed + 1) / (said + 2)))
    for tool, held in facts.sites.confirmed.items():
        calls = facts.calls[tool]
        yield RuleCandidate(
            "confirmed",
            (tool,),
            f"G({tool_text(tool)} -> last(says(user)).text ~ /{YES}/)",
            f"{tool} is called only if the user's last message is a yes.",
            calls > facts.array(held),
            facts.active(tool),
            by_chance * float(calls[facts.runs.good].sum()),
        )
