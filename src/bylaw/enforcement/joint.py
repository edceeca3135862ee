"""Rules that can each still be met, but not together.

`CalledWith(pay, amount = 5)` alone has no bad prefix: a later call can always meet it. If `pay` may
be called once and was called with another amount, it can no longer be met. This module answers
whether the rules of a procedure still have a common continuation, for rules of the forms that a
gold trace compiles to: `Called`, `CalledN`, `CalledWith`, `CalledExactly`, `BranchCalled`,
`Before`, `After`, `InstanceBefore`, `InOrder`, each over single tools.

The answer no is always right: every condition tested here is necessary. The answer yes is right,
too, where at most one `InOrder` is alive and no tool has more than twenty pending argument
patterns; else `decided` is False.

How: each tool has a least and a largest number of calls, from counts, orders, and the smallest
number of calls that can carry the pending argument patterns. Orders between instances make a
graph. The `InOrder` is carried out greedily, before each element only what the orders demand; what
is then still missing is added at the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bylaw.enforcement.forms import Edge, Form, Instance
from bylaw.enforcement.joint_rules import MAX_PATTERNS, JointRules
from bylaw.trace.event import Call
from bylaw.values import Json

MAX_CALLS: Final = 5_000
"""How many calls a continuation may have before the search for one is given up."""


@dataclass(slots=True)
class _State:
    """What the calls so far have done to the forms."""

    counts: dict[str, int] = field(default_factory=dict)
    reached: dict[Instance, int] = field(default_factory=dict)
    """When the instances that edges speak of were called."""
    met: set[int] = field(default_factory=set)
    """The constraints whose wanted call was made."""
    matched: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How much of each sequence is matched, and when the last match was."""

    def copy(self) -> _State:
        return _State(dict(self.counts), dict(self.reached), set(self.met), dict(self.matched))


class Joint:
    """Do the rules that are alive have a common continuation?"""

    def __init__(self, rules: JointRules, taking_part: Collection[int] | None = None) -> None:
        self._rules: Final = rules
        self._wanted_of: Final = {
            tool: [i for i in wanted if taking_part is None or i in taking_part]
            for tool, wanted in rules.wanted_of.items()
        }
        self.forms: Final = rules.forms
        self._state = _State()
        self._time = 0
        self.decided = True
        """Was every answer so far certain either way?"""

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def advance(self, call: Call, step: int) -> _State:
        """Takes in a call; returns what to hand to `undo`."""
        before = self._state
        if call.tool not in self._rules.related:
            return before
        state = before.copy()
        when = step if self._rules.by_step else self._time
        self._time += 1
        number = state.counts.get(call.tool, 0)
        state.counts[call.tool] = number + 1
        if (call.tool, number) in self._rules.instances:
            state.reached[call.tool, number] = when
        for i in self._wanted_of.get(call.tool, ()):
            wanted = self.forms[i].wanted
            if wanted is not None and i not in state.met and wanted.met_by(call):
                state.met.add(i)
        for i in self._rules.sequences:
            matched, last = state.matched.get(i, (0, -1))
            sequence = self.forms[i].sequence
            if matched < len(sequence) and sequence[matched] == call.tool and when > last:
                state.matched[i] = (matched + 1, when)
        self._state = state
        return before

    def undo(self, before: _State) -> None:
        """Takes the latest call back."""
        self._state = before

    def related(self, tool: str) -> Sequence[int]:
        """The constraints that a call of this tool can concern, directly or through others."""
        return self._rules.related.get(tool, ())

    def save(self) -> Json:
        """What the calls so far have done, as JSON."""
        state = self._state
        return {
            "counts": dict(state.counts),
            "reached": [[*instance, when] for instance, when in state.reached.items()],
            "met": sorted(state.met),
            "matched": [[i, *matched] for i, matched in state.matched.items()],
            "time": self._time,
            "decided": self.decided,
        }

    def restore(self, saved: Json) -> None:
        """Goes back to what was saved."""
        self._state = _State(
            dict(saved["counts"]),
            {(tool, number): when for tool, number, when in saved["reached"]},
            set(saved["met"]),
            {i: (matched, last) for i, matched, last in saved["matched"]},
        )
        self._time, self.decided = saved["time"], saved["decided"]

    def can_clash(self, tool: str) -> bool:
        """Can a call of this tool leave no room for other rules?

        Only if the tool may not be called at will, or stands in an order with one that may not.
        """
        return tool in self._rules.clashing

    # ── the question ─────────────────────────────────────────────────────────────────────

    def possible(self, alive: Collection[int]) -> bool:
        """Can all of these constraints still be met together? A no is certain."""
        chosen = [(i, self.forms[i]) for i in alive if i in self.forms]
        sequences = [i for i, form in chosen if form.sequence and self._rest(i)]
        if len(sequences) < 2:
            return self._plan(chosen, sequences)
        self.decided = False
        others = [(i, form) for i, form in chosen if not form.sequence]
        return all(self._plan([*others, (i, self.forms[i])], [i]) for i in sequences)

    def _rest(self, index: int) -> tuple[str, ...]:
        matched, _ = self._state.matched.get(index, (0, -1))
        return self.forms[index].sequence[matched:]

    def _plan(self, chosen: Sequence[tuple[int, Form]], sequences: Sequence[int]) -> bool:
        """Is there a continuation? `sequences` holds the one sequence that is not done, if any."""
        state = self._state
        least: dict[str, int] = {}
        most: dict[str, float] = {}
        not_so: set[Instance] = set()
        edges: list[Edge] = []
        pending: dict[str, list[int]] = {}

        def at_least(tool: str, number: int) -> None:
            least[tool] = max(least.get(tool, 0), number)

        for i, form in chosen:
            for bound in form.bounds:
                at_least(bound.tool, bound.least)
                most[bound.tool] = min(most.get(bound.tool, math.inf), bound.most)
                if bound.not_so is not None:
                    not_so.add((bound.tool, bound.not_so))
            if form.wanted and i not in state.met:
                pending.setdefault(form.wanted.tool, []).append(i)
            if form.edge and not self._won(form.edge):
                if self._lost(form.edge):
                    return False
                for tool, number in (form.edge.first, form.edge.second):
                    at_least(tool, number + 1)
                edges.append(form.edge)
        for tool, wanted in pending.items():
            at_least(tool, state.counts.get(tool, 0) + self._fewest(wanted))
        counts = dict(state.counts)
        if any(counts.get(tool, 0) > limit for tool, limit in most.items()):
            return False
        run = _Run(counts, edges, most)
        for index in sequences:
            if not all(run.call(tool) for tool in self._rest(index)):
                return self._gave_up(run)
        return self._filled(run, least, most, not_so)

    def _filled(
        self,
        run: _Run,
        least: dict[str, int],
        most: dict[str, float],
        not_so: Collection[Instance],
    ) -> bool:
        """Can what is still missing be added at the end?"""
        for tool in {*least, *most, *(tool for tool, _ in not_so)}:
            wanted = max(least.get(tool, 0), run.counts.get(tool, 0))
            while (tool, wanted) in not_so:
                wanted += 1
            least[tool] = wanted
            if wanted > most.get(tool, math.inf):
                return False
        for tool, wanted in least.items():
            while run.counts.get(tool, 0) < wanted:
                if not run.call(tool):
                    return self._gave_up(run)
        # What the orders made it call on the way may have hit a number that is excluded.
        return all(
            run.counts.get(tool, 0) != number or most.get(tool, math.inf) > number
            for tool, number in not_so
        )

    def _gave_up(self, run: _Run) -> bool:
        if run.exhausted:
            self.decided = False
            return True
        return False

    def _won(self, edge: Edge) -> bool:
        first, second = (self._state.reached.get(each) for each in (edge.first, edge.second))
        return first is not None and second is not None and first < second

    def _lost(self, edge: Edge) -> bool:
        return edge.second in self._state.reached and not self._won(edge)

    def _fewest(self, pending: Sequence[int]) -> int:
        """The smallest number of calls that can carry the arguments that these still want."""
        if len(pending) > MAX_PATTERNS:
            self.decided = False
        return self._rules.fewest(tuple(pending))

    # ── blame ────────────────────────────────────────────────────────────────────────────

    def conflict(self, alive: Iterable[int]) -> list[int]:
        """A smallest set of these constraints that cannot be met together; earlier ones stay."""
        kept = sorted(i for i in alive if i in self.forms)
        for i in reversed(list(kept)):
            rest = [each for each in kept if each != i]
            if not self.possible(rest):
                kept = rest
        return kept


class _Run:
    """Carries calls out, each after the calls that must come before it."""

    def __init__(
        self, counts: dict[str, int], edges: Sequence[Edge], most: dict[str, float]
    ) -> None:
        self.counts = counts
        self.most = most
        self.exhausted = False
        self._needs: dict[Instance, list[Instance]] = {}
        for edge in edges:
            self._needs.setdefault(edge.second, []).append(edge.first)
        self._made = 0

    def call(self, tool: str) -> bool:
        """Makes one call of a tool, and before it what must come first; False if it cannot."""
        wanted: list[Instance] = [(tool, self.counts.get(tool, 0))]
        under_way: set[Instance] = set()
        while wanted:
            name, number = wanted[-1]
            if self.counts.get(name, 0) > number:
                wanted.pop()  # it was made on the way
                continue
            if self.counts.get(name, 0) < number:
                before = (name, number - 1)
                if before in under_way:
                    return False
                under_way.add((name, number))
                wanted.append(before)
                continue
            missing = [
                (other, n)
                for other, n in self._needs.get((name, number), ())
                if self.counts.get(other, 0) <= n
            ]
            if missing:
                under_way.add((name, number))
                if missing[0] in under_way:
                    return False  # they wait for each other
                wanted.append(missing[0])
                continue
            if number + 1 > self.most.get(name, math.inf):
                return False
            self.counts[name] = number + 1
            self._made += 1
            if self._made > MAX_CALLS:
                self.exhausted = True
                return False
            under_way.discard((name, number))
            wanted.pop()
        return True
