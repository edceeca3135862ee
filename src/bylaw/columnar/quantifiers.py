"""Quantifiers over many traces at once: each trace stands once for each value of its domain.

The body is evaluated over those instances like any formula, with the variable as a column, and
the instances of each trace are then combined. Where the domain is read from an event, a trace
stands once for each place and value, and the body is asked in that place alone. Instances are
made in portions, so that memory does not grow with the domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.row import Row
from bylaw.columnar.segments import Mask, Places
from bylaw.columnar.subject import Subject
from bylaw.logic import formula as f
from bylaw.logic.terms import Counted, Literal
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json
from bylaw.vocabulary.domains import contributed, distinct
from bylaw.vocabulary.reading import Seen, elements_of
from bylaw.vocabulary.tracker import Probe

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import Evaluation

MAX_POSITIONS: Final = 1 << 20
"""How many positions the instances of one portion may have, unless a single one has more."""

Domains: TypeAlias = Sequence[Sequence[Json]]
"""The values that a quantifier ranges over, for each trace or for each place."""


def is_of_trace(domain: f.Domain) -> bool:
    """Is the domain the same at all events of a trace?"""
    written = isinstance(domain, f.Listed) and all(isinstance(i, Literal) for i in domain.items)
    return written or not isinstance(domain, f.Listed | f.Found)


def at_starts(over: Evaluation, formula: f.Quantifier) -> Row:
    """The value at the start of each trace, of a quantifier over what the trace has."""
    found = _Combined(over.segments.count)
    for part in _portions(over, formula, _of_traces(over.subject, formula.domain)):
        found.add(part.instances.start(formula.body), part.owners)
    return found.row(formula)


def everywhere(over: Evaluation, formula: f.Quantifier) -> Row:
    """The value at each position, of a quantifier over what the trace has."""
    found = _Combined(over.segments.size)
    for part in _portions(over, formula, _of_traces(over.subject, formula.domain)):
        made = part.instances.segments
        shift = over.segments.starts[part.owners] - made.starts
        positions = made.everywhere.indices + np.repeat(shift, made.lengths)
        found.add(part.instances.row(formula.body), positions)
    return found.row(formula)


def at_places(over: Evaluation, formula: f.Quantifier, places: Places) -> Row:
    """The value in some places, of a quantifier over what is read there."""
    found = _Combined(len(places))
    domains = [_different(each) for each in _of_places(over, formula.domain, places)]
    for part in _portions(over, formula, domains, places):
        found.add(part.asked(formula.body, places), part.owners)
    return found.row(formula)


def counts(over: Evaluation, term: Counted, places: Places) -> list[Seen]:
    """For how many values of a domain the body holds, in each place."""
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
        holds = part.asked(term.body, places).true
        number += np.bincount(part.owners[holds], minlength=len(places))
    pairs = zip(number.tolist(), undefined, strict=True)
    return [MISSING if nothing else count for count, nothing in pairs]


# ── instances ─────────────────────────────────────────────────────────────────────────────


class _Portion(NamedTuple):
    """Some instances, and the traces or places that they belong to."""

    instances: Evaluation
    owners: NDArray[np.intp]

    def asked(self, body: f.Formula, places: Places) -> Row:
        """What the body says of each instance, in the place that it belongs to."""
        made = self.instances.segments
        inside = (places.indices - places.start)[self.owners]
        return self.instances.at(body, Places(made, made.starts + inside))


class _Combined:
    """What instances come to, for each that they belong to."""

    def __init__(self, size: int) -> None:
        self._false: Mask = np.zeros(size, dtype=np.bool_)
        self._true: Mask = np.zeros(size, dtype=np.bool_)
        self._checked: Mask = np.zeros(size, dtype=np.bool_)

    def add(self, row: Row, owners: NDArray[np.integer]) -> None:
        """Instances, each for an owner."""
        self._false[owners[~row.true]] = True
        self._true[owners[row.true]] = True
        self._checked[owners[row.checked]] = True

    def row(self, formula: f.Quantifier) -> Row:
        """All of them, or one of them, depending on the quantifier."""
        true = ~self._false if isinstance(formula, f.ForAll) else self._true
        return Row(true, true & ~self._checked)


def _portions(
    over: Evaluation,
    formula: f.Quantifier | Counted,
    domains: Domains,
    places: Places | None = None,
) -> Iterator[_Portion]:
    """The instances, a bounded number at a time; of places if there are any, else of traces."""
    traces = range(over.segments.count) if places is None else places.trace.tolist()
    lengths = over.segments.lengths.tolist()
    # A quantifier asks an idle variable once; a count asks each element, equal or not.
    once = not isinstance(formula, Counted) and formula.variable not in formula.body.free
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
    over: Evaluation, variable: str, traces: Sequence[int], owners: list[int], values: list[Json]
) -> _Portion:
    picked = np.array([traces[owner] for owner in owners], dtype=np.intp)
    instances = type(over)(over.subject.instances(picked, variable, values))
    return _Portion(instances, np.array(owners, dtype=np.intp))


# ── domains ───────────────────────────────────────────────────────────────────────────────


def _of_traces(subject: Subject, domain: f.Domain) -> Domains:
    """The values of a domain that belongs to traces, for each of them."""
    count = subject.segments.count
    match domain:
        case f.Listed(items):
            return [distinct(i.value for i in items if isinstance(i, Literal))] * count
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
            raise AssertionError("other domains are asked of one trace at a time")


def _of_places(
    over: Evaluation, domain: f.Domain, places: Places
) -> Sequence[Sequence[Json] | Missing]:
    """The values of a domain that is read from events, in each place; MISSING if undefined."""
    from bylaw.columnar.terms import values  # which counts by quantifiers

    match domain:
        case f.Listed(items):
            columns = [values(over, item, places) for item in items]
            rows = zip(*columns, strict=True)
            return [[value for value in row if value is not MISSING] for row in rows]
        case f.Found(term):
            read = values(over, term, places)
            return [MISSING if value is MISSING else elements_of(value) for value in read]
        case _:
            raise AssertionError("other domains belong to traces")


def _different(values: Sequence[Json] | Missing) -> Sequence[Json]:
    """The values, equal ones once."""
    if isinstance(values, Missing):
        return ()
    return values if len(values) < 2 else distinct(values)
