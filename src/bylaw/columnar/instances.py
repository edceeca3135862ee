"""Traces repeated once for each set of values that variables take in them.

A quantifier over a domain of the whole trace repeats each trace once for each value. The body is
evaluated over these instances like any formula, with the variable as a column, and the instances of
each trace are then combined. What `rows` cannot evaluate in place is evaluated over instances, too:
one for each trace and set of values that rows ask with. Instances are made in portions, so that
memory does not grow with the domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import Subject
from bylaw.columnar.search import RowGroups
from bylaw.columnar.segments import Combined, Places, Positions, TruthColumn, portions
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.trace.event import MISSING
from bylaw.values import Json
from bylaw.vocabulary.domains import contributed, distinct
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.predicate import Probe

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import ColumnarEvaluation
    from bylaw.columnar.rows import Rows

Domains: TypeAlias = Sequence[Sequence[Json]]
"""The values that a quantifier ranges over, for each trace."""


def is_of_trace(domain: f.Domain) -> bool:
    """Is the domain the same at all events of a trace?"""
    written = isinstance(domain, f.Listed) and all(isinstance(i, t.Literal) for i in domain.items)
    return written or not isinstance(domain, f.Listed | f.Found)


# ── quantifiers over a domain of the whole trace ──────────────────────────────────────────


def at_starts(over: ColumnarEvaluation, formula: f.Quantifier) -> TruthColumn:
    """The value of the quantifier at the start of each trace."""
    found = Combined(over.segments.count)
    for owners, instances in _of_values(over, formula):
        found.add(instances.start(formula.body), owners)
    return found.column(of_all=isinstance(formula, f.ForAll))


def everywhere(over: ColumnarEvaluation, formula: f.Quantifier) -> TruthColumn:
    """The value of the quantifier at each position."""
    found = Combined(over.segments.size)
    for owners, instances in _of_values(over, formula):
        made = instances.segments
        shift = over.segments.starts[owners] - made.starts
        positions = made.everywhere.indices + np.repeat(shift, made.lengths)
        found.add(instances.column(formula.body), positions)
    return found.column(of_all=isinstance(formula, f.ForAll))


def _of_values(
    over: ColumnarEvaluation, formula: f.Quantifier
) -> Iterator[tuple[NDArray[np.intp], ColumnarEvaluation]]:
    """Instances for the values of the domain, and the trace of each."""
    domains = _of_traces(over.subject, formula.domain)
    if formula.variable not in formula.body.free:  # one value says what all say
        domains = [each[:1] for each in domains]
    traces = np.repeat(np.arange(len(domains)), [len(each) for each in domains])
    values = list(chain.from_iterable(domains))
    for some in portions(over.segments.lengths[traces]):
        bound = {formula.variable: values[some]}
        yield traces[some], type(over)(over.subject.instances(traces[some], bound))


def domains_at(rows: Rows, domain: f.Domain) -> Domains:
    """The values of a domain of the whole trace, for each row."""
    of_traces = _of_traces(rows.over.subject, domain)
    return [of_traces[trace] for trace in rows.places.trace]


def _of_traces(subject: Subject, domain: f.Domain) -> Domains:
    """The values of a domain of the whole trace, for each trace."""
    count = subject.segments.count
    match domain:
        case f.Listed(items):
            return [distinct(i.value for i in items if isinstance(i, t.Literal))] * count
        case f.FromArgs(tool, path) | f.FromResults(tool, path):
            places = subject.hits(Probe(tool))
            found: dict[int, list[Json]] = {}
            traces = subject.segments.trace[places].tolist()
            for trace, call in zip(traces, subject.columns.calls(places), strict=True):
                value = call.args if isinstance(domain, f.FromArgs) else call.value
                if value is not MISSING:
                    found.setdefault(trace, []).extend(contributed(path, [value]))
            return [distinct(found.get(trace, ())) for trace in range(count)]
        case f.FromMetrics(path):
            return [distinct(contributed(path, [each])) for each in subject.columns.metrics()]
        case _:
            raise AssertionError(f"{type(domain).__name__} is not listed as supported")


# ── what rows cannot evaluate in place ────────────────────────────────────────────────────


def formula(rows: Rows, formula: f.Formula) -> TruthColumn:
    """The value of a formula in each row."""
    true, vacuous = np.zeros((2, len(rows)), dtype=np.bool_)
    for part in _of_rows(rows, formula.free):
        column = part.instances.at(formula, part.places)
        true[part.owners] = column.true
        vacuous[part.owners] = column.true & ~column.checked
    return TruthColumn(true, vacuous)


def values(rows: Rows, term: t.Term) -> list[Seen]:
    """The value of a term in each row."""
    found: list[Seen] = [MISSING] * len(rows)
    for part in _of_rows(rows, term.free):
        read = type(rows)(part.instances, part.places).values(term)
        for owner, value in zip(part.owners.tolist(), read, strict=True):
            found[owner] = value
    return found


class _Portion(NamedTuple):
    """Some instances, and the rows that ask about them."""

    instances: ColumnarEvaluation
    owners: NDArray[np.intp]
    places: Places
    """For each of the rows, its position in its instance."""


def _of_rows(rows: Rows, variables: frozenset[str]) -> Iterator[_Portion]:
    """Instances for the values of some variables."""
    groups, over = RowGroups(rows, variables), rows.over
    columns = {name: column for name, column in rows.bound.items() if name in variables}
    offsets = rows.places.indices - rows.places.start
    for some in portions(over.segments.lengths[groups.traces]):
        first = groups.first[some].tolist()
        bound = {name: [column[row] for row in first] for name, column in columns.items()}
        picked = groups.traces[some].astype(np.intp)
        instances = type(over)(over.subject.instances(picked, bound))
        asked = (groups.numbers >= some.start) & (groups.numbers < some.stop)
        owners = np.flatnonzero(asked)
        starts = instances.segments.starts[groups.numbers[owners] - some.start]
        indices: Positions = starts + offsets[owners]
        yield _Portion(instances, owners, Places(instances.segments, indices))
