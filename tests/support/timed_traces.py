"""Random traces with times: starts never decrease, and few events have none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from bylaw import Call, Monitor
from bylaw.logic.formula import Formula
from bylaw.trace.event import MISSING

PAUSES = (0, 0, 0.1, 1, 3, 5, 11)
"""The seconds between two events."""


def timed_event(random: Random, now: float, step: int) -> Call:
    """A call of a, b or c with an argument and a result `i`, or an error."""
    outcome: dict[str, Any] = random.choice(
        [{"result": {"i": random.randint(0, 2)}}, {"error": "no"}]
    )
    arguments = {"i": random.randint(0, 2)} if random.random() < 0.9 else {}
    start = now if random.random() < 0.93 else None
    end = now + random.choice([0.5, 2]) if random.random() < 0.8 else None
    about: dict[str, Any] = {"end": end, "agent": random.choice(["x", "y", None])}
    usage = random.choice([None, {"tokens": random.randint(0, 9)}])
    name = random.choice("aabbc")
    return Call(name, arguments, step=step, start=start, usage=usage, **about, **outcome)


def timed_trace(random: Random, most: int = 9) -> list[Call]:
    """The events of a random trace."""
    now, step, events = 0.0, 0, list[Call]()
    for _ in range(random.randint(0, most)):
        now += random.choice(PAUSES)
        step += random.random() < 0.7
        events.append(timed_event(random, now, step))
    return events


def perhaps_restored(random: Random, monitor: Monitor, formula: Formula) -> Monitor:
    """The monitor, or one time in five another that was restored from its saved state."""
    if random.random() >= 0.2:
        return monitor
    restored = Monitor(formula)
    restored.restore(json.loads(json.dumps(monitor.save())))
    return restored


def unfinished(call: Call) -> Call:
    """The call before its result."""
    return replace(call, result=MISSING, error=None, end=None, usage=None)


def followed_with_late_results(random: Random, formula: Formula, events: Sequence[Call]) -> Monitor:
    """A monitor that has seen the events; half of the results arrived late, in any order."""
    monitor, open_calls = Monitor(formula), list[tuple[int, Call]]()

    def record() -> None:
        position, call = open_calls.pop(random.randrange(len(open_calls)))
        told: dict[str, Any] = {"error": call.error, "end": call.end, "usage": call.usage}
        monitor.record(position, call.result, **told)

    for position, event in enumerate(events):
        late = random.random() < 0.5
        monitor.step(unfinished(event) if late else event)
        if late:
            open_calls.append((position, event))
        while open_calls and random.random() < 0.3:
            record()
    while open_calls:
        record()
    return monitor
