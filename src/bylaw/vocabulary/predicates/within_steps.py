"""`WithinSteps(a, b, k)`"""

from bisect import bisect_left
from collections.abc import Sequence

from bylaw.logic.terms import Tool
from bylaw.vocabulary.corpus_calls import CorpusCalls, TraceMask
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.predicate import (
    OPEN,
    Hits,
    OperandKind,
    Outlook,
    Parameter,
    Predicate,
    Probe,
    State,
    Tracker,
    apart,
    settled,
)
from bylaw.vocabulary.view import Kleene, Order, View


def holds(view: View, first: Tool, second: Tool, limit: int) -> Kleene:
    """A call of `second` comes at most `limit` positions after the first call of `first`."""
    starts, ends = view.occurrences(first), view.occurrences(second)
    certain_start = starts.certain[0] if starts.certain else None
    candidates = [p for p in starts.possible if certain_start is None or p <= certain_start]
    possible = [_within(ends.possible, start, limit) for start in candidates]
    certain = [_within(ends.certain, start, limit) for start in candidates]
    if not any(possible):
        return False
    return True if certain_start is not None and all(certain) else None


def witness(view: View, first: Tool, second: Tool, limit: int) -> list[int]:
    starts = view.positions(first)
    if not starts:
        return []
    end = _at_or_after(view.occurrences(second).certain, starts[0])
    return sorted({*starts, *([] if end is None else [end])})


def sentence(view: View, held: bool, first: Tool, second: Tool, limit: int) -> str:
    places = witness(view, first, second, limit)
    if not places:
        return f"{title(first)} was never called."
    end = _at_or_after(view.occurrences(second).certain, places[0])
    start = f"{title(first)} ({view.mark(places[0])})"
    if end is None:
        return f"{title(second)} was never called after {start}."
    return (
        f"{title(second)} ({view.mark(end)}) came {end - places[0]} position(s) after {start}; "
        f"expected at most {limit}."
    )


def _at_or_after(positions: Sequence[int], position: int) -> int | None:
    """The first of the sorted positions that is not before this one."""
    index = bisect_left(positions, position)
    return positions[index] if index < len(positions) else None


def _within(positions: Sequence[int], start: int, limit: int) -> bool:
    end = _at_or_after(positions, start)
    return end is not None and end - start <= limit


class Window:
    """The number of positions since the first call, until the second call or the limit."""

    counts_steps = False
    start: State = "waiting"

    def __init__(self, first: Probe, second: Probe, limit: int) -> None:
        self.probes: tuple[Probe, ...] = (first, second)
        self.limit = limit
        self.independent = limit > 0 and apart(self.probes)

    def advance(self, state: State, hits: Hits, new_step: bool) -> State:
        if state in ("met", "missed") or (state == "waiting" and not hits[0]):
            return state
        elapsed = 0 if state == "waiting" else state + 1
        if hits[1]:
            return "met"
        return "missed" if elapsed >= self.limit else elapsed

    def holds(self, state: State) -> bool:
        return bool(state == "met")

    def outlook(self, state: State) -> Outlook:
        return settled(state == "met") if state in ("met", "missed") else OPEN

    def distance(self, state: State, goal: bool) -> int:
        if state == "waiting":
            return 2 if goal else 0
        return int((state == "met") is not goal)


def track(order: Order, first: Tool, second: Tool, limit: int) -> Tracker:
    return Window(Probe(first), Probe(second), limit)


def columns(calls: CorpusCalls, first: Tool, second: Tool, limit: int) -> TraceMask:
    start = calls.first(first)
    end = calls.at_or_after(second, start)
    return end.exist & (end.positions - start.positions <= limit)


WITHIN_STEPS = Predicate(
    "WithinSteps",
    "WithinSteps(open, close, 3)",
    (
        Parameter("first", OperandKind.TOOL),
        Parameter("second", OperandKind.TOOL),
        Parameter("limit", OperandKind.NUMBER),
    ),
    holds,
    witness,
    sentence,
    track,
    columns,
)
