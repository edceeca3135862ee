"""The joint forms of a procedure's rules, and the few calls that can match many argument patterns.

All runs of a procedure share one `JointRules`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.logic import formula as f
from bylaw.logic.terms import Literal, ToolName
from bylaw.logic.walk import everything
from bylaw.trace.event import Call
from bylaw.values import Json, equal
from bylaw.vocabulary.joint_form import JointForm
from bylaw.vocabulary.patterns import lookup
from bylaw.vocabulary.predicate import Probe, value_of
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Order

MAX_PATTERNS: Final = 20
"""The number of pending patterns of one tool up to which the fewest calls are found exactly."""
MAX_CACHED: Final = 10_000
"""The number of answers that are cached."""
_PLAIN: Final = (
    f.TracePredicate,
    f.ToolList,
    f.Count,
    f.Arguments,
    f.ArgumentIs,
    ToolName,
    Literal,
)
"""The parts of a rule that joint forms are defined for: single tools, and values written out."""


def joint_form(formula: f.Formula) -> JointForm | None:
    """The joint form of a rule; None if it takes no part in the joint test."""
    if not isinstance(formula, f.TracePredicate):
        return None
    if not all(isinstance(part, _PLAIN) for part in everything(formula)):
        return None
    return PREDICATES[formula.name].joint_form(formula.operands)


class JointRules:
    """The joint forms of some rules, and the tools they share."""

    def __init__(self, formulas: Sequence[f.Formula], order: Order) -> None:
        forms = {i: joint_form(formula) for i, formula in enumerate(formulas)}
        self.forms: Final = {i: form for i, form in forms.items() if form is not None}
        self.by_step: Final = order == "step"
        self.ordered: Final = {
            call
            for form in self.forms.values()
            if form.precedence
            for call in (form.precedence.first, form.precedence.second)
        }
        """The calls that some rule puts in an order."""
        self.required_tool: Final = {
            i: form.tools[0] for i, form in self.forms.items() if form.required
        }
        """For each rule that requires a call with certain arguments, the tool of that call."""
        self.sequences: Final = [i for i, form in self.forms.items() if form.sequence]
        capped = {
            limits.tool
            for form in self.forms.values()
            for limits in form.limits
            if limits.most < math.inf or limits.excluded is not None
        }
        ordered = {tool for tool, _ in self.ordered} if capped else set()
        self.clashing: Final = capped | ordered
        """The tools of which a call can make other rules impossible to satisfy."""
        self.related: Final = _components(self.forms)
        """For each tool, the rules connected with it by the tools they share."""
        self._fewest: Final[dict[tuple[int, ...], int]] = {}

    def fewest(self, pending: tuple[int, ...]) -> int:
        """The smallest number of calls that can match what these rules require.

        Cached, because every call of every run asks the same questions.
        """
        found = self._fewest.get(pending)
        if found is None:
            probes = [probe for i in pending if (probe := self.forms[i].required)]
            found = fewest_groups(probes) if len(probes) <= MAX_PATTERNS else largest_clique(probes)
            if len(self._fewest) >= MAX_CACHED:
                self._fewest.clear()
            self._fewest[pending] = found
        return found


def _components(forms: Mapping[int, JointForm]) -> dict[str, list[int]]:
    leader: dict[str, str] = {}

    def find(tool: str) -> str:
        while leader.setdefault(tool, tool) != tool:
            tool = leader[tool]
        return tool

    for form in forms.values():
        first, *others = form.tools
        for tool in others:
            leader[find(tool)] = find(first)
    together: dict[str, list[int]] = {}
    for i, form in forms.items():
        together.setdefault(find(form.tools[0]), []).append(i)
    return {tool: together[find(tool)] for tool in list(leader)}


# ── argument patterns that exclude each other need calls of their own ─────────────────────


def compatible(one: Probe, other: Probe) -> bool:
    """Can one call match both probes, which name the same tool?"""
    built: dict[str, Json] = {}
    patterns = [p for p in (*one.patterns, *other.patterns) if isinstance(p, f.ArgumentIs)]
    for pattern in sorted(patterns, key=lambda p: len(p.path)):
        expected = value_of(pattern.expected)
        found = lookup(built, pattern.path)
        if not _placed(built, pattern.path, expected) and not equal(found, expected):
            return False
    assert isinstance(one.tool, ToolName), "a joint form names single tools"
    call = Call(one.tool.name, built)
    return one.matches_call(call) and other.matches_call(call)


def _placed(tree: dict[str, Json], path: Sequence[str], value: Json) -> bool:
    """Puts a value at a path that is still empty; False if it is not."""
    for key in path[:-1]:
        below = tree.setdefault(key, {})
        if not isinstance(below, dict):
            return False
        tree = below
    if path[-1] in tree:
        return False
    tree[path[-1]] = value
    return True


def _conflicts(probes: Sequence[Probe]) -> list[set[int]]:
    return [
        {j for j, other in enumerate(probes) if j != i and not compatible(one, other)}
        for i, one in enumerate(probes)
    ]


def largest_clique(probes: Sequence[Probe]) -> int:
    """A number of probes that exclude each other pairwise, found greedily: a lower bound."""
    conflicts = _conflicts(probes)
    best = 1
    for start in range(len(probes)):
        members, candidates = {start}, set(conflicts[start])
        while candidates:
            chosen = max(candidates, key=lambda i: len(conflicts[i] & candidates))
            members.add(chosen)
            candidates &= conflicts[chosen]
        best = max(best, len(members))
    return best


def fewest_groups(probes: Sequence[Probe]) -> int:
    """The smallest number of groups in which no two probes exclude each other."""
    conflicts = _conflicts(probes)
    order = sorted(range(len(probes)), key=lambda i: -len(conflicts[i]))
    best = len(probes)

    def place(at: int, group: dict[int, int], used: int) -> None:
        nonlocal best
        if used >= best:
            return
        if at == len(order):
            best = used
            return
        probe = order[at]
        taken = {group[j] for j in conflicts[probe] if j in group}
        for each in range(used + 1):
            if each not in taken:
                group[probe] = each
                place(at + 1, group, max(used, each + 1))
                del group[probe]

    place(0, {}, 0)
    return best
