"""Traces that differ from one in a single respect.

Two rules that differ in one condition often differ on a trace that satisfies both but for one
detail: a call that failed, another value, a message of someone else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bylaw.semantics.examples.fitting_values import FRESH
from bylaw.semantics.examples.shrinking import smaller_traces
from bylaw.trace.event import MISSING, Call, Event, Message, Role
from bylaw.trace.trace import Trace
from bylaw.values import Json, is_number

_ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "system")
_SHIFTS: Final = (-1, 1, -60, 60, -3600, 3600, -86400, 86400)
"""Changes of a start, in seconds."""
_OTHER: Final = "something_else"


def nearby(trace: Trace) -> Iterator[Trace]:
    """The trace with one detail changed or removed, or one event repeated, in many ways."""
    events = trace.events

    def with_events(changed: list[Event]) -> Trace:
        return Trace(changed, answer=trace.answer, metrics=trace.metrics, labels=trace.labels)

    yield from smaller_traces(trace)
    for i, event in enumerate(events):
        for other in _other_events(event):
            yield with_events([*events[:i], other, *events[i + 1 :]])
        for j in range(i + 1, len(events) + 1):
            later = [replace(e, step=(e.step or 0) + 1) for e in events[j:]]
            step = (events[j - 1].step or 0) + 1
            yield with_events([*events[:j], replace(event, step=step), *later])
            if isinstance(event, Call):
                yield with_events([*events[:j], Call(event.tool, step=step), *later])
        if i and events[i - 1].step != event.step and isinstance(event, Call):
            joined = [replace(e, step=(e.step or 0) - 1) for e in events[i:]]
            yield with_events([*events[:i], *joined])
    for i in range(1, len(events)):
        one, other = events[i - 1], events[i]
        swapped = (replace(other, step=one.step), replace(one, step=other.step))
        yield with_events([*events[: i - 1], *swapped, *events[i + 1 :]])
    for role in _ROLES:
        yield with_events([*events, Message(role, "", _after(trace))])
    yield with_events([*events, Call(_OTHER, step=_after(trace))])
    if trace.answer is None:
        yield Trace(events, answer="x", metrics=trace.metrics, labels=trace.labels)


def _after(trace: Trace) -> int:
    return (trace.events[-1].step or 0) + 1 if trace.events else 0


def _other_events(event: Event) -> Iterator[Event]:
    """The event with one detail changed."""
    if event.start is not None:
        yield from (replace(event, start=event.start + shift) for shift in _SHIFTS)
    if event.agent is not None:
        yield replace(event, agent=FRESH[-1])
    if event.usage is not None:
        for usage in _others(dict(event.usage)):
            yield replace(event, usage=usage)
    if isinstance(event, Message):
        for role in _ROLES:
            if role != event.role:
                yield replace(event, role=role)
        for text in ("no", f"{event.text} no", f"no {event.text}", f"{event.text}{event.text}"):
            yield replace(event, text=text)
        yield Call(_OTHER, result=event.text, step=event.step)
        yield Call(_OTHER, result=event.text, step=event.step, error="failed")
        return
    yield replace(event, error=None if event.failed else "failed")
    if event.result is not MISSING:
        yield Call(event.tool, event.args, event.result, event.step, "failed")
        yield Message("assistant", str(event.text), event.step)
    else:
        yield replace(event, result="done")
    yield replace(event, tool=_OTHER)
    yield replace(event, args={**event.args, "x": "x"})
    for args in _others(dict(event.args)):
        if isinstance(args, dict):
            yield replace(event, args=args)
    if event.result is not MISSING:
        for result in _others(event.result):
            yield replace(event, result=result)


def _others(value: Json) -> Iterator[Json]:
    """The value with one part changed, in a few ways."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in _others(inner))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in _others(inner))
        yield [*value, *value[-1:]]
        yield [*value, FRESH[-1]]
    elif isinstance(value, bool):
        yield not value
    elif is_number(value):
        yield from (value + 1, value - 1, -value, str(value))
    else:
        yield from (FRESH[-1], f"{value}{FRESH[0]}", 1)
