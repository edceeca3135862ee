"""What quantifiers range over: values found in the whole trace, wherever the quantifier stands.

A path that yields a list contributes its elements, null or missing nothing, anything else
itself. Equal values count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jmespath
import jmespath.exceptions

from bylaw.logic.formula import Domain, Extracted, FromArgs, FromMetrics, FromResults, Listed
from bylaw.trace.event import MISSING, Call
from bylaw.values import Json, identity, problem
from bylaw.vocabulary.view import View


@dataclass(frozen=True, slots=True)
class Elements:
    """The values of a domain."""

    values: tuple[Json, ...]
    complete: bool
    """Could hidden events add no more?"""


def elements(domain: Domain, view: View) -> Elements:
    """The values that a quantifier ranges over."""
    match domain:
        case Listed(items):
            values = [view.value(item) for item in items]
            return Elements(_distinct(v for v in values if v is not MISSING), True)
        case FromArgs(tool, path):
            found = (call.args for call in _calls(view, tool))
            return Elements(_distinct(_contributed(path, found)), not view.hidden)
        case FromResults(tool, path):
            shown = (call.value for call in _calls(view, tool) if call.result is not MISSING)
            return Elements(_distinct(_contributed(path, shown)), not view.hidden)
        case FromMetrics(path):
            return Elements(_distinct(_contributed(path, [view.trace.metrics])), True)
        case Extracted(name, operands):
            extract = view.vocabulary.extractors[name]
            given = [view.value(operand) for operand in operands]
            if MISSING in given:
                return Elements((), True)
            values = list(extract(view.trace, view.trace.metrics, *given))
            for value in values:
                if reason := problem(value):
                    raise ValueError(f"yielded {value!r}, which is not a JSON value: {reason}")
            return Elements(_distinct(values), True)


def _calls(view: View, tool: Any) -> Iterator[Call]:
    for position in view.occurrences(tool).certain:
        event = view.events[position]
        assert isinstance(event, Call), "only calls occur as tools"
        yield event


def _contributed(path: str, values: Iterable[Json]) -> Iterator[Json]:
    expression = compiled(path)
    for value in values:
        try:
            found = expression.search(value)
        except jmespath.exceptions.JMESPathError:
            continue  # a function met a value it is not made for: nothing is found there
        if isinstance(found, list):
            yield from found
        elif found is not None:
            yield found


def _distinct(values: Iterable[Json]) -> tuple[Json, ...]:
    return tuple({identity(value): value for value in reversed(list(values))}.values())[::-1]


@lru_cache(maxsize=4096)
def compiled(path: str) -> Any:
    """The compiled path; raises `jmespath.exceptions.JMESPathError` if it is not one."""
    return jmespath.compile(path)
