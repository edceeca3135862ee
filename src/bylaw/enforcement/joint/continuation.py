"""The joint test: do the rules of a procedure still have a common continuation?

`CalledWith(pay, amount = 5)` alone has no bad prefix: a later call can always satisfy it. If `pay`
may be called once and was called with another amount, no later call can. Rules whose predicate
has a joint form take part, over single tools and with values written out.

The answer no is always right: every condition tested here is necessary. The answer yes is right as
well if at most one sequence (`InOrder`) is unfinished and no tool has more than twenty pending
argument patterns; otherwise `certain` is False.

Each tool has a least and a largest number of calls. They follow from limits on counts, orders, and
the smallest number of calls that can match the pending argument patterns. Orders between calls
make a graph. The unfinished sequence is executed greedily, preceded at each element only by the
calls that the orders demand. The calls that are still missing are added at the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bylaw.enforcement.joint.rules import MAX_PATTERNS, JointRules
from bylaw.saved import choice, fields, listed, table, text, whole
from bylaw.trace.event import Call
from bylaw.values import Json
from bylaw.vocabulary.joint_form import NthCall, Precedence

MAX_CALLS: Final = 5_000
"""The length of a continuation at which the search for one is given up."""
_UNMATCHED: Final = (0, -1)
"""The matched part of a sequence at first, and its time."""


class CallRecord:
    """The effect of one call on the joint forms, for `undo`."""

    tool: str | None = None
    """The tool that was counted, if some rule names it."""
    reached: NthCall | None = None
    met: Sequence[int] = ()
    """The rules whose required call it was."""
    matched: Mapping[int, tuple[int, int]] = MappingProxyType({})
    """The sequences that the call continued, with what was matched before."""


class JointTest:
    """One run: the calls so far, and the rules that can still be satisfied together."""

    def __init__(self, rules: JointRules, enforced: Collection[int] | None = None) -> None:
        self._rules: Final = rules
        self._required_of: Final[dict[str, list[int]]] = {}
        for i, tool in rules.required_tool.items():
            if enforced is None or i in enforced:
                self._required_of.setdefault(tool, []).append(i)
        self.forms: Final = rules.forms
        self._counts: dict[str, int] = {}
        self._reached: dict[NthCall, int] = {}
        """The times of the calls that some rule orders."""
        self._met: set[int] = set()
        """The rules whose required call was made."""
        self._matched: dict[int, tuple[int, int]] = {}
        """For each sequence, the number of elements matched and the time of the last match."""
        self._time = 0
        self.certain = True
        """Was the latest answer certain?"""

    # ── calls ────────────────────────────────────────────────────────────────────────────

    def advance(self, call: Call, step: int) -> CallRecord:
        """Adds a call; returns its effect, for `undo`."""
        tool, record = call.tool, CallRecord()
        if tool not in self._rules.related:
            return record
        when = step if self._rules.by_step else self._time
        self._time += 1
        record.tool, number = tool, self._counts.get(tool, 0)
        self._counts[tool] = number + 1
        if (tool, number) in self._rules.ordered:
            record.reached = (tool, number)
            self._reached[tool, number] = when
        for i in self._required_of.get(tool, ()):
            required = self.forms[i].required
            if required is not None and i not in self._met and required.matches_call(call):
                record.met = [*record.met, i]
                self._met.add(i)
        for i in self._rules.sequences:
            matched, last = self._matched.get(i, _UNMATCHED)
            sequence = self.forms[i].sequence
            if matched < len(sequence) and sequence[matched] == tool and when > last:
                record.matched = {**record.matched, i: (matched, last)}
                self._matched[i] = (matched + 1, when)
        return record

    def undo(self, record: CallRecord) -> None:
        """Removes the latest call."""
        if record.tool is None:
            return
        self._time -= 1
        self._counts[record.tool] -= 1
        if not self._counts[record.tool]:
            del self._counts[record.tool]  # as if the call had not been proposed
        if record.reached is not None:
            del self._reached[record.reached]
        self._met.difference_update(record.met)
        self._matched.update(record.matched)

    def related(self, tool: str) -> Sequence[int]:
        """The rules that a call of this tool can affect, directly or through other rules."""
        return self._rules.related.get(tool, ())

    def save(self) -> Json:
        """The state as JSON."""
        return {
            "counts": dict(self._counts),
            "reached": [[*call, when] for call, when in self._reached.items()],
            "met": sorted(self._met),
            "matched": [[i, *matched] for i, matched in self._matched.items()],
            "time": self._time,
        }

    def restore(self, saved: Json) -> None:
        """Restores a saved state."""
        names = ("counts", "reached", "met", "matched", "time")
        counts, reached, met, matched, time = fields(saved, *names)
        self._time = whole(time)
        self._counts = {k: whole(v) for k, v in table(counts).items()}
        self._reached, self._matched = {}, {}
        for each in listed(reached):
            tool, number, when = listed(each, 3)
            self._reached[text(tool), whole(number)] = whole(when)
        self._met = {choice(i, self._rules.required_tool.keys()) for i in listed(met)}
        for each in listed(matched):
            index, elements, last = listed(each, 3)
            length = len(self.forms[choice(index, self._rules.sequences)].sequence)
            self._matched[index] = (whole(elements, 0, length), whole(last, -1))

    def can_clash(self, tool: str) -> bool:
        """Can a call of this tool make other rules impossible to satisfy?

        Only if the number of its calls is limited, or some limited tool is ordered with it.
        """
        return tool in self._rules.clashing

    # ── the common continuation ──────────────────────────────────────────────────────────

    def possible(self, alive: Collection[int]) -> bool:
        """Can all of these rules still be satisfied together? False is certain."""
        self.certain = True
        chosen = [i for i in alive if i in self.forms]
        sequences = [i for i in chosen if self._rest(i)]
        if len(sequences) < 2:
            return self._plan(chosen, sequences)
        self.certain = False
        others = [i for i in chosen if not self.forms[i].sequence]
        return all(self._plan(others, [i]) for i in sequences)

    def _rest(self, index: int) -> tuple[str, ...]:
        matched, _ = self._matched.get(index, _UNMATCHED)
        return self.forms[index].sequence[matched:]

    def _plan(self, chosen: Collection[int], sequences: Sequence[int]) -> bool:
        """Is there a continuation? `sequences` has at most one element, the unfinished sequence."""
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
            if form.required and i not in self._met:
                pending.setdefault(self._rules.required_tool[i], []).append(i)
        for tool, requiring in pending.items():
            at_least(tool, self._counts.get(tool, 0) + self._fewest(tuple(requiring)))
        if any(self._counts.get(tool, 0) > limit for tool, limit in most.items()):
            return False
        plan = _Plan(self._counts, orders, most)
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
            wanted = max(least.get(tool, 0), plan.count(tool))
            while (tool, wanted) in excluded:
                wanted += 1
            least[tool] = wanted
            if wanted > most.get(tool, math.inf):
                return False
        for tool, wanted in least.items():
            while plan.count(tool) < wanted:
                if not plan.call(tool):
                    return self._gave_up(plan)
        # The calls that orders demanded may have led to an excluded number.
        return all(
            plan.count(tool) != number or most.get(tool, math.inf) > number
            for tool, number in excluded
        )

    def _gave_up(self, plan: _Plan) -> bool:
        if plan.exhausted:
            self.certain = False
            return True
        return False

    def _won(self, order: Precedence) -> bool:
        first, second = (self._reached.get(each) for each in (order.first, order.second))
        return first is not None and second is not None and first < second

    def _lost(self, order: Precedence) -> bool:
        return order.second in self._reached and not self._won(order)

    def _fewest(self, pending: tuple[int, ...]) -> int:
        """The smallest number of calls that can match what these rules require."""
        if len(pending) > MAX_PATTERNS:
            self.certain = False
        return self._rules.fewest(pending)


class _Plan:
    """A continuation: each call comes after the calls that must precede it."""

    def __init__(
        self, counts: Mapping[str, int], orders: Sequence[Precedence], most: dict[str, float]
    ) -> None:
        self._counts = counts
        self._more: dict[str, int] = {}
        """The calls of each tool in the continuation."""
        self.most = most
        self.exhausted = False
        self._needs: dict[NthCall, list[NthCall]] = {}
        for order in orders:
            self._needs.setdefault(order.second, []).append(order.first)
        self._made = 0

    def count(self, tool: str) -> int:
        """The number of calls of a tool, with the continuation."""
        return self._counts.get(tool, 0) + self._more.get(tool, 0)

    def call(self, tool: str) -> bool:
        """Adds one call of a tool, after the calls that must precede it; False if it cannot."""
        wanted: list[NthCall] = [(tool, self.count(tool))]
        under_way: set[NthCall] = set()
        while wanted:
            name, number = wanted[-1]
            if self.count(name) > number:
                wanted.pop()  # another call needed it
                continue
            if self.count(name) < number:
                before = (name, number - 1)
                if before in under_way:
                    return False
                under_way.add((name, number))
                wanted.append(before)
                continue
            missing = [
                (other, n)
                for other, n in self._needs.get((name, number), ())
                if self.count(other) <= n
            ]
            if missing:
                under_way.add((name, number))
                if missing[0] in under_way:
                    return False  # they wait for each other
                wanted.append(missing[0])
                continue
            if number + 1 > self.most.get(name, math.inf):
                return False
            self._more[name] = self._more.get(name, 0) + 1
            self._made += 1
            if self._made > MAX_CALLS:
                self.exhausted = True
                return False
            under_way.discard((name, number))
            wanted.pop()
        return True
