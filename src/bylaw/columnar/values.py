"""The values of terms at many positions at once, and quantifiers over them.

A quantifier repeats each trace once for each value of its domain. The body is evaluated over these
instances like any formula, with the variable as a column, and the instances of each trace are then
combined. If the domain is read from an event, a trace is repeated for each position and value, and
the body is evaluated at that position only. Instances are made in portions, so that memory does
not grow with the domains.

Values are JSON of any kind, so they are kept in lists. `bylaw.vocabulary.reading` has the
definitions for a single position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask, Places, TruthColumn, latest
from bylaw.columnar.subject import Subject
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.trace.event import MISSING, Missing, field_of
from bylaw.values import Json
from bylaw.vocabulary.comparisons import compared as values_compared
from bylaw.vocabulary.domains import contributed, distinct
from bylaw.vocabulary.functions import apply
from bylaw.vocabulary.possible import Seen, found_at, keyed, together
from bylaw.vocabulary.reading import as_object, elements_of
from bylaw.vocabulary.tracker import Probe

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import ColumnarEvaluation

MAX_POSITIONS: Final = 1 << 20
"""The largest number of positions in one portion of instances; a single instance may exceed it."""

Domains: TypeAlias = Sequence[Sequence[Json]]
"""The values that a quantifier ranges over, for each trace or for each position."""


def is_of_trace(domain: f.Domain) -> bool:
    """Is the domain the same at all events of a trace?"""
    written = isinstance(domain, f.Listed) and all(isinstance(i, t.Literal) for i in domain.items)
    return written or not isinstance(domain, f.Listed | f.Found)


def at_starts(over: ColumnarEvaluation, formula: f.Quantifier) -> TruthColumn:
    """A quantifier over a domain of the whole trace: its value at the start of each trace."""
    found = _Combined(over.segments.count)
    for part in _portions(over, formula, _of_traces(over.subject, formula.domain)):
        found.add(part.instances.start(formula.body), part.owners)
    return found.column(formula)


def everywhere(over: ColumnarEvaluation, formula: f.Quantifier) -> TruthColumn:
    """A quantifier over a domain of the whole trace: its value at each position."""
    found = _Combined(over.segments.size)
    for part in _portions(over, formula, _of_traces(over.subject, formula.domain)):
        made = part.instances.segments
        shift = over.segments.starts[part.owners] - made.starts
        positions = made.everywhere.indices + np.repeat(shift, made.lengths)
        found.add(part.instances.column(formula.body), positions)
    return found.column(formula)


def at_places(over: ColumnarEvaluation, formula: f.Quantifier, places: Places) -> TruthColumn:
    """A quantifier over a domain that is read from the event: its value at some positions."""
    found = _Combined(len(places))
    domains = [_different(each) for each in _of_places(over, formula.domain, places)]
    for part in _portions(over, formula, domains, places):
        found.add(part.at_owners(formula.body, places), part.owners)
    return found.column(formula)


def named(over: ColumnarEvaluation, formula: f.Let, places: Places) -> TruthColumn:
    """A `let`: its value at some positions. Each is an instance with the value found there."""
    true, vacuous = np.zeros((2, len(places)), dtype=np.bool_)
    found = [[value] for value in values(over, formula.value, places)]
    for part in _portions(over, formula, found, places):
        column = part.at_owners(formula.body, places)
        true[part.owners] = column.true
        vacuous[part.owners] = column.true & ~column.checked
    return TruthColumn(true, vacuous)


def counts(over: ColumnarEvaluation, term: t.Counted, places: Places) -> list[Seen]:
    """The number of values of a domain for which the body holds, at each position."""
    if is_of_trace(term.domain):
        of_traces = _of_traces(over.subject, term.domain)
        domains: Domains = [of_traces[trace] for trace in places.trace]
        undefined = np.zeros(len(places), dtype=np.bool_)
    else:
        read = _of_places(over, term.domain, places)
        domains = [() if isinstance(each, Missing) else each for each in read]
        undefined = np.array([isinstance(each, Missing) for each in read], dtype=np.bool_)
    number = np.zeros(len(places), dtype=np.int64)
    for part in _portions(over, term, domains, places):
        holds = part.at_owners(term.body, places).true
        number += np.bincount(part.owners[holds], minlength=len(places))
    pairs = zip(number.tolist(), undefined, strict=True)
    return [MISSING if nothing else count for count, nothing in pairs]


# ── instances ─────────────────────────────────────────────────────────────────────────────


class _Portion(NamedTuple):
    """Some instances, and the traces or positions they belong to."""

    instances: ColumnarEvaluation
    owners: NDArray[np.intp]

    def at_owners(self, body: f.Formula, places: Places) -> TruthColumn:
        """The value of the body for each instance, at the position it belongs to."""
        made = self.instances.segments
        inside = (places.indices - places.start)[self.owners]
        return self.instances.at(body, Places(made, made.starts + inside))


class _Combined:
    """The combined values of the instances of each owner."""

    def __init__(self, size: int) -> None:
        self._false: Mask = np.zeros(size, dtype=np.bool_)
        self._true: Mask = np.zeros(size, dtype=np.bool_)
        self._checked: Mask = np.zeros(size, dtype=np.bool_)

    def add(self, column: TruthColumn, owners: NDArray[np.integer]) -> None:
        """Adds one value for each of these owners."""
        self._false[owners[~column.true]] = True
        self._true[owners[column.true]] = True
        self._checked[owners[column.checked]] = True

    def column(self, formula: f.Quantifier) -> TruthColumn:
        """The value of the quantifier for each owner."""
        true = ~self._false if isinstance(formula, f.ForAll) else self._true
        return TruthColumn(true, true & ~self._checked)


def _portions(
    over: ColumnarEvaluation,
    formula: f.Quantifier | f.Let | t.Counted,
    domains: Domains,
    places: Places | None = None,
) -> Iterator[_Portion]:
    """The instances of positions if any are given, else of traces, a bounded number at a time."""
    traces = range(over.segments.count) if places is None else places.trace.tolist()
    lengths = over.segments.lengths.tolist()
    # A quantifier needs one instance if its variable is unused; a count needs one per element.
    once = not isinstance(formula, t.Counted) and formula.variable not in formula.body.free
    owners: list[int] = []
    values: list[Json] = []
    size = 0
    for owner, (trace, found) in enumerate(zip(traces, domains, strict=True)):
        for value in found[:1] if once else found:
            if owners and size + lengths[trace] > MAX_POSITIONS:
                yield _made(over, formula.variable, traces, owners, values)
                owners, values, size = [], [], 0
            owners.append(owner)
            values.append(value)
            size += lengths[trace]
    if owners:
        yield _made(over, formula.variable, traces, owners, values)


def _made(
    over: ColumnarEvaluation,
    variable: str,
    traces: Sequence[int],
    owners: list[int],
    values: list[Json],
) -> _Portion:
    picked = np.array([traces[owner] for owner in owners], dtype=np.intp)
    instances = type(over)(over.subject.instances(picked, variable, values))
    return _Portion(instances, np.array(owners, dtype=np.intp))


# ── domains ───────────────────────────────────────────────────────────────────────────────


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
            raise AssertionError(f"no columns for {type(domain).__name__}: see support.py")


def _of_places(
    over: ColumnarEvaluation, domain: f.Domain, places: Places
) -> Sequence[Sequence[Json] | Missing]:
    """The values of a domain that is read from the event, at each position, or MISSING."""
    match domain:
        case f.Listed(items):
            columns = [values(over, item, places) for item in items]
            rows = zip(*columns, strict=True)
            return [[value for value in row if value is not MISSING] for row in rows]
        case f.Found(term):
            read = values(over, term, places)
            return [MISSING if value is MISSING else elements_of(value) for value in read]
        case _:
            raise AssertionError(f"no columns for {type(domain).__name__}: see support.py")


def _different(values: Sequence[Json] | Missing) -> Sequence[Json]:
    """The values without duplicates."""
    if isinstance(values, Missing):
        return ()
    return values if len(values) < 2 else distinct(values)


# ── terms ─────────────────────────────────────────────────────────────────────────────────


def compared(over: ColumnarEvaluation, formula: f.Compare, places: Places) -> Mask:
    """The truth of the comparison at each position."""
    pairs = zip(
        values(over, formula.left, places), values(over, formula.right, places), strict=True
    )
    found = (values_compared(left, formula.symbol, right) is True for left, right in pairs)
    return np.fromiter(found, np.bool_, len(places))


def values(over: ColumnarEvaluation, term: t.Term, places: Places) -> list[Seen]:
    """The value of a term at each position."""
    match term:
        case t.Literal():
            return [term.value] * len(places)
        case t.Variable(name):
            return over.subject.bound_values(name, places)
        case t.Reading(field):
            return [field_of(event, field) for event in over.subject.events(places.indices)]
        case t.At(base, key):
            pairs = zip(values(over, base, places), values(over, key, places), strict=True)
            return [found_at(value, key_) for value, key_ in pairs]
        case t.Apply(function, operands):
            columns = [values(over, operand, places) for operand in operands]
            return [apply(function, list(row)) for row in _transposed(columns, len(places))]
        case t.ListTerm(items):
            columns = [values(over, item, places) for item in items]
            return [together(list(row)) for row in _transposed(columns, len(places))]
        case t.ObjectTerm(entries):
            keys = [entry.key for entry in entries]
            columns = [values(over, entry.value, places) for entry in entries]
            return [keyed(keys, list(row)) for row in _transposed(columns, len(places))]
        case t.Last(condition):
            return _last(over, condition, places)
        case t.Sofar(condition):
            return _so_far(over, condition, places)
        case t.Counted():
            return counts(over, term, places)
        case _:
            raise AssertionError(f"no columns for {type(term).__name__}: see support.py")


def _transposed(columns: list[list[Seen]], count: int) -> list[tuple[Seen, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _last(over: ColumnarEvaluation, condition: f.Formula, places: Places) -> list[Seen]:
    """The latest event of an earlier step that satisfies a condition, as an object."""
    before = over.subject.columns.step_starts[places.indices] - np.int32(1)
    found = latest(over.column(condition).true, before)
    exist = (before >= places.start) & (found >= places.start)
    events = iter(over.subject.events(found[exist]))
    return [as_object(next(events)) if there else MISSING for there in exist]


def _so_far(over: ColumnarEvaluation, condition: f.Formula, places: Places) -> list[Seen]:
    """The events up to each position that satisfy a condition, as objects."""
    hits = np.flatnonzero(over.column(condition).true).astype(np.int32)
    objects = [as_object(event) for event in over.subject.events(hits)]
    first = np.searchsorted(hits, places.start).tolist()
    last = np.searchsorted(hits, places.indices, side="right").tolist()
    return [objects[begin:end] for begin, end in zip(first, last, strict=True)]
