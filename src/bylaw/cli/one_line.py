"""A trace in one line, as examples are printed."""

from __future__ import annotations

from datetime import UTC, datetime

from bylaw.trace.event import MISSING, Call, Event
from bylaw.trace.trace import Trace
from bylaw.values import write_json


def one_line(trace: Trace) -> str:
    """`verify, refund {"amount": 5}, [a, b], the answer "42"`; calls of one step in brackets."""
    steps: dict[int | None, list[str]] = {}
    for event in trace.events:
        shown = (
            _call(event) if isinstance(event, Call) else f"{event.role}: {write_json(event.text)}"
        )
        steps.setdefault(event.step, []).append(shown + _details(event))
    parts = [calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]" for calls in steps.values()]
    if trace.answer is not None:
        parts.append(f"the answer {write_json(trace.answer)}")
    return ", ".join(parts) or "the empty trace"


def _details(event: Event) -> str:
    """The agent, the time and the usage of an event, as far as they are recorded."""
    agent = "" if event.agent is None else f" by {event.agent}"
    usage = "" if event.usage is None else f" using {write_json(dict(event.usage))}"
    if event.start is None:
        return agent + usage
    start = datetime.fromtimestamp(event.start, UTC)
    when = f" at {start:%Y-%m-%d %H:%M:%S}"
    when += f".{start.microsecond:06d}".rstrip("0") if start.microsecond else ""
    end = event.end if isinstance(event, Call) else None
    took = "" if end is None else f" for {end - event.start:g} s"
    return f"{agent}{when}{took}{usage}"


def _call(call: Call) -> str:
    arguments = f" {write_json(dict(call.args))}" if call.args else ""
    result = "" if call.result is MISSING else f" returning {write_json(call.result)}"
    failure = " (failed)" if call.failed else ""
    return f"{call.tool}{arguments}{result}{failure}"
