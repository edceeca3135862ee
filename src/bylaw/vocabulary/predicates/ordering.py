"""How an order of two calls is told; shared by the ordering predicates."""

from bylaw.logic.terms import Tool
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.view import View


def tell_order(view: View, first: tuple[Tool, int], second: tuple[Tool, int]) -> str:
    """`"a" (call #1) before "b" (call #5).`, or what is wrong with that."""
    places = [view.positions(tool, index=index) for tool, index in (first, second)]
    names = [_instance(tool, index) for tool, index in (first, second)]
    for name, place, (_, index) in zip(names, places, (first, second), strict=True):
        if not place:
            return f"{name} was never called." if index == 0 else f"There is no {name}."
    (earlier,), (later,) = places
    marked = [f"{names[0]} ({view.mark(earlier)})", f"{names[1]} ({view.mark(later)})"]
    if view.time(earlier) < view.time(later):
        return f"{marked[0]} before {marked[1]}."
    if view.time(earlier) == view.time(later) and earlier != later:
        return f"{marked[0]} in the same step as {marked[1]}."
    return f"{marked[0]} is not before {marked[1]}."


def _instance(tool: Tool, index: int) -> str:
    return title(tool) if index == 0 else f"{title(tool)} number {index + 1}"
