"""Search of a graph that is explored on demand, within a budget of moves.

Two searches take turns: best-first, by an estimate of the distance, and depth-first. Each blows up
on cases that the other handles.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from bylaw.frozen import frozen

State = TypeVar("State")
Edge = TypeVar("Edge")


class OutOfBudget(Exception):
    """A question needs more moves than the budget allows."""


class MoveBudget:
    """A number of moves that one or more searches may make."""

    def __init__(self, moves: int) -> None:
        self.left = moves

    def spend(self, moves: int = 1) -> None:
        """Counts moves. Raises `OutOfBudget` if there are none left."""
        self.left -= moves
        if self.left < 0:
            raise OutOfBudget


@frozen
class Search(Generic[State, Edge]):
    """The states that a search visited."""

    came_from: dict[State, tuple[State, Edge] | None]
    """The state before each visited one, and the move between them."""
    found: State | None
    """The goal that was reached. None proves that no visited state reaches one."""

    def path(self) -> list[tuple[State, Edge, State]]:
        """The moves from the start to the goal, each with the states before and after it."""
        backwards = []
        after: Any = self.found
        while (link := self.came_from[after]) is not None:
            backwards.append((*link, after))
            after = link[0]
        return backwards[::-1]


def search(
    start: State,
    moves: Callable[[State], Iterable[tuple[Edge, State]]],
    *,
    is_goal: Callable[[State], bool],
    is_dead: Callable[[State], bool],
    distance: Callable[[State], int],
    budget: MoveBudget,
    cost: int = 1,
) -> Search[State, Edge]:
    """Looks for a goal. `is_dead` says that no goal is reachable from a state.

    The start is neither a goal nor dead. Each move takes `cost` from the budget; raises
    `OutOfBudget` if it is spent.
    """
    came_from: dict[State, tuple[State, Edge] | None] = {start: None}
    tie = itertools.count()
    heap = [(distance(start), next(tie), start)]
    stack: list[State] = []
    expanded: set[State] = set()
    best_first = True
    while heap or stack:
        source = heapq.heappop(heap)[2] if heap and (best_first or not stack) else stack.pop()
        if source in expanded:
            continue
        best_first = not best_first
        expanded.add(source)
        for edge, target in moves(source):
            budget.spend(cost)
            if target in came_from:
                continue
            came_from[target] = (source, edge)
            if is_goal(target):
                return Search(came_from, target)
            if is_dead(target):
                expanded.add(target)
                continue
            heapq.heappush(heap, (distance(target), next(tie), target))
            stack.append(target)
    return Search(came_from, None)
