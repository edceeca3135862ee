"""Events that an engine keeps, and their form in a saved state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bylaw.saved import flag, listed, whole
from bylaw.trace.event import Event
from bylaw.trace.trace import Trace
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext


@dataclass(slots=True)
class MemoryEntry:
    """An event that was taken in."""

    moment: EventContext
    sure: bool
    """Is it known to meet the condition, or does that depend on its result?"""


def event_record(event: Event) -> Json:
    """An event as JSON."""
    return [Trace([replace(event, step=0)]).to_record(), event.step]


def event_of(record: Json) -> Event:
    """The event that `event_record` wrote."""
    alone, step = listed(record, 2)
    (event,) = Trace.from_record(alone).seen("all", answer=True)
    return replace(event, step=None if step is None else whole(step))


def moment_record(moment: EventContext) -> Json:
    """An event with its position, as JSON."""
    return [event_record(moment.event), moment.position, moment.step, moment.pending]


def moment_of(record: Json, size: int) -> EventContext:
    """What `moment_record` wrote; `size` is the number of variables."""
    event, position, step, pending = listed(record, 4)
    return EventContext(event_of(event), whole(position), whole(step), flag(pending), size)


def entry_record(entry: MemoryEntry) -> Json:
    """An entry as JSON."""
    return [moment_record(entry.moment), entry.sure]


def entry_of(record: Json, size: int) -> MemoryEntry:
    """The entry that `entry_record` wrote; `size` is the number of variables."""
    moment, sure = listed(record, 2)
    return MemoryEntry(moment_of(moment, size), flag(sure))
