"""How a search for a call with certain arguments is told."""

from collections.abc import Sequence

from bylaw.logic.formula import Arguments
from bylaw.logic.terms import Tool
from bylaw.trace.event import Call
from bylaw.values import write_json
from bylaw.vocabulary.patterns import title
from bylaw.vocabulary.view import View

_SHOWN = 3


def tell_match(
    view: View,
    held: bool,
    tool: Tool,
    arguments: Arguments,
    places: Sequence[int],
    *,
    exactly: str = "",
    wanted: str = "",
) -> str:
    """`"pay" was called with amount = 5 (call #2).`, or what was called instead."""
    pairs = [f"{'.'.join(p.path)} = {view.shown(p.expected)}" for p in arguments.patterns]
    asked = " and ".join(filter(None, [exactly + ", ".join(pairs) if pairs else "", wanted]))
    asked = asked or ("no arguments" if exactly else "any arguments")
    if held:
        return f"{title(tool)} was called with {asked} ({view.mark(places[0])})."
    if not places:
        return f"{title(tool)} was never called; expected {asked}."
    found = [f"{_given(view, place)} ({view.mark(place)})" for place in places[:_SHOWN]]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"{title(tool)} was never called with {asked}, only {', '.join(found)}{more}."


def _given(view: View, position: int) -> str:
    event = view.events[position]
    text = write_json(dict(event.args)) if isinstance(event, Call) else ""
    return text if len(text) <= 60 else f"{text[:59]}…"
