"""The events of a trace that satisfy a condition with variables, for many rows at once.

`earlier call(a, id = i)` asks for other events than that of the row, by values of the row. Rows of
one trace with the same values ask the same question, and form a group. The parts of the condition
without variables are evaluated first, in columns. Among the events that are left, those of a group
are found in an index: by a value that must be equal, or an element of a list. Rules that ask by the
same part share the index. Where no part can be looked up, every event that is left is tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.segments import Mask, Places, Positions, TruthColumn, conjunction, portions
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.trace.event import MISSING, Event, field_of
from bylaw.values import value_key
from bylaw.vocabulary.patterns import lookup
from bylaw.vocabulary.possible import Seen

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import ColumnarEvaluation
    from bylaw.columnar.rows import Rows


class FoundEvents:
    """The events that satisfy a condition, for each group of rows."""

    def __init__(self, rows: Rows, condition: f.Formula) -> None:
        groups = RowGroups(rows, condition.free)
        closed, opened = _separated(rows, condition)
        part, rest = _indexed(rows, opened)
        if part is None:
            candidates = _all_hits(rows, groups, closed)
        else:
            index = _index(rows.over, closed, part)
            candidates = iter([index.found(rows.over, groups, rows.bound[part.wanted])])
        self._groups: Final = groups
        self._width: Final = rows.places.segments.size + 1
        keys: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        checked: list[Mask] = [np.zeros(0, dtype=np.bool_)]
        for members, positions in candidates:
            column = TruthColumn(np.ones(len(members), dtype=np.bool_))
            if rest and len(members):
                tried = rows.at_positions(positions, groups.first[members], condition.free)
                parts = [tried.at(_together(rest))]
                if part is not None:  # looked up, so it was checked
                    parts.append(column)
                elif closed is not None:
                    parts.append(rows.over.near(closed, tried.places).at(positions))
                column = conjunction(parts)
            keys.append((members * self._width + positions)[column.true])
            checked.append(column.checked[column.true])
        self._keys: Final = np.concatenate(keys)
        """A group and the position of one of its events, as one number; in ascending order."""
        self._checked: Final = np.concatenate(checked)

    def anywhere(self, bounds: Positions) -> TruthColumn:
        """Is there such an event at or before a bound, for each row?"""
        true = self._latest(self._keys, bounds) >= 0
        if self._checked.all():
            return TruthColumn(true)
        return TruthColumn(true, true & (self._latest(self._keys[self._checked], bounds) < 0))

    def latest(self, bounds: Positions) -> Positions:
        """The last such event at or before a bound, for each row; -1 if there is none."""
        return self._latest(self._keys, bounds)

    def _latest(self, keys: NDArray[np.int64], bounds: Positions) -> Positions:
        base = self._groups.numbers * self._width
        # Before the first event of the group, this finds one of another group, or none.
        index = np.searchsorted(keys, base + bounds, side="right") - 1
        found = np.append(keys, np.int64(-1))[index]
        return np.where(found >= base, found - base, -1).astype(np.int32)


class RowGroups:
    """Rows of one trace with the same values of some variables."""

    def __init__(self, rows: Rows, variables: frozenset[str]) -> None:
        columns = [column for name, column in rows.bound.items() if name in variables]
        known: dict[Hashable, int] = {}
        numbers: list[int] = []
        first: list[int] = []
        for row, (trace, *values) in enumerate(
            zip(rows.places.trace.tolist(), *columns, strict=True)
        ):
            key = (trace, *map(_cheap_key, values))
            number = known.setdefault(key, len(known))
            if number == len(first):
                first.append(row)
            numbers.append(number)
        self.segments: Final = rows.places.segments
        self.numbers: Final = np.array(numbers, dtype=np.int64)
        """The group of each row."""
        self.first: Final = np.array(first, dtype=np.intp)
        """A row of each group."""
        self.traces: Final = rows.places.trace[self.first]
        """The trace of each group."""

    @property
    def of_traces(self) -> Mask:
        """Marks the traces that have a group."""
        found = np.zeros(self.segments.count, dtype=np.bool_)
        found[self.traces] = True
        return found


def _cheap_key(value: Seen) -> Hashable:
    """A key for equal texts and numbers; comparing other values costs more than it saves."""
    kind = type(value)
    return value if kind is str else (kind, value if kind is int else id(value))


# ── the parts of a condition ──────────────────────────────────────────────────────────────


class PatternPath(NamedTuple):
    """The part of a call that a pattern such as `order.id = i` reads."""

    field: Literal["args", "result"]
    path: tuple[str, ...]

    def of(self, call: Event) -> Seen:
        """The value in a call."""
        return lookup(field_of(call, self.field), self.path)


class _LookedUp(NamedTuple):
    """A part of a condition by which events can be looked up."""

    read: t.Term | PatternPath
    """The value that is read from the event."""
    wanted: str
    """The variable that it is compared with."""
    inside: bool
    """Is it sought in what is read? Otherwise, both must be equal."""


def _separated(rows: Rows, condition: f.Formula) -> tuple[f.Formula | None, list[f.Formula]]:
    """The conjunction of the parts that do not depend on the rows, if any, and the other parts."""
    closed: list[f.Formula] = []
    opened: list[f.Formula] = []
    for part in condition.operands if isinstance(condition, f.And) else (condition,):
        if rows.is_closed(part):
            closed.append(part)
        elif isinstance(part, f.EventAtom) and (part.tool is None or rows.is_closed(part.tool)):
            fixed = tuple(each for each in part.patterns if rows.is_closed(each))
            closed.append(f.EventAtom(part.tool, fixed))
            varied = (each for each in part.patterns if not rows.is_closed(each))
            opened += [f.EventAtom(part.tool, (each,)) for each in varied]
        else:
            opened.append(part)
    return _together(closed) if closed else None, opened


def _together(parts: list[f.Formula]) -> f.Formula:
    return parts[0] if len(parts) == 1 else f.And(tuple(parts))


def _indexed(rows: Rows, parts: list[f.Formula]) -> tuple[_LookedUp | None, list[f.Formula]]:
    """A part by which events can be looked up, if there is one, and the others."""
    for number, part in enumerate(parts):
        found = _looked_up(rows, part)
        if found is not None:
            return found, parts[:number] + parts[number + 1 :]
    return None, parts


def _looked_up(rows: Rows, part: f.Formula) -> _LookedUp | None:
    match part:
        case f.EventAtom(_, (f.ArgumentIs() | f.ResultIs() as pattern,)):
            return _lookup(rows, path_of(pattern), pattern.expected, inside=False)
        case f.Compare("contains", whole, sought) | f.Compare("in", sought, whole):
            return _lookup(rows, whole, sought, inside=True)
        case f.Compare("=", left, right):
            either = _lookup(rows, left, right, inside=False)
            return either or _lookup(rows, right, left, inside=False)
        case _:
            return None


def _lookup(
    rows: Rows, read: t.Term | PatternPath, wanted: t.Term, *, inside: bool
) -> _LookedUp | None:
    """Only a variable has the same value at the event and in the row."""
    closed = isinstance(read, PatternPath) or rows.is_closed(read)
    if closed and isinstance(wanted, t.Variable) and wanted.name in rows.bound:
        return _LookedUp(read, wanted.name, inside)
    return None


def path_of(pattern: f.ArgumentIs | f.ResultIs) -> PatternPath:
    """The part of a call that the pattern reads."""
    return PatternPath("args" if isinstance(pattern, f.ArgumentIs) else "result", pattern.path)


# ── indices ───────────────────────────────────────────────────────────────────────────────


class EventIndex:
    """The events that satisfy a formula without variables, by a value that is read from them.

    The evaluation that keeps it is given when it is needed: a reference cycle would keep both, and
    all events, in memory.
    """

    def __init__(self, traces: int, closed: f.Formula | None, part: _LookedUp) -> None:
        self._closed: Final = closed
        self._read: Final = part.read
        self._inside: Final = part.inside
        self._included: Final = np.zeros(traces, dtype=np.bool_)
        """Marks the traces whose events are in the index."""
        self._by_value: Final[dict[tuple[int, Hashable], list[int]]] = {}
        self._texts: Final[dict[int, list[tuple[int, str]]]] = {}

    def found(
        self, over: ColumnarEvaluation, groups: RowGroups, column: Sequence[Seen]
    ) -> tuple[NDArray[np.int64], Positions]:
        """Pairs of a group and one of its events, in ascending order.

        `column` is the value in each row that is looked up.
        """
        self._include(over, groups.of_traces)
        wanted = [column[row] for row in groups.first.tolist()]
        members: list[int] = []
        positions: list[int] = []
        pairs = zip(groups.traces.tolist(), wanted, strict=True)
        for group, (trace, value) in enumerate(pairs):
            if value is MISSING or (value is None and not self._is_pattern):
                continue
            found: Sequence[int] = self._by_value.get((trace, value_key(value)), ())
            if self._inside and type(value) is str and trace in self._texts:
                inside = [at for at, text in self._texts[trace] if value in text]
                found = sorted({*found, *inside}) if found else inside
            members += [group] * len(found)
            positions += found
        return np.array(members, dtype=np.int64), np.array(positions, dtype=np.int32)

    @property
    def _is_pattern(self) -> bool:
        """In a pattern null equals null, unlike in a comparison."""
        return isinstance(self._read, PatternPath)

    def _include(self, over: ColumnarEvaluation, traces: Mask) -> None:
        """Reads these traces, as far as that has not been done."""
        new = traces & ~self._included
        if not new.any():
            return
        self._included[new] = True
        hits = _hits(over, self._closed, new)
        owners, values = over.segments.trace[hits].tolist(), self._values(over, hits)
        for at, trace, value in zip(hits.tolist(), owners, values, strict=True):
            if self._inside and type(value) is str:
                self._texts.setdefault(trace, []).append((at, value))
            for key in self._keys(value):
                found = self._by_value.setdefault((trace, key), [])
                if not found or found[-1] != at:
                    found.append(at)

    def _values(self, over: ColumnarEvaluation, hits: Positions) -> Iterable[Seen]:
        read = self._read
        if isinstance(read, PatternPath):
            return [read.of(event) for event in over.subject.events(hits)]
        return over.values(read, Places(over.segments, hits))

    def _keys(self, value: Seen) -> Iterator[Hashable]:
        if value is MISSING:
            return
        if not self._inside:
            yield value_key(value)
        elif isinstance(value, list | tuple):
            yield from map(value_key, value)


def _index(over: ColumnarEvaluation, closed: f.Formula | None, part: _LookedUp) -> EventIndex:
    key = closed, part.read, part.inside
    found = over.indices.get(key)
    if found is None:
        found = over.indices[key] = EventIndex(over.segments.count, closed, part)
    return found


def _hits(over: ColumnarEvaluation, closed: f.Formula | None, traces: Mask) -> Positions:
    """The positions in some traces where a formula without variables holds."""
    inside = np.flatnonzero(traces[over.segments.trace]).astype(np.int32)
    if closed is None:
        return inside
    places = Places(over.segments, inside)
    return inside[over.near(closed, places).true[inside]]


def _all_hits(
    rows: Rows, groups: RowGroups, closed: f.Formula | None
) -> Iterator[tuple[NDArray[np.int64], Positions]]:
    """Pairs of a group and an event of its trace, in ascending order, in portions."""
    hits = _hits(rows.over, closed, groups.of_traces)
    begins = np.searchsorted(hits, groups.segments.starts[groups.traces])
    counts = np.searchsorted(hits, groups.segments.ends[groups.traces]) - begins
    for some in portions(counts):
        number = counts[some]
        members = np.repeat(np.arange(some.start, some.stop), number)
        shift = begins[some] - (np.cumsum(number) - number)
        yield members, hits[np.arange(len(members)) + np.repeat(shift, number)]
