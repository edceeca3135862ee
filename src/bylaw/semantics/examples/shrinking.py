"""Making a trace smaller, one part at a time, as long as it shows the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from bylaw.trace.event import MISSING, Event, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json

_DETAILS: Final = ("end", "agent", "usage")
"""Not the start: an event without a time breaks every rule about time, which shows little."""


def size_of(trace: Trace) -> tuple[int, int, int]:
    """The size of a trace: its events, then those that share a step, then what is written."""
    events = len(trace.events) + (trace.answer is not None)
    steps = len({event.step for event in trace.events})
    written = write_json(trace.to_record())
    empty = 20 * written.count('""')  # an empty text is short, but says little
    return events, len(trace.events) - steps, len(written) + empty


def minimised(trace: Trace, suits: Callable[[Trace], bool]) -> Trace:
    """The trace after removing the parts that are not needed."""
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in smaller_traces(trace):
            if suits(smaller):
                trace, shrinking = smaller, True
                break
    return trace


def smaller_traces(trace: Trace) -> Iterator[Trace]:
    """The trace with one part removed, in every way; the largest parts first."""
    events = trace.events

    def with_events(changed: list[Event]) -> Trace:
        return Trace(changed, answer=trace.answer, metrics=trace.metrics, labels=trace.labels)

    for i in range(len(events)):
        yield with_events([*events[:i], *events[i + 1 :]])
    if trace.answer is not None:
        yield Trace(events, metrics=trace.metrics, labels=trace.labels)
    for metrics in _less(dict(trace.metrics)):
        yield Trace(events, answer=trace.answer, metrics=metrics, labels=trace.labels)
    for labels in _less(dict(trace.labels)):
        yield Trace(events, answer=trace.answer, metrics=trace.metrics, labels=labels)
    if len({event.step for event in events}) < len(events):
        for i in range(1, len(events)):
            if events[i].step == events[i - 1].step:
                apart = [replace(e, step=(e.step or 0) + (j >= i)) for j, e in enumerate(events)]
                yield with_events(apart)
    for i, event in enumerate(events):
        for less in smaller_events(event):
            yield with_events([*events[:i], less, *events[i + 1 :]])


def smaller_events(event: Event) -> Iterator[Event]:
    """The event with one part removed, in every way."""
    for name in _DETAILS:
        if getattr(event, name, None) is not None:
            without: Any = {name: None}
            yield replace(event, **without)
    if event.usage is not None:
        yield from (replace(event, usage=less) for less in _less(dict(event.usage)))
    if isinstance(event, Message):
        if event.text:
            yield replace(event, text="")
            for word in event.text.split() if " " in event.text else ():
                yield replace(event, text=word)
        return
    if event.error is not None:
        yield replace(event, error=None)
    if event.result is not MISSING:
        yield replace(event, result=MISSING)
        if isinstance(event.result, list) and len(event.result) == 1:
            yield replace(event, result=event.result[0])
        for less in _less(event.result):
            yield replace(event, result=less)
    for less in _less(dict(event.args)):
        yield replace(event, args=less)


def _less(value: Json) -> Iterator[Json]:
    """A value with one part removed, in every way."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: less} for less in _less(inner))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield [*value[:i], *value[i + 1 :]]
            yield from ([*value[:i], less, *value[i + 1 :]] for less in _less(inner))
    elif isinstance(value, str) and " " in value:
        yield from value.split()
