"""The values of terms at many positions at once, and quantifiers over them.

A quantifier repeats each trace once for each value of its domain. The body is evaluated over these
instances like any formula, with the variable as a column, and the instances of each trace are then
combined. If the domain is read from an event, a trace is repeated for each value found in it, and
the body is evaluated only at the positions with that value. Instances are made in portions, so that
memory does not grow with the domains.

Values are JSON of any kind, so they are kept in lists. `bylaw.vocabulary.reading` has the
definitions for a single position.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import Subject
from bylaw.columnar.segments import Mask, Places, Positions, TruthColumn, latest
from bylaw.columnar.so_far import EventsSoFar
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.trace.event import MISSING, Event, Missing, field_of
from bylaw.values import Json
from bylaw.vocabulary.comparisons import compared as values_compared
from bylaw.vocabulary.domains import contributed, distinct
from bylaw.vocabulary.functions import apply
from bylaw.vocabulary.patterns import at_key
from bylaw.vocabulary.possible import Seen, keyed, together
from bylaw.vocabulary.predicate import Probe
from bylaw.vocabulary.reading import as_object, elements_of

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
        found.add(part.at_owners(formula.body), part.owners)
    return found.column(formula)


def named(over: ColumnarEvaluation, formula: f.Let, places: Places) -> TruthColumn:
    """A `let`: its value at some positions. Each is an instance with the value found there."""
    true, vacuous = np.zeros((2, len(places)), dtype=np.bool_)
    found = [[value] for value in values(over, formula.value, places)]
    for part in _portions(over, formula, found, places):
        column = part.at_owners(formula.body)
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
        holds = part.at_owners(term.body).true
        number += np.bincount(part.owners[holds], minlength=len(places))
    pairs = zip(number.tolist(), undefined, strict=True)
    return [MISSING if nothing else count for count, nothing in pairs]


# ── instances ─────────────────────────────────────────────────────────────────────────────


class _Portion(NamedTuple):
    """Some instances, and the traces or positions they belong to."""

    instances: ColumnarEvaluation
    owners: NDArray[np.intp]
    indices: Positions
    """For each owner, its position in the instance with its value."""

    def at_owners(self, body: f.Formula) -> TruthColumn:
        """The value of the body for each owner."""
        return self.instances.at(body, Places(self.instances.segments, self.indices))


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
    """The instances of positions if any are given, else of traces, a bounded number at a time.

    Positions of one trace at which the value is the same share an instance.
    """
    traces = range(over.segments.count) if places is None else places.trace.tolist()
    lengths = over.segments.lengths.tolist()
    # A quantifier needs one instance if its variable is unused; a count needs one per element.
    once = not isinstance(formula, t.Counted) and formula.variable not in formula.body.free
    made = _Instances(over, formula.variable, places)
    size = 0
    for owner, (trace, found) in enumerate(zip(traces, domains, strict=True)):
        for value in found[:1] if once else found:
            if made.owners and size + lengths[trace] > MAX_POSITIONS:
                yield made.portion()
                made, size = _Instances(over, formula.variable, places), 0
            size += lengths[trace] * made.add(owner, trace, value)
    if made.owners:
        yield made.portion()


class _Instances:
    """The instances of a portion, while they are collected."""

    def __init__(self, over: ColumnarEvaluation, variable: str, places: Places | None) -> None:
        self._over: Final = over
        self._variable: Final = variable
        self._places: Final = places
        self._numbers: Final[dict[tuple[int, Hashable], int]] = {}
        self._traces: Final[list[int]] = []
        self._values: Final[list[Json]] = []
        self._instances: Final[list[int]] = []
        self.owners: Final[list[int]] = []

    def add(self, owner: int, trace: int, value: Json) -> bool:
        """Adds a value of an owner. Did that take an instance of its own?"""
        # Other kinds of values are the same only if they are one object: comparing them is slow.
        plain = type(value) in (str, int)
        number = self._numbers.setdefault(
            (trace, (type(value), value) if plain else id(value)), len(self._values)
        )
        self.owners.append(owner)
        self._instances.append(number)
        if number < len(self._values):
            return False
        self._traces.append(trace)
        self._values.append(value)
        return True

    def portion(self) -> _Portion:
        """The instances, with the owners in the order of their positions in them."""
        over, owners = self._over, np.array(self.owners, dtype=np.intp)
        picked = np.array(self._traces, dtype=np.intp)
        instances = type(over)(over.subject.instances(picked, self._variable, self._values))
        indices = instances.segments.starts[self._instances]
        if self._places is None:
            return _Portion(instances, owners, indices)
        indices = indices + (self._places.indices - self._places.start)[owners]
        order = np.argsort(indices, kind="stable")
        return _Portion(instances, owners[order], indices[order])


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
            raise AssertionError(f"{type(domain).__name__} is not listed as supported")


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
            raise AssertionError(f"{type(domain).__name__} is not listed as supported")


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
    symbol = formula.symbol
    if symbol == "contains":  # the most frequent one, nearly always of texts
        found = (
            part in whole
            if type(whole) is str and type(part) is str
            else values_compared(whole, symbol, part) is True
            for whole, part in pairs
        )
    else:
        found = (values_compared(left, symbol, right) is True for left, right in pairs)
    return np.fromiter(found, np.bool_, len(places))


def values(over: ColumnarEvaluation, term: t.Term, places: Places) -> Iterable[Seen]:
    """The value of a term at each position, to be read once."""
    match term:
        case t.Last() | t.Sofar() | t.At() if (found := _of_events(term)) is not None:
            return found.values(over, places)
        case t.Apply("length", (t.Sofar() as events,)):
            return EventsSoFar(over, events, places).counts()
        case t.Literal():
            return [term.value] * len(places)
        case t.Variable(name):
            return over.subject.bound_values(name, places)
        case t.Reading(field):
            return [field_of(event, field) for event in over.subject.events(places.indices)]
        case t.At(base, key):
            pairs = zip(values(over, base, places), values(over, key, places), strict=True)
            return [at_key(value, key_) for value, key_ in pairs]
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
        case t.Counted():
            return counts(over, term, places)
        case _:
            raise AssertionError(f"{type(term).__name__} is not listed as supported")


def _transposed(columns: list[Iterable[Seen]], count: int) -> Iterable[tuple[Seen, ...]]:
    return zip(*columns, strict=True) if columns else [()] * count


class _EventPath(NamedTuple):
    """A path into the events that `last` or `sofar` finds."""

    found: t.Last | t.Sofar
    path: tuple[str, ...]
    """Starts with a field; empty for events as a whole."""

    def read(self, event: Event) -> Json | Missing:
        """The value in one of the events."""
        if not self.path:
            return as_object(event)
        value = field_of(event, self.path[0]) if self.path[0] in t.FIELDS else MISSING
        for key in self.path[1:]:
            value = at_key(value, key)
        return value

    def values(self, over: ColumnarEvaluation, places: Places) -> Iterable[Seen]:
        """The value at each position."""
        if isinstance(self.found, t.Sofar):
            return EventsSoFar(over, self.found, places).lists(self.read)
        return _last(over, self.found.condition, places, self.read)


def _of_events(term: t.Term) -> _EventPath | None:
    """The term as a path into events that `last` or `sofar` finds; None if it is no such path."""
    keys: list[str] = []
    while isinstance(term, t.At):
        if not isinstance(term.key, t.Literal) or not isinstance(term.key.value, str):
            return None
        keys.append(term.key.value)
        term = term.base
    return _EventPath(term, tuple(reversed(keys))) if isinstance(term, t.Last | t.Sofar) else None


def _last(
    over: ColumnarEvaluation,
    condition: f.Formula,
    places: Places,
    read: Callable[[Event], Json | Missing],
) -> list[Seen]:
    """The values read from the latest events of earlier steps that satisfy a condition."""
    before = over.subject.columns.step_starts[places.indices] - np.int32(1)
    found = latest(over.column(condition).true, before)
    exist = (before >= places.start) & (found >= places.start)
    events = iter(over.subject.events(found[exist]))
    return [read(next(events)) if there else MISSING for there in exist]
