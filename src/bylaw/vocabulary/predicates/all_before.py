"""`AllBefore([a, b], c)`"""

from collections.abc import Iterable
from functools import reduce
from operator import and_

from bylaw.logic.formula import ToolList
from bylaw.logic.terms import Tool
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.predicate import (
    Hits,
    OperandKind,
    Outlook,
    Parameter,
    Predicate,
    Probe,
    State,
    Tracker,
)
from bylaw.vocabulary.predicates.instance_before import InstanceOrder
from bylaw.vocabulary.predicates.sentences import order_sentence
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, tools: ToolList, goal: Tool) -> Kleene:
    """The first call of each listed tool comes before the first call of `goal`; all happen."""
    answer: Kleene = True
    for tool in tools.tools:
        before = view.before(tool, 0, goal, 0)
        if before is False:
            return False
        answer = answer and before
    return answer


def witness(view: View, tools: ToolList, goal: Tool) -> list[int]:
    return view.positions(*tools.tools, goal)


def sentence(view: View, held: bool, tools: ToolList, goal: Tool) -> str:
    late = [t for t in tools.tools if view.before(t, 0, goal, 0) is False]
    return " ".join(order_sentence(view, (tool, 0), (goal, 0)) for tool in late or tools.tools)


class AllOrdered:
    """One `InstanceOrder` for each listed tool."""

    def __init__(self, parts: list[InstanceOrder]) -> None:
        self.parts = parts
        self.probes = tuple(probe for part in parts for probe in part.probes)
        self.counts_steps = any(part.counts_steps for part in parts)
        self.independent = False  # all parts share their goal
        self.start: State = tuple(part.start for part in parts)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        return tuple(
            part.advance(each, hits[2 * i : 2 * i + 2], new_step)
            for i, (part, each) in enumerate(self._each(state))
        )

    def holds(self, state: State) -> bool:
        return all(part.holds(each) for part, each in self._each(state))

    def outlook(self, state: State) -> Outlook:
        outlooks = [part.outlook(each) for part, each in self._each(state)]
        can_fail = any(outlook.false for outlook in outlooks)
        return Outlook(all(outlook.true for outlook in outlooks), can_fail)

    def distance(self, state: State, goal: bool) -> int:
        distances = [part.distance(each, goal) for part, each in self._each(state)]
        return sum(distances) if goal else min(distances)

    def _each(self, state: State) -> Iterable[tuple[InstanceOrder, State]]:
        return zip(self.parts, state, strict=True)


def track(order: Order, tools: ToolList, goal: Tool) -> Tracker:
    each = [InstanceOrder(order, (Probe(tool), 0), (Probe(goal), 0)) for tool in tools.tools]
    return AllOrdered(each)


def columns(calls: CorpusCalls, tools: ToolList, goal: Tool) -> TraceMask:
    end = calls.first(goal)
    return reduce(and_, [calls.before(calls.first(tool), end) for tool in tools.tools])


ALL_BEFORE = Predicate(
    "AllBefore",
    "AllBefore([lookup, verify], refund)",
    (Parameter("tools", OperandKind.TOOLS), Parameter("goal", OperandKind.TOOL)),
    holds,
    witness,
    sentence,
    track,
    columns,
)
