"""Rules that are connected by the tools they share."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def components(tools: Sequence[Collection[str]]) -> list[int]:
    """For each rule, given the tools that it names, the number of its component: its first rule.

    Two rules are in one component if they name a common tool, directly or through other rules.
    """
    leader = list(range(len(tools)))

    def find(rule: int) -> int:
        while leader[rule] != rule:
            leader[rule] = leader[leader[rule]]
            rule = leader[rule]
        return rule

    first: dict[str, int] = {}
    for rule, named in enumerate(tools):
        for tool in named:
            one, other = find(rule), find(first.setdefault(tool, rule))
            leader[max(one, other)] = min(one, other)
    return [find(rule) for rule in range(len(tools))]
