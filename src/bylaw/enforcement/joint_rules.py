"""What the rules of a procedure ask of each other, worked out once for all its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from bylaw.enforcement.cover import clique, fewest_groups
from bylaw.enforcement.forms import Form, form_of
from bylaw.logic import formula as f
from bylaw.vocabulary.view import Order

MAX_PATTERNS: Final = 20
"""Up to how many pending patterns of one tool the smallest number of calls is found exactly."""

MAX_KEPT: Final = 10_000
"""How many answers are kept."""


class JointRules:
    """The forms of some rules, and how they hang together."""

    def __init__(self, formulas: Sequence[f.Formula], order: Order) -> None:
        forms = {i: form_of(formula) for i, formula in enumerate(formulas)}
        self.forms: Final = {i: form for i, form in forms.items() if form is not None}
        self.by_step: Final = order == "step"
        self.instances: Final = {
            instance
            for form in self.forms.values()
            if form.edge
            for instance in (form.edge.first, form.edge.second)
        }
        """The calls that orders speak of."""
        self.wanted_of: Final[dict[str, list[int]]] = {}
        self.sequences: Final = [i for i, form in self.forms.items() if form.sequence]
        for i, form in self.forms.items():
            if form.wanted:
                self.wanted_of.setdefault(form.wanted.tool, []).append(i)
        capped = {
            bound.tool
            for form in self.forms.values()
            for bound in form.bounds
            if bound.most < math.inf or bound.not_so is not None
        }
        ordered = {tool for tool, _ in self.instances} if capped else set()
        self.clashing: Final = capped | ordered
        """The tools of which a call can leave no room for other rules."""
        self.related: Final = _components(self.forms)
        self._covers: Final[dict[tuple[int, ...], int]] = {}

    def fewest(self, pending: tuple[int, ...]) -> int:
        """The smallest number of calls that can carry the arguments that these still want.

        The same question comes at every call of every run, so the answer is kept.
        """
        found = self._covers.get(pending)
        if found is None:
            wanted = [form.wanted for i in pending if (form := self.forms[i]).wanted]
            found = fewest_groups(wanted) if len(wanted) <= MAX_PATTERNS else clique(wanted)
            if len(self._covers) >= MAX_KEPT:
                self._covers.clear()
            self._covers[pending] = found
        return found


def _components(forms: Mapping[int, Form]) -> dict[str, list[int]]:
    """For each tool, the constraints that are linked with it by the tools they share."""
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
