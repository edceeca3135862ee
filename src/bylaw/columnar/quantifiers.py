"""Quantifiers over many traces at once: each trace stands once for each value of its domain.

The body is evaluated over those instances like any formula, with the variable as a column, and
the instances of each trace are then combined. Instances are made in portions, so that memory
does not grow with the domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.row import Row
from bylaw.columnar.segments import Mask
from bylaw.columnar.subject import Subject
from bylaw.logic import formula as f
from bylaw.logic.terms import Literal
from bylaw.trace.event import MISSING
from bylaw.values import Json
from bylaw.vocabulary.domains import contributed, distinct
from bylaw.vocabulary.tracker import Probe

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import Evaluation

MAX_POSITIONS: Final = 1 << 20
"""How many positions the instances of one portion may have, unless a single one has more."""


def at_starts(over: Evaluation, formula: f.Quantifier) -> Row:
    """The value at the start of each trace."""
    found = _Combined(over.segments.count)
    for part in _portions(over, formula):
        instances = _instances(over, formula, part)
        found.add(instances.start(formula.body), part.traces)
    return found.row(formula)


def everywhere(over: Evaluation, formula: f.Quantifier) -> Row:
    """The value at each position."""
    found = _Combined(over.segments.size)
    for part in _portions(over, formula):
        instances = _instances(over, formula, part)
        made = instances.segments
        shift = over.segments.starts[part.traces] - made.starts
        positions = made.everywhere.indices + np.repeat(shift, made.lengths)
        found.add(instances.row(formula.body), positions)
    return found.row(formula)


def _instances(over: Evaluation, formula: f.Quantifier, part: _Portion) -> Evaluation:
    """The evaluation over some instances."""
    return type(over)(over.subject.instances(part.traces, formula.variable, part.values))


class _Portion(NamedTuple):
    """Some instances."""

    traces: NDArray[np.intp]
    values: Sequence[Json]


class _Combined:
    """What instances come to, in each place where they belong."""

    def __init__(self, size: int) -> None:
        self._false: Mask = np.zeros(size, dtype=np.bool_)
        self._true: Mask = np.zeros(size, dtype=np.bool_)
        self._checked: Mask = np.zeros(size, dtype=np.bool_)

    def add(self, row: Row, places: NDArray[np.integer]) -> None:
        """Instances, each for a place."""
        self._false[places[~row.true]] = True
        self._true[places[row.true]] = True
        self._checked[places[row.checked]] = True

    def row(self, formula: f.Quantifier) -> Row:
        """All of them, or one of them, depending on the quantifier."""
        true = ~self._false if isinstance(formula, f.ForAll) else self._true
        return Row(true, true & ~self._checked)


def _portions(over: Evaluation, formula: f.Quantifier) -> Iterator[_Portion]:
    """The instances, a bounded number at a time."""
    lengths = over.segments.lengths
    traces: list[int] = []
    values: list[Json] = []
    size = 0
    for trace, found in enumerate(_domains(over.subject, formula.domain)):
        for value in found if formula.variable in formula.body.free else found[:1]:
            if traces and size + lengths[trace] > MAX_POSITIONS:
                yield _Portion(np.array(traces, dtype=np.intp), values)
                traces, values, size = [], [], 0
            traces.append(trace)
            values.append(value)
            size += int(lengths[trace])
    if traces:
        yield _Portion(np.array(traces, dtype=np.intp), values)


def _domains(over: Subject, domain: f.Domain) -> Iterator[Sequence[Json]]:
    """The values that a quantifier ranges over, trace by trace."""
    count = over.segments.count
    match domain:
        case f.Listed(items):
            listed = [item.value for item in items if isinstance(item, Literal)]
            assert len(listed) == len(items), "other terms are asked of one trace at a time"
            values = distinct(listed)
            yield from (values for _ in range(count))
        case f.FromArgs(tool, path) | f.FromResults(tool, path):
            places = over.hits(Probe(tool))
            found: dict[int, list[Json]] = {}
            traces = over.segments.trace[places].tolist()
            for trace, call in zip(traces, over.columns.calls(places), strict=True):
                value = call.args if isinstance(domain, f.FromArgs) else call.value
                if value is not MISSING:
                    found.setdefault(trace, []).extend(contributed(path, [value]))
            yield from (distinct(found.get(trace, ())) for trace in range(count))
        case f.FromMetrics(path):
            for metrics in over.columns.metrics():
                yield distinct(contributed(path, [metrics]))
        case _:
            raise AssertionError("other domains are asked of one trace at a time")
