"""Rules that differ in the tool they restrict alone are one rule about a set of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bylaw.formulas import call
from bylaw.mining.candidate import RuleCandidate
from bylaw.syntax.printer import to_text

_MERGED: Final = frozenset(
    {"lookup", "source", "said", "confirmed", "state", "value", "bound", "follow-up", "precedence"}
)


def merged(candidates: Sequence[RuleCandidate]) -> list[RuleCandidate]:
    """The candidates, with those that ask the same of several tools made one."""
    groups: dict[tuple[str, ...], list[RuleCandidate]] = {}
    for each in candidates:
        beginning = _beginning((each.tools[0],))
        rest = each.rule.removeprefix(beginning)
        alone = each.kind not in _MERGED or rest == each.rule
        key = (each.rule,) if alone else (each.kind, rest)
        groups.setdefault(key, []).append(each)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _beginning(tools: Sequence[str]) -> str:
    names = [to_text(call(tool)) for tool in tools]
    return f"G({names[0]} ->" if len(names) == 1 else f"G({{{', '.join(names)}}} ->"


def _one(group: Sequence[RuleCandidate]) -> RuleCandidate:
    first = group[0]
    tools = [each.tools[0] for each in group]
    rest = first.rule.removeprefix(_beginning(tools[:1]))
    violated, active = first.violated.copy(), first.active.copy()
    for each in group[1:]:
        violated |= each.violated
        active |= each.active
    return replace(
        first,
        tools=("", *first.tools[1:]),
        rule=_beginning(tools) + rest,
        meaning=_meaning(first, f"{', '.join(tools[:-1])} and {tools[-1]}"),
        violated=violated,
        active=active,
        chance=sum(each.chance for each in group),
        members=tuple(each.identity for each in group),
    )


def _meaning(first: RuleCandidate, tools: str) -> str:
    meaning = first.meaning.replace(first.tools[0], tools)
    return meaning.replace(f"{tools} is called", f"{tools} are called")
