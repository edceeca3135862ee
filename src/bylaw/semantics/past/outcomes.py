"""Outcomes that a call may have, made from what a rule says about results.

They are candidates, not a complete list: a rule may hold for a result that is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from bylaw.frozen import replace
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal
from bylaw.logic.walk import everything
from bylaw.semantics.machine.conditions import hinted, simple
from bylaw.trace.event import MISSING, Call
from bylaw.values import Json

CallOutcome: TypeAlias = tuple[Any, str | None]
"""A result, or MISSING, and an error."""

PLAIN: Final[tuple[CallOutcome, ...]] = ((True, None), (MISSING, "failed"), (MISSING, None))
"""Success, failure, and a result that never arrives."""


def with_outcome(call: Call, outcome: CallOutcome) -> Call:
    """The call with an outcome."""
    return replace(call, result=outcome[0], error=outcome[1])


def outcomes_for(formula: f.Formula) -> list[CallOutcome]:
    """Outcomes worth trying: the plain ones, and results with the values that the rule mentions."""
    results: list[Json] = []
    together: dict[str, Any] = {}
    for path, value in _mentioned(formula):
        if not path:
            results.append(value)
            continue
        results.append(planted({}, path, value))
        planted(together, path, value)
    return [*PLAIN, *((result, None) for result in (*results, together))]


def _mentioned(formula: f.Formula) -> Iterable[tuple[tuple[str, ...], Json]]:
    """The places in results that the formula compares with constants, and values for them."""
    for part in everything(formula):
        if isinstance(part, f.ResultIs) and isinstance(part.expected, Literal):
            yield part.path, part.expected.value
        elif isinstance(part, f.Compare):
            found = simple(part) or hinted(part)
            if found is not None and found.field in ("result", "text"):
                yield from ((found.path, value) for value in found.values)


def planted(tree: dict[str, Any], path: tuple[str, ...], value: Json) -> Json:
    """Puts a value into an object, at the end of a path."""
    inner = tree
    for key in path[:-1]:
        below = inner.get(key)
        inner[key] = below if isinstance(below, dict) else {}
        inner = inner[key]
    inner[path[-1]] = value
    return tree
