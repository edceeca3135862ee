"""The joint test: do the rules of a procedure still have a common continuation?

`CalledWith(pay, amount = 5)` alone has no bad prefix: a later call can always satisfy it. If `pay`
may be called once and was called with another amount, no later call can. Rules whose predicate
has a joint form take part, over single tools and with values written out.

The answer no is always right: every condition tested here is necessary. The answer yes is right as
well if at most one sequence (`InOrder`) is unfinished and no tool has more than twenty pending
argument patterns; otherwise `decided` becomes False.

Each tool has a least and a largest number of calls. They follow from limits on counts, orders, and
the smallest number of calls that can match the pending argument patterns. Orders between calls
make a graph. The unfinished sequence is executed greedily, preceded at each element only by the
calls that the orders demand. The calls that are still missing are added at the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bylaw.enforcement.joint.rules import MAX_PATTERNS, JointRules
from bylaw.saved import choice, fields, flag, listed, table, text, whole
from bylaw.trace.event import Call
from bylaw.values import Json
from bylaw.vocabulary.joint_form import NthCall, Precedence

MAX_CALLS: Final = 5_000
"""The length of a continuation at which the search for one is given up."""


@dataclass(slots=True)
class _JointState:
    """The effect of the calls so far on the joint forms."""

    counts: dict[str, int] = field(default_factory=dict)
    reached: dict[NthCall, int] = field(default_factory=dict)
    """The times of the calls that some rule orders."""
    met: set[int] = field(default_factory=set)
    """The rules whose required call was made."""
    matched: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each sequence, the number of elements matched and the time of the last match."""

    def copy(self) -> _JointState:
        return _JointState(dict(self.counts), dict(self.reached), set(self.met), dict(self.matched))


class JointTest:
    """One run: the calls so far, and the rules that can still be satisfied together."""

    def __init__(self, rules: JointRules, enforced: Collection[int] | None = None) -> None:
        self._rules: Final = rules
        self._required_of: Final[dict[str, list[int]]] = {}
        for i, tool in rules.required_tool.items():
            if enforced is None or i in enforced:
                self._required_of.setdefault(tool, []).append(i)
        self.forms: Final = rules.forms
        self._state = _JointState()
        self._time = 0
        self.decided = True
        """Was every answer so far certain?"""

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def advance(self, call: Call, step: int) -> _JointState:
        """Adds a call; returns the state before it, for `undo`."""
        before = self._state
        if call.tool not in self._rules.related:
            return before
        state = before.copy()
        when = step if self._rules.by_step else self._time
        self._time += 1
        number = state.counts.get(call.tool, 0)
        state.counts[call.tool] = number + 1
        if (call.tool, number) in self._rules.ordered:
            state.reached[call.tool, number] = when
        for i in self._required_of.get(call.tool, ()):
            required = self.forms[i].required
            if required is not None and i not in state.met and required.matches_call(call):
                state.met.add(i)
        for i in self._rules.sequences:
            matched, last = state.matched.get(i, (0, -1))
            sequence = self.forms[i].sequence
            if matched < len(sequence) and sequence[matched] == call.tool and when > last:
                state.matched[i] = (matched + 1, when)
        self._state = state
        return before

    def undo(self, before: _JointState) -> None:
        """Removes the latest call."""
        self._state = before

    def related(self, tool: str) -> Sequence[int]:
        """The rules that a call of this tool can affect, directly or through other rules."""
        return self._rules.related.get(tool, ())

    def include(self, rules: Collection[int]) -> bool:
        """Does each of these rules take part? Otherwise the answer yes is not certain."""
        return len(rules) < 2 or all(i in self.forms for i in rules)

    def save(self) -> Json:
        """The state as JSON."""
        state = self._state
        return {
            "counts": dict(state.counts),
            "reached": [[*call, when] for call, when in state.reached.items()],
            "met": sorted(state.met),
            "matched": [[i, *matched] for i, matched in state.matched.items()],
            "time": self._time,
            "decided": self.decided,
        }

    def restore(self, saved: Json) -> None:
        """Restores a saved state."""
        counts, reached, met, matched, time, decided = fields(
            saved, "counts", "reached", "met", "matched", "time", "decided"
        )
        self._time, self.decided = whole(time), flag(decided)
        state = self._state = _JointState({k: whole(v) for k, v in table(counts).items()})
        for each in listed(reached):
            tool, number, when = listed(each, 3)
            state.reached[text(tool), whole(number)] = whole(when)
        state.met = {choice(i, self._rules.required_tool.keys()) for i in listed(met)}
        for each in listed(matched):
            index, elements, last = listed(each, 3)
            length = len(self.forms[choice(index, self._rules.sequences)].sequence)
            state.matched[index] = (whole(elements, 0, length), whole(last, -1))

    def can_clash(self, tool: str) -> bool:
        """Can a call of this tool make other rules impossible to satisfy?

        Only if the number of its calls is limited, or some limited tool is ordered with it.
        """
        return tool in self._rules.clashing

    # ── the common continuation ──────────────────────────────────────────────────────────

    def possible(self, alive: Collection[int]) -> bool:
        """Can all of these rules still be satisfied together? False is certain."""
        chosen = [i for i in alive if i in self.forms]
        sequences = [i for i in chosen if self._rest(i)]
        if len(sequences) < 2:
            return self._plan(chosen, sequences)
        self.decided = False
        others = [i for i in chosen if not self.forms[i].sequence]
        return all(self._plan(others, [i]) for i in sequences)

    def _rest(self, index: int) -> tuple[str, ...]:
        matched, _ = self._state.matched.get(index, (0, -1))
        return self.forms[index].sequence[matched:]

    def _plan(self, chosen: Collection[int], sequences: Sequence[int]) -> bool:
        """Is there a continuation? `sequences` has at most one element, the unfinished sequence."""
        state = self._state
        least: dict[str, int] = {}
        most: dict[str, float] = {}
        excluded: set[NthCall] = set()
        orders: list[Precedence] = []
        pending: dict[str, list[int]] = {}

        def at_least(tool: str, number: int) -> None:
            least[tool] = max(least.get(tool, 0), number)

        for i in chosen:
            form = self.forms[i]
            for limits in form.limits:
                at_least(limits.tool, limits.least)
                most[limits.tool] = min(most.get(limits.tool, math.inf), limits.most)
                if limits.excluded is not None:
                    excluded.add((limits.tool, limits.excluded))
            if form.precedence and not self._won(form.precedence):
                if self._lost(form.precedence):
                    return False
                for tool, number in (form.precedence.first, form.precedence.second):
                    at_least(tool, number + 1)
                orders.append(form.precedence)
            if form.required and i not in state.met:
                pending.setdefault(self._rules.required_tool[i], []).append(i)
        for tool, requiring in pending.items():
            at_least(tool, state.counts.get(tool, 0) + self._fewest(tuple(requiring)))
        counts = dict(state.counts)
        if any(counts.get(tool, 0) > limit for tool, limit in most.items()):
            return False
        plan = _Plan(counts, orders, most)
        for index in sequences:
            if not all(plan.call(tool) for tool in self._rest(index)):
                return self._gave_up(plan)
        return self._filled(plan, least, most, excluded)

    def _filled(
        self,
        plan: _Plan,
        least: dict[str, int],
        most: dict[str, float],
        excluded: Collection[NthCall],
    ) -> bool:
        """Can the calls that are still missing be added at the end?"""
        for tool in {*least, *most, *(tool for tool, _ in excluded)}:
            wanted = max(least.get(tool, 0), plan.counts.get(tool, 0))
            while (tool, wanted) in excluded:
                wanted += 1
            least[tool] = wanted
            if wanted > most.get(tool, math.inf):
                return False
        for tool, wanted in least.items():
            while plan.counts.get(tool, 0) < wanted:
                if not plan.call(tool):
                    return self._gave_up(plan)
        # The calls that orders demanded may have led to an excluded number.
        return all(
            plan.counts.get(tool, 0) != number or most.get(tool, math.inf) > number
            for tool, number in excluded
        )

    def _gave_up(self, plan: _Plan) -> bool:
        if plan.exhausted:
            self.decided = False
            return True
        return False

    def _won(self, order: Precedence) -> bool:
        first, second = (self._state.reached.get(each) for each in (order.first, order.second))
        return first is not None and second is not None and first < second

    def _lost(self, order: Precedence) -> bool:
        return order.second in self._state.reached and not self._won(order)

    def _fewest(self, pending: tuple[int, ...]) -> int:
        """The smallest number of calls that can match what these rules require."""
        if len(pending) > MAX_PATTERNS:
            self.decided = False
        return self._rules.fewest(pending)

    # ── blame ────────────────────────────────────────────────────────────────────────────

    def conflict(self, alive: Iterable[int]) -> list[int]:
        """A minimal set of these rules that cannot be satisfied together; prefers earlier rules."""
        kept = sorted(i for i in alive if i in self.forms)
        for i in reversed(list(kept)):
            rest = [each for each in kept if each != i]
            if not self.possible(rest):
                kept = rest
        return kept


class _Plan:
    """A continuation: each call comes after the calls that must precede it."""

    def __init__(
        self, counts: dict[str, int], orders: Sequence[Precedence], most: dict[str, float]
    ) -> None:
        self.counts = counts
        self.most = most
        self.exhausted = False
        self._needs: dict[NthCall, list[NthCall]] = {}
        for order in orders:
            self._needs.setdefault(order.second, []).append(order.first)
        self._made = 0

    def call(self, tool: str) -> bool:
        """Adds one call of a tool, after the calls that must precede it; False if it cannot."""
        wanted: list[NthCall] = [(tool, self.counts.get(tool, 0))]
        under_way: set[NthCall] = set()
        while wanted:
            name, number = wanted[-1]
            if self.counts.get(name, 0) > number:
                wanted.pop()  # another call needed it
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
