"""Formulas and terms with variables, at many positions at once.

A row is a position with a value for each variable, so that `let` adds a column, and a quantifier
over a list found in an event makes a row for each of its elements. What depends on no variable is
asked of the evaluation below, which answers once for all rules. Events elsewhere in the trace that
fit a row are found by `search`; what is left is evaluated on a copy of the trace for each set of
values (`instances`).

Values are JSON of any kind, so they are kept in lists. `bylaw.vocabulary.reading` has the
definitions for a single position.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar import instances
from bylaw.columnar.search import FoundEvents, path_of
from bylaw.columnar.segments import (
    Combined,
    Mask,
    Places,
    Positions,
    TruthColumn,
    conjunction,
    disjunction,
    equivalence,
    implication,
    latest,
    negated,
)
from bylaw.columnar.so_far import EventsSoFar
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import everything
from bylaw.regex.regex import compiled
from bylaw.trace.event import MISSING, Call, Event, Missing, field_of
from bylaw.values import Json
from bylaw.vocabulary.comparisons import compared as values_compared
from bylaw.vocabulary.comparisons import same
from bylaw.vocabulary.functions import apply
from bylaw.vocabulary.patterns import at_key
from bylaw.vocabulary.possible import UNSEEN, Seen, keyed, together
from bylaw.vocabulary.reading import as_object, elements_of

if TYPE_CHECKING:
    from bylaw.columnar.evaluation import ColumnarEvaluation

ValueColumn: TypeAlias = Sequence[Seen]
"""The value of a variable in each row."""
_ELSEWHERE: Final = (t.Last, t.Sofar, t.Counted)
"""Terms that look at other events, or bind variables."""


MAX_KEYED: Final = 8
"""The length of a list above which comparing it costs more than applying a function to it."""


class Rows:
    """Some positions, not in any order, each with values for variables."""

    def __init__(
        self,
        over: ColumnarEvaluation,
        places: Places,
        bound: Mapping[str, ValueColumn] | None = None,
    ) -> None:
        self.over: Final = over
        self.places: Final = places
        self.bound: Final = bound or {}

    def __len__(self) -> int:
        return len(self.places)

    def those(self, chosen: NDArray[np.intp], needed: frozenset[str]) -> Rows:
        """Some of these rows, with the values of the variables that are needed."""
        return self.at_positions(self.places.indices[chosen], chosen, needed)

    def at_positions(
        self, positions: Positions, chosen: NDArray[np.intp], needed: frozenset[str]
    ) -> Rows:
        """Some of these rows, moved to other positions."""
        listed = chosen.tolist()
        bound = {
            name: [column[row] for row in listed]
            for name, column in self.bound.items()
            if name in needed
        }
        return Rows(self.over, Places(self.places.segments, positions), bound)

    def is_closed(self, node: Node) -> bool:
        """Does nothing in it depend on the variables of the rows?"""
        return not self.bound or node.free.isdisjoint(self.bound)

    # ── formulas ──────────────────────────────────────────────────────────────────────────

    def at(self, formula: f.Formula) -> TruthColumn:
        """The value in each row."""
        if self.is_closed(formula):
            return self.over.at(formula, self.places)
        return self.value(formula)

    def value(self, formula: f.Formula) -> TruthColumn:
        """The same, of a formula that reads variables or binds them."""
        match formula:
            case f.Compare():
                return TruthColumn(self.compared(formula))
            case f.EventAtom(tool, patterns) if tool is None or self.is_closed(tool):
                return TruthColumn(self._fitting(tool, patterns))
            case f.Not(operand):
                return negated(self.at(operand))
            case f.And(operands):
                columns = [self.at(operands[0])]
                for operand in operands[1:]:
                    columns.append(self._where(columns[-1].true, operand))
                return conjunction(columns)
            case f.Or(operands):
                return disjunction([self.at(operand) for operand in operands])
            case f.Implies(left, right):
                a = self.at(left)
                return implication(a, self._where(a.true, right))
            case f.Iff(left, right):
                return equivalence(self.at(left), self.at(right))
            case f.Let(variable, value, body):
                return self._binding(variable, self.values(value), body.free).at(body)
            case f.ForAll(_, f.Listed() | f.Found()) | f.Exists(_, f.Listed() | f.Found()):
                return self._quantified(formula)
            case f.Yesterday(operand):
                return self._moved(operand, -1, otherwise=False)
            case f.Next(operand) | f.WeakNext(operand):
                return self._moved(operand, 1, otherwise=isinstance(formula, f.WeakNext))
            case f.Once(operand):
                return FoundEvents(self, operand).anywhere(self.places.indices)
            case f.Earlier(operand):
                return FoundEvents(self, operand).anywhere(self.before_step)
            case _:
                return instances.formula(self, formula)

    @property
    def before_step(self) -> Positions:
        """For each row, the last position of an earlier step, which may be in another trace."""
        columns = self.over.subject.columns
        return columns.step_starts[self.places.indices] - np.int32(1)

    def _where(self, chosen: Mask, formula: f.Formula) -> TruthColumn:
        """The value in the chosen rows; false in the others."""
        if chosen.all():
            return self.at(formula)
        some = np.flatnonzero(chosen)
        if not len(some):
            return TruthColumn(chosen)
        return self.those(some, formula.free).at(formula).scattered(some, len(chosen))

    def _moved(self, formula: f.Formula, by: int, *, otherwise: bool) -> TruthColumn:
        """The value at the event before or after, and `otherwise` where there is none."""
        there = self.places.indices + np.int32(by)
        some = np.flatnonzero((there >= self.places.start) & (there < self.places.end))
        moved = self.at_positions(there[some], some, formula.free)
        return moved.at(formula).scattered(some, len(there), otherwise=otherwise)

    def _fitting(self, tool: t.Tool | None, patterns: Sequence[f.Pattern]) -> Mask:
        """Marks the rows whose event is such a call."""
        fixed = tuple(pattern for pattern in patterns if self.is_closed(pattern))
        found = self.over.at(f.EventAtom(tool, fixed), self.places).true.copy()
        for pattern in patterns:
            if self.is_closed(pattern) or isinstance(pattern, f.OutcomeIs):
                continue
            some = np.flatnonzero(found)
            rows = self.those(some, pattern.free)
            read, path = rows._events(), path_of(pattern)
            pairs = zip(read, rows.values(pattern.expected), strict=True)
            fits = (same(path.of(event), value) is True for event, value in pairs)
            found[some] = np.fromiter(fits, np.bool_, len(some))
        return found

    def _binding(self, variable: str, values: Iterable[Seen], needed: frozenset[str]) -> Rows:
        """The same rows with a value for one more variable."""
        kept = {name: column for name, column in self.bound.items() if name in needed}
        column = values if isinstance(values, list) else list(values)
        return Rows(self.over, self.places, kept | {variable: column})

    def _quantified(self, formula: f.Quantifier) -> TruthColumn:
        domains = [
            () if isinstance(each, Missing) else each for each in self._domains(formula.domain)
        ]
        if formula.variable not in formula.body.free:  # one value says what all say
            domains = [each[:1] for each in domains]
        owners, rows = self._exploded(formula, domains)
        found = Combined(len(self))
        if len(owners):
            found.add(rows.at(formula.body), owners)
        return found.column(of_all=isinstance(formula, f.ForAll))

    def _exploded(
        self, binder: f.Quantifier | t.Counted, domains: Sequence[Sequence[Json]]
    ) -> tuple[NDArray[np.intp], Rows]:
        """A row for each value, and the row that it comes from."""
        owners = np.repeat(np.arange(len(self)), [len(each) for each in domains])
        rows = self.those(owners, binder.body.free)
        values = [value for each in domains for value in each]
        return owners, rows._binding(binder.variable, values, binder.body.free)

    def _domains(self, domain: f.Domain) -> Sequence[Sequence[Json] | Missing]:
        """The values of a domain that is read from the event, in each row, or MISSING."""
        match domain:
            case f.Listed(items):
                columns = [self.values(item) for item in items]
                rows = _transposed(columns, len(self))
                return [[value for value in row if value is not MISSING] for row in rows]
            case f.Found(term):
                read = self.values(term)
                return [MISSING if value is MISSING else elements_of(value) for value in read]
            case _:
                raise AssertionError(f"{type(domain).__name__} is not listed as supported")

    def compared(self, formula: f.Compare) -> Mask:
        """Marks the rows in which the comparison holds."""
        symbol, left, right = formula.symbol, formula.left, formula.right
        if symbol == "~" and isinstance(right, t.Literal) and isinstance(right.value, str):
            expression = compiled(right.value)
            search = (lambda text: False) if expression is None else expression.search
            texts = self.values(left)
            found = (type(text) is str and search(text) for text in texts)
            return np.fromiter(found, np.bool_, len(self))
        pairs = zip(self.values(left), self.values(right), strict=True)
        if symbol == "contains":
            found = (
                b in a
                if type(a) is str and type(b) is str
                else values_compared(a, symbol, b) is True
                for a, b in pairs
            )
        elif symbol == "=":
            found = (
                a == b
                if type(a) is str and type(b) is str
                else values_compared(a, symbol, b) is True
                for a, b in pairs
            )
        else:
            found = (values_compared(a, symbol, b) is True for a, b in pairs)
        return np.fromiter(found, np.bool_, len(self))

    # ── terms ─────────────────────────────────────────────────────────────────────────────

    def values(self, term: t.Term) -> Iterable[Seen]:
        """The value of a term in each row, to be read once."""
        match term:
            case t.Literal():
                return [term.value] * len(self)
            case t.Variable(name):
                if name in self.bound:
                    return self.bound[name]
                return self.over.subject.bound_values(name, self.places)
            case t.Reading("text"):
                return self.over.subject.texts(self.places.indices)
            case t.Reading(field):
                return [field_of(event, field) for event in self._events()]
            case t.At(t.Reading("args"), t.Literal() as key) if isinstance(key.value, str):
                name = key.value
                return [
                    event.args.get(name, MISSING) if isinstance(event, Call) else MISSING
                    for event in self._events()
                ]
            case t.Last() | t.Sofar() | t.At() if (path := event_path(term)) is not None:
                return self._in_events(path, term)
            case t.At(base, key):
                pairs = zip(self.values(base), self.values(key), strict=True)
                return [at_key(value, key_) for value, key_ in pairs]
            case t.Apply("length", (t.Sofar() as events,)) if self.is_closed(events):
                return EventsSoFar(self.over, events, self.places).counts()
            case t.Apply() if not term.free and not _looks_elsewhere(term):
                return self._computed(term)
            case t.Apply(function, operands):
                return self._applied(function, operands)
            case t.ListTerm(items):
                columns = [self.values(item) for item in items]
                return [together(list(row)) for row in _transposed(columns, len(self))]
            case t.ObjectTerm(entries):
                keys = [entry.key for entry in entries]
                columns = [self.values(entry.value) for entry in entries]
                return [keyed(keys, list(row)) for row in _transposed(columns, len(self))]
            case t.Counted():
                return self._counted(term)
            case _:
                raise AssertionError(f"{type(term).__name__} is not listed as supported")

    def _events(self) -> list[Event]:
        return self.over.subject.events(self.places.indices)

    def _applied(self, function: str, operands: Sequence[t.Term]) -> list[Seen]:
        """The result in each row. Equal texts, and equal lists of few texts, are taken once."""
        match operands:
            case (of_text, t.Literal() as pattern) if function == "find":
                texts = TextMatches(pattern.value)
                return [texts.of(value) for value in self.values(of_text)]
        columns = [self.values(operand) for operand in operands]
        known: dict[Hashable, Seen] = {}
        found: list[Seen] = []
        for row in _transposed(columns, len(self)):
            key = tuple(map(_text_key, row))
            result = UNSEEN if None in key else known.get(key, UNSEEN)
            if result is UNSEEN:
                result = apply(function, row)
                if None not in key:
                    known[key] = result
            found.append(result)
        return found

    def _computed(self, term: t.Apply) -> list[Seen]:
        """The values of a term that depends on the event alone: computed once for all rules."""
        columns = self.over.subject.columns
        known = columns.store.computed.setdefault(term, {})
        numbers = columns.numbers(self.places.indices)
        new = {number: row for row, number in enumerate(numbers) if number not in known}
        if new:
            rows = self.those(np.fromiter(new.values(), np.intp, len(new)), frozenset())
            known.update(zip(new, rows._applied(term.function, term.operands), strict=True))
        return [known[number] for number in numbers]

    def _counted(self, term: t.Counted) -> list[Seen]:
        """The number of values of a domain for which the body holds."""
        read = (
            self._domains(term.domain)
            if isinstance(term.domain, f.Listed | f.Found)
            else instances.domains_at(self, term.domain)
        )
        domains = [() if isinstance(each, Missing) else each for each in read]
        owners, rows = self._exploded(term, domains)
        holds = rows.at(term.body).true if len(owners) else np.zeros(0, dtype=np.bool_)
        counts = np.bincount(owners[holds], minlength=len(self)).tolist()
        return [
            MISSING if isinstance(each, Missing) else count
            for each, count in zip(read, counts, strict=True)
        ]

    def _in_events(self, path: EventPath, term: t.Term) -> Iterable[Seen]:
        """The values in the events that `last` or `sofar` finds."""
        found = path.found
        if isinstance(found, t.Last):
            there = self._last(found.condition)
            events = iter(self.over.subject.events(there[there >= 0]))
            return [path.read(next(events)) if at >= 0 else MISSING for at in there.tolist()]
        if self.is_closed(found):
            return EventsSoFar(self.over, found, self.places).lists(path.read)
        return instances.values(self, term)

    def _last(self, condition: f.Formula) -> Positions:
        """The latest events of earlier steps that satisfy a condition; -1 for none."""
        before = self.before_step
        if not self.is_closed(condition):
            return FoundEvents(self, condition).latest(before)
        found = latest(self.over.near(condition, self.places).true, before)
        exist = (before >= self.places.start) & (found >= self.places.start)
        return np.where(exist, found, np.int32(-1))


class TextMatches:
    """`find` with one expression: it is compiled once, and equal texts are searched once."""

    def __init__(self, pattern: Json) -> None:
        self._pattern: Final = pattern
        self._expression: Final = compiled(pattern) if isinstance(pattern, str) else None
        self._known: Final[dict[str, list[Json]]] = {}

    def of(self, value: Seen) -> Seen:
        """The matches in a value."""
        if type(value) is not str or self._expression is None:
            return apply("find", (value, self._pattern))
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._expression.find(value)
        return found


def _text_key(value: Seen) -> Hashable:
    """A key of a text, or of a list of few texts; None for other values."""
    if type(value) is str:
        return value
    if not isinstance(value, list) or len(value) > MAX_KEYED:
        return None
    return tuple(value) if all(type(each) is str for each in value) else None


def _looks_elsewhere(term: t.Term) -> bool:
    return any(isinstance(part, _ELSEWHERE) for part in everything(term))


def _transposed(columns: list[Iterable[Seen]], count: int) -> Iterable[tuple[Seen, ...]]:
    return zip(*columns, strict=True) if columns else [()] * count


# ── paths into events ─────────────────────────────────────────────────────────────────────


class EventPath(NamedTuple):
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


def event_path(term: t.Term) -> EventPath | None:
    """The term as a path into events that `last` or `sofar` finds; None if it is no such path."""
    keys: list[str] = []
    while isinstance(term, t.At):
        if not isinstance(term.key, t.Literal) or not isinstance(term.key.value, str):
            return None
        keys.append(term.key.value)
        term = term.base
    return EventPath(term, tuple(reversed(keys))) if isinstance(term, t.Last | t.Sofar) else None
