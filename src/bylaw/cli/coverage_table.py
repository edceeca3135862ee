"""The table that says where a gate enforces each rule, and why there."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.enforcement.coverage import RuleCoverage
from bylaw.terminal import coloured, in_line, safe, wrapped


def print_coverage(rules: Sequence[RuleCoverage]) -> None:
    """Prints the place of each rule and its severity, then the reason."""
    names, places = (max(map(len, column)) for column in zip(*map(_columns, rules), strict=True))
    print("Where a gate enforces the rules:")
    for rule in rules:
        name, place = _columns(rule)
        print(f"  {name:<{names}}  {place:<{places}}  {_severity(rule)}")
        print(coloured(wrapped(safe(rule.reason), 4), "grey"))


def coverage_line(rule: RuleCoverage) -> str:
    """The place of one rule and the reason, in a sentence or two."""
    return f"enforced {rule.place}: {rule.reason}"


def _columns(rule: RuleCoverage) -> tuple[str, str]:
    return in_line(rule.name), rule.place


def _severity(rule: RuleCoverage) -> str:
    if not rule.kept:
        return f"{rule.severity} (cannot be kept)"
    return rule.severity if rule.stated else f"{rule.severity} (default)"
