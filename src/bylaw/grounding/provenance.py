"""The provenance of a value passed to a tool: the prompt, or an earlier result.

A result that only echoes an argument of its own call is not a source: a search for an invented
order number that answers "nothing found for W123" has not returned an order number. Passing the
number in another spelling, such as #W123, or among other words, makes no difference.
"""

from __future__ import annotations

from bylaw.grounding.evidence.evidence import is_prompt
from bylaw.texts.occurrence import leaves, mentions, needs_source
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json


def is_sourced(trace: Trace, value: Json, step: int) -> bool:
    """True if every part of the value occurs in the prompt or in a result before this step."""
    return all(_has_source(trace, leaf, step) for leaf in leaves(value) if needs_source(leaf))


def _has_source(trace: Trace, leaf: Json, step: int) -> bool:
    for event in trace.events:
        if event.step is not None and event.step >= step:
            break
        if isinstance(event, Message):
            if is_prompt(event) and mentions(event.text, leaf):
                return True
        elif event.ok and _returns(event, leaf):
            return True
    return False


def _returns(call: Call, leaf: Json) -> bool:
    if call.value is MISSING or mentions(dict(call.args), leaf):
        return False  # an echo
    return mentions(call.value, leaf)
