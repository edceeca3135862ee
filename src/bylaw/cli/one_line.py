"""A trace in one line, as examples are printed."""

from __future__ import annotations

from bylaw.trace.event import MISSING, Call
from bylaw.trace.trace import Trace
from bylaw.values import write_json


def one_line(trace: Trace) -> str:
    """`verify, refund {"amount": 5}, [a, b], the answer "42"`; calls of one step in brackets."""
    steps: dict[int | None, list[str]] = {}
    for event in trace.events:
        shown = (
            _call(event) if isinstance(event, Call) else f"{event.role}: {write_json(event.text)}"
        )
        steps.setdefault(event.step, []).append(shown)
    parts = [calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]" for calls in steps.values()]
    if trace.answer is not None:
        parts.append(f"the answer {write_json(trace.answer)}")
    return ", ".join(parts) or "the empty trace"


def _call(call: Call) -> str:
    arguments = f" {write_json(dict(call.args))}" if call.args else ""
    result = "" if call.result is MISSING else f" returning {write_json(call.result)}"
    failure = " (failed)" if call.failed else ""
    return f"{call.tool}{arguments}{result}{failure}"
