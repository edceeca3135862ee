"""Sentences that several predicates share: about calls with certain arguments, and about order."""

from collections.abc import Sequence

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool
from bylaw.trace.event import Call
from bylaw.values import write_json
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.view import View

_SHOWN = 3


def match_sentence(
    view: View,
    held: bool,
    tool: Tool,
    arguments: Arguments,
    places: Sequence[int],
    *,
    exactly: str = "",
    wanted: str = "",
) -> str:
    """`"pay" was called with amount = 5 (call #2).`, or the arguments that were found instead."""
    pairs = [f"{'.'.join(p.path)} = {view.shown(p.expected)}" for p in arguments.patterns]
    asked = " and ".join(filter(None, [exactly + ", ".join(pairs) if pairs else "", wanted]))
    asked = asked or ("no arguments" if exactly else "any arguments")
    if held:
        return f"{title(tool)} was called with {asked} ({view.mark(places[0])})."
    if not places:
        return f"{title(tool)} was never called; expected {asked}."
    found = [f"{_arguments(view, place)} ({view.mark(place)})" for place in places[:_SHOWN]]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"{title(tool)} was never called with {asked}, only {', '.join(found)}{more}."


def _arguments(view: View, position: int) -> str:
    event = view.events[position]
    text = write_json(dict(event.args)) if isinstance(event, Call) else ""
    return text if len(text) <= 60 else f"{text[:59]}…"


def order_sentence(view: View, first: tuple[Tool, int], second: tuple[Tool, int]) -> str:
    """`"a" (call #1) before "b" (call #5).`, or the reason why not."""
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
