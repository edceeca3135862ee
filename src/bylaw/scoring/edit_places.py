"""The places where a call can be inserted, among the messages of a trace."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.trace.event import Call, Event, Message
from bylaw.trace.trace import Trace


def among_messages(seen: Sequence[Event], at: int, calls: int) -> str | None:
    """A description of a place right before a message, which call numbers do not determine."""
    follower = seen[at] if at < len(seen) else None
    if not isinstance(follower, Message):
        return None
    before = [event.tool for event in seen[:at] if isinstance(event, Call)]
    after = f"after call #{calls} ({before[-1]}), " if before else ""
    return f"{after}right before the {follower.role} message (event #{at + 1})"


def before_text(trace: Trace, place: int) -> int:
    """The place before the assistant's text of a turn, which stays next to the turn's calls."""
    events = trace.events
    while 0 < place < len(events) and not isinstance(events[place - 1], Call):
        if events[place - 1].step != events[place].step:
            break
        place -= 1
    return place
