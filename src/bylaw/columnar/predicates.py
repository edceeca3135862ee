"""Trace predicates over many traces at once: where calls stand, by searches in sorted positions.

`bylaw.vocabulary.predicates` has the definitions. The positions of a tool's calls in all traces
are one sorted array; a trace's share of it lies between two searches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from bylaw.columnar.segments import Mask, Positions
from bylaw.columnar.subject import Subject
from bylaw.logic.formula import Arguments, Count, ToolList
from bylaw.logic.terms import Literal, Term, Tool
from bylaw.values import LARGEST
from bylaw.vocabulary.comparisons import COMPARE
from bylaw.vocabulary.tracker import Probe

Predicate: TypeAlias = Callable[..., Mask]
"""From a subject and the predicate's operands to an answer for each trace."""


class Moments(NamedTuple):
    """A position in each trace, where there is one."""

    exist: Mask
    places: Positions

    def precede(self, other: Moments, over: Subject) -> Mask:
        """Do both exist, and this one strictly first?"""
        first, second = over.time(self.places), over.time(other.places)
        return self.exist & other.exist & (first < second)


def _counts(over: Subject, probe: Probe) -> Positions:
    """How many such calls each trace has."""
    hits, segments = over.hits(probe), over.segments
    return np.searchsorted(hits, segments.ends) - np.searchsorted(hits, segments.starts)


def _nth(over: Subject, tool: Tool, index: int) -> Moments:
    """The call of the tool with this index, counted from 0."""
    hits = over.hits(Probe(tool))
    first = np.searchsorted(hits, over.segments.starts)
    return _found(over, hits, first + min(index, len(hits)))


def _next(over: Subject, tool: Tool, places: Positions) -> Moments:
    """The first call of the tool at or after a position of each trace."""
    hits = over.hits(Probe(tool))
    return _found(over, hits, np.searchsorted(hits, places))


def _found(over: Subject, hits: Positions, numbers: Any) -> Moments:
    if not len(hits):
        return Moments(np.zeros(over.segments.count, dtype=np.bool_), over.segments.starts)
    places = hits[np.minimum(numbers, len(hits) - 1)]
    return Moments((numbers < len(hits)) & (places < over.segments.ends), places)


def _whole(term: Term) -> int | None:
    """The whole number that a literal denotes."""
    assert isinstance(term, Literal), "other terms are asked of one trace at a time"
    value = term.value
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and abs(value) <= LARGEST else None


def _never(over: Subject) -> Mask:
    return np.zeros(over.segments.count, dtype=np.bool_)


# ── the predicates ────────────────────────────────────────────────────────────────────────


def _called(over: Subject, tool: Tool) -> Mask:
    return _counts(over, Probe(tool)) > 0


def _called_n(over: Subject, tool: Tool, count: Count) -> Mask:
    number = _whole(count.number)
    if number is None:
        return _never(over)
    compare: Any = COMPARE[count.comparison]
    return np.asarray(compare(_counts(over, Probe(tool)), number))


def _called_with(over: Subject, tool: Tool, arguments: Arguments) -> Mask:
    return _counts(over, Probe(tool, arguments.patterns)) > 0


def _called_exactly(over: Subject, tool: Tool, arguments: Arguments) -> Mask:
    return _counts(over, Probe(tool, arguments.patterns, exactly=True)) > 0


def _called_with_result(over: Subject, tool: Tool, result: Term, arguments: Arguments) -> Mask:
    assert isinstance(result, Literal), "other terms are asked of one trace at a time"
    return _counts(over, Probe(tool, arguments.patterns, result=result)) > 0


def _branch_called(over: Subject, taken: Tool, avoided: Tool) -> Mask:
    return _called(over, taken) & ~_called(over, avoided)


def _before(over: Subject, first: Tool, second: Tool) -> Mask:
    return _nth(over, first, 0).precede(_nth(over, second, 0), over)


def _after(over: Subject, second: Tool, first: Tool) -> Mask:
    return _before(over, first, second)


def _all_before(over: Subject, tools: ToolList, goal: Tool) -> Mask:
    return reduce(np.logical_and, [_before(over, tool, goal) for tool in tools.tools])


def _instance_before(over: Subject, first: Tool, n: Term, second: Tool, m: Term) -> Mask:
    earlier, later = _whole(n), _whole(m)
    if earlier is None or later is None or earlier < 0 or later < 0:
        return _never(over)
    return _nth(over, first, earlier).precede(_nth(over, second, later), over)


def _in_order(over: Subject, sequence: ToolList) -> Mask:
    found = np.ones(over.segments.count, dtype=np.bool_)
    places = over.segments.starts
    for tool in sequence.tools:
        matched = _next(over, tool, places)
        found &= matched.exist
        places = over.behind(matched.places)
    return found


def _within_steps(over: Subject, first: Tool, second: Tool, limit: Term) -> Mask:
    number = _whole(limit)
    if number is None:
        return _never(over)
    begun = _nth(over, first, 0)
    ended = _next(over, second, begun.places)
    return begun.exist & ended.exist & (ended.places - begun.places <= number)


PREDICATES: Final[dict[str, Predicate]] = {
    "After": _after,
    "AllBefore": _all_before,
    "Before": _before,
    "BranchCalled": _branch_called,
    "Called": _called,
    "CalledExactly": _called_exactly,
    "CalledN": _called_n,
    "CalledWith": _called_with,
    "CalledWithResult": _called_with_result,
    "InOrder": _in_order,
    "InstanceBefore": _instance_before,
    "WithinSteps": _within_steps,
}
