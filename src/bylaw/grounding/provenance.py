"""The provenance of a value passed to a tool: the prompt, or an earlier result.

A result that only echoes an argument of its own call is not a source: a search for an invented
order number that answers "nothing found for W123" has not returned an order number. Passing the
number in another spelling, such as #W123, or among other words, makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from bylaw.grounding.entities.literals import Number, amounts, dates, days_of, numbers
from bylaw.grounding.entities.text import normalized
from bylaw.grounding.evidence.evidence import is_prompt
from bylaw.trace.event import MISSING, Call, Message
from bylaw.trace.trace import Trace
from bylaw.values import Json, equal

_HASH: Final = re.compile(r"(?<!\w)#(?=\w)")
"""A hash sign, which only announces a number."""


def is_sourced(trace: Trace, value: Json, step: int) -> bool:
    """True if every part of the value occurs in the prompt or in a result before this step."""
    return all(_has_source(trace, leaf, step) for leaf in _leaves(value))


def _has_source(trace: Trace, leaf: Json, step: int) -> bool:
    if isinstance(leaf, bool) or leaf in (None, ""):
        return True  # these need no source
    for event in trace.events:
        if event.step is not None and event.step >= step:
            break
        if isinstance(event, Message):
            if is_prompt(event) and _mentions(event.text, leaf):
                return True
        elif event.ok and _returns(event, leaf):
            return True
    return False


def _returns(call: Call, leaf: Json) -> bool:
    if any(_holds(given, leaf) for given in _leaves(dict(call.args))):
        return False  # an echo
    value = call.value
    if value is MISSING:
        return False
    if isinstance(value, str):
        return _mentions(value, leaf)
    return any(
        _same(found, leaf) or (isinstance(found, str) and _mentions(found, leaf))
        for found in _leaves(value, keys=True)
    )


def _same(left: Json, right: Json) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left.strip().casefold() == right.strip().casefold()
    return equal(left, right)


def _holds(given: Json, leaf: Json) -> bool:
    """True if an argument contains the value in any spelling: among words, with a hash."""
    if _same(given, leaf):
        return True
    if isinstance(given, bool) or given is None:
        return False
    text = _HASH.sub("", str(given))
    if isinstance(leaf, str):
        leaf = _HASH.sub("", leaf.strip())
        number = Number.of(leaf)
        if number is not None and number.unit is None and _mentions_number(text, number.value):
            return True
    return _mentions(text, leaf)


def _mentions(text: str, leaf: Json) -> bool:
    """True if the text contains the value as a word. Numbers and dates may differ in form."""
    text = normalized(text)
    if not isinstance(leaf, str):
        return _mentions_number(text, Decimal(str(leaf)))
    meant = days_of(leaf)
    if any(day.may_be(seen) for _, days in dates(text) for seen in days for day in meant):
        return True
    pattern = rf"(?<!\w){re.escape(normalized(leaf.strip()))}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _mentions_number(text: str, wanted: Decimal) -> bool:
    found = (*(n.value for _, n in numbers(text)), *(m.amount for _, m in amounts(text)))
    return wanted in found


def _leaves(value: Json, *, keys: bool = False) -> Iterator[Json]:
    """The values that are neither lists nor objects, at any depth.

    With `keys`, the keys of objects too, because records are often stored under their ids.
    """
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            yield from current if keys else ()
            pending.extend(current.values())
        elif isinstance(current, list | tuple):
            pending.extend(current)
        else:
            yield current
