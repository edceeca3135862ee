"""Events that an engine keeps, and their form in a saved state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from bylaw.frozen import record
from bylaw.saved import Damaged, choice, flag, listed, number, table, text, whole
from bylaw.trace.event import MISSING, ROLES, Call, Event, Message
from bylaw.values import Json
from bylaw.vocabulary.local import EventContext


@record
class MemoryEntry:
    """An event that was taken in."""

    moment: EventContext
    sure: bool
    """Is it known to meet the condition, or does that depend on its result?"""


_OPTIONAL: Final[Mapping[str, Callable[[Json], object]]] = {
    "error": text,
    "id": text,
    "start": number,
    "end": number,
    "agent": text,
    "usage": table,
}
"""The fields of a call that may be absent, and how each is checked."""
_OF_MESSAGES: Final = ("start", "agent", "usage")
"""Those of them that messages have."""


def event_record(event: Event) -> Json:
    """An event as JSON."""
    record: dict[str, Json]
    if isinstance(event, Message):
        record = {"role": event.role, "text": event.text, "step": event.step}
    else:
        record = {"tool": event.tool, "args": dict(event.args), "step": event.step}
        if event.result is not MISSING:
            record["result"] = event.result
    for name in _OF_MESSAGES if isinstance(event, Message) else _OPTIONAL:
        value = getattr(event, name)
        if value is not None:
            record[name] = value
    return record


def event_of(record: Json) -> Event:
    """The event that `event_record` wrote."""
    given = dict(table(record))
    step = given.pop("step", None)
    step = None if step is None else whole(step)
    if "role" in given:
        role, said = choice(given.pop("role"), ROLES), text(given.pop("text", None))
        _check_optional(given, _OF_MESSAGES)
        return Message(role, said, step, **given)  # type: ignore[arg-type]  # checked
    tool, args, result = given.pop("tool", None), given.pop("args", None), MISSING
    if "result" in given:
        result = given.pop("result")
    _check_optional(given, _OPTIONAL)
    return Call(text(tool), table(args), result, step, **given)


def _check_optional(given: Mapping[str, Json], allowed: Collection[str]) -> None:
    for name, value in given.items():
        if name not in allowed:
            raise Damaged(f"an event has no field {name!r}")
        _OPTIONAL[name](value)


def moment_record(moment: EventContext) -> Json:
    """An event with its position, as JSON."""
    return [event_record(moment.event), moment.position, moment.step, moment.pending]


def moment_of(record: Json, size: int) -> EventContext:
    """Reads what `moment_record` wrote; `size` is the number of variables."""
    event, position, step, pending = listed(record, 4)
    return EventContext(event_of(event), whole(position), whole(step), flag(pending), size)


def entry_record(entry: MemoryEntry) -> Json:
    """An entry as JSON."""
    return [moment_record(entry.moment), entry.sure]


def entry_of(record: Json, size: int) -> MemoryEntry:
    """The entry that `entry_record` wrote; `size` is the number of variables."""
    moment, sure = listed(record, 2)
    return MemoryEntry(moment_of(moment, size), flag(sure))
