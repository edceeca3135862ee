"""Columns of traces that have been read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import MESSAGE, Codes, Columns, Kept
from bylaw.columnar.segments import Segments
from bylaw.trace.event import Call
from bylaw.trace.trace import Events, Trace


def columns_of(
    traces: Sequence[Trace], codes: Codes, events: Events = "calls", *, answer: bool = False
) -> tuple[Columns, NDArray[np.intp]]:
    """What rules see of the traces that have an event at all, and which traces those are."""
    views = [trace.seen(events, answer) for trace in traces]
    there = np.array([number for number, view in enumerate(views) if view], dtype=np.intp)
    lengths = np.array([len(views[number]) for number in there], dtype=np.int32)
    seen = [event for view in views for event in view]
    tools = (event.tool if isinstance(event, Call) else MESSAGE for event in seen)
    steps = np.fromiter((event.step or 0 for event in seen), np.int64, len(seen))
    kept = Kept(seen, [traces[number].metrics for number in there])
    return Columns(codes, Segments(lengths), codes.of(tools, len(seen)), steps, kept), there
