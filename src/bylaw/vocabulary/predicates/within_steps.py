"""`WithinSteps(a, b, k)`"""

from collections.abc import Sequence

from bylaw.logic.terms import Term, Tool
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.signature import Kind, Parameter, Predicate
from bylaw.vocabulary.view import Kleene, View, at_or_after


def holds(view: View, first: Tool, second: Tool, limit: Term) -> Kleene:
    """A call of `second` comes at most `limit` positions after the first call of `first`."""
    number = view.number(limit)
    starts, ends = view.occurrences(first), view.occurrences(second)
    if number is None:
        return False
    certain_start = starts.certain[0] if starts.certain else None
    candidates = [p for p in starts.possible if certain_start is None or p <= certain_start]
    possible = [_within(ends.possible, start, number) for start in candidates]
    certain = [_within(ends.certain, start, number) for start in candidates]
    if not any(possible):
        return False
    return True if certain_start is not None and all(certain) else None


def witness(view: View, first: Tool, second: Tool, limit: Term) -> list[int]:
    starts = view.positions(first)
    if not starts:
        return []
    end = at_or_after(view.occurrences(second).certain, starts[0])
    return sorted({*starts, *([] if end is None else [end])})


def sentence(view: View, held: bool, first: Tool, second: Tool, limit: Term) -> str:
    places = witness(view, first, second, limit)
    if not places:
        return f"{title(first)} was never called."
    end = at_or_after(view.occurrences(second).certain, places[0])
    start = f"{title(first)} ({view.mark(places[0])})"
    if end is None:
        return f"{title(second)} was never called after {start}."
    return (
        f"{title(second)} ({view.mark(end)}) came {end - places[0]} position(s) after {start}; "
        f"expected at most {view.shown(limit)}."
    )


def _within(positions: Sequence[int], start: int, limit: int) -> bool:
    end = at_or_after(positions, start)
    return end is not None and end - start <= limit


WITHIN_STEPS = Predicate(
    "WithinSteps",
    "WithinSteps(open, close, 3)",
    (
        Parameter("first", Kind.TOOL),
        Parameter("second", Kind.TOOL),
        Parameter("limit", Kind.NUMBER),
    ),
    holds,
    witness,
    sentence,
)
