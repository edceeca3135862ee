"""Columns of traces that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import MESSAGE, ROLE_CODES, Codes, Columns
from bylaw.columnar.segments import Segments
from bylaw.columnar.start_times import StartTimes
from bylaw.logic.terms import Term
from bylaw.trace.event import Call, Event, Missing
from bylaw.trace.trace import Events, Trace
from bylaw.values import Json
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.predicate import Probe
from bylaw.vocabulary.registry import Vocabulary


def columns_of(
    traces: Sequence[Trace], codes: Codes, events: Events = "calls", *, answer: bool = False
) -> tuple[Columns, NDArray[np.intp]]:
    """The columns of the traces that have at least one event, and the indices of those traces."""
    seen = [trace.seen(events, answer) for trace in traces]
    nonempty = np.array([index for index, each in enumerate(seen) if each], dtype=np.intp)
    lengths = np.array([len(seen[index]) for index in nonempty], dtype=np.int32)
    flat = [event for each in seen for event in each]
    tools = (event.tool if isinstance(event, Call) else MESSAGE for event in flat)
    steps = np.fromiter((event.step or 0 for event in flat), np.int64, len(flat))
    store = EventList(flat, [traces[index].metrics for index in nonempty])
    roles = (0 if isinstance(event, Call) else ROLE_CODES[event.role] for event in flat)
    spoken = np.fromiter(roles, np.int8, len(flat)) if events == "all" else None
    numbered = codes.of(tools, len(flat))
    return Columns(codes, Segments(lengths), numbered, steps, store, roles=spoken), nonempty


class EventList:
    """A store of events that are in memory."""

    def __init__(self, events: Sequence[Event], metrics: Sequence[Json]) -> None:
        self._events = events
        self._metrics = metrics
        self._known: dict[Probe, dict[int, bool]] = {}
        self.computed: dict[Term, dict[int, Seen]] = {}

    def event(self, number: int) -> Event:
        return self._events[number]

    def metrics(self, trace: int) -> Json:
        return self._metrics[trace]

    @cached_property
    def starts(self) -> StartTimes:
        return StartTimes([event.start for event in self._events])

    def texts(self, numbers: Sequence[int]) -> list[str | Missing]:
        return [self._events[number].text for number in numbers]

    def test(self, probe: Probe, numbers: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
        known = self._known.setdefault(probe, {})  # every instance of a quantifier asks again
        for number in numbers:
            if number not in known:
                known[number] = probe.matches(self._events[number], vocabulary)
        return [known[number] for number in numbers]
