"""Formulas over many traces at once: the definitions of `semantics.reference`, in columns.

A formula has a truth column with a value for each position of all traces. A formula that is only
evaluated at the start of traces has a column with a value for each trace, which costs less.

A formula with variables is evaluated on columns in which each trace appears once for each value of
its variables (`values`), so that a variable is one more column.

An operator, term or predicate that is not listed as supported, or has no columns, is judged trace
by trace. So adding one to the language never needs a change here, only more time per trace.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import Final

import numpy as np

from bylaw.columnar.columns import Subject
from bylaw.columnar.instances import at_starts, everywhere, is_of_trace
from bylaw.columnar.rows import Rows
from bylaw.columnar.search import EventIndex
from bylaw.columnar.segments import (
    Mask,
    Places,
    Positions,
    Segments,
    TruthColumn,
    conjunction,
    disjunction,
    equivalence,
    following,
    implication,
    latest,
    negated,
)
from bylaw.columnar.start_times import started_near
from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import everything, is_local
from bylaw.trace.event import comes_with_result
from bylaw.vocabulary.possible import Seen
from bylaw.vocabulary.predicate import Probe
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.registry import EMPTY, Vocabulary

FEW: Final = 0.25
"""The share of positions up to which evaluating only those is faster."""
FEW_SLOW: Final = 0.9
"""The same for a formula that reads values."""
MAX_DEPTH: Final = 100
"""The largest depth of a formula: evaluation in columns recurses through the interpreter."""
_ATOMS: Final = (f.Truth, f.EventAtom, f.Says, f.Compare, f.TracePredicate)
_CONNECTIVES: Final = (f.Not, f.And, f.Or, f.Implies, f.Iff)
_FUTURE: Final = (
    *(f.Next, f.WeakNext, f.Eventually, f.Always, f.Until, f.WeakUntil, f.Release),
    *(f.Later, f.EventuallyWithin, f.LaterWithin),
)
_PAST: Final = (
    *(f.Yesterday, f.Once, f.Historically, f.Since, f.Earlier),
    *(f.OnceWithin, f.EarlierWithin),
)
_QUANTIFIERS: Final = (f.ForAll, f.Exists, f.Let, t.Counted)
_READ_VALUES: Final = (f.Compare, f.ForAll, f.Exists, f.Let)
_DOMAINS: Final = (f.Listed, f.Found, f.FromArgs, f.FromResults, f.FromMetrics)
_PATTERNS: Final = (f.ArgumentIs, f.ResultIs, f.OutcomeIs)
_TERMS: Final = (
    *(t.Literal, t.Variable, t.Reading, t.At, t.Apply, t.ListTerm, t.ObjectTerm, t.ObjectEntry),
    *(t.Last, t.Sofar),
)
_TOOLS: Final = (t.ToolName, t.ToolVariable, t.ToolGlob, t.ToolSet)
_OPERANDS: Final = (f.ToolList, f.Count, f.Arguments)
_SUPPORTED: Final = frozenset(
    (
        *(*_ATOMS, *_CONNECTIVES, *_FUTURE, *_PAST, *_QUANTIFIERS),
        *(*_DOMAINS, *_PATTERNS, *_TERMS, *_TOOLS, *_OPERANDS),
    )
)
_COMPUTED: Final = "it computes a value that a pattern or predicate expects"


class ColumnarEvaluation:
    """Formulas over the same columns. The parts they share are evaluated once."""

    def __init__(self, subject: Subject) -> None:
        self.subject: Final = subject
        self.segments: Final = subject.segments
        self._columns: dict[f.Formula, TruthColumn] = {}
        self._starts: dict[f.Formula, TruthColumn] = {}
        self._partial: dict[f.Formula, _PartialColumn] = {}
        self.indices: Final[dict[Hashable, EventIndex]] = {}
        """Indices of events, shared by the searches of all rules."""

    # ── at the start of each trace ────────────────────────────────────────────────────────

    def start(self, formula: f.Formula) -> TruthColumn:
        """The value at the first position of each trace."""
        known = self._starts.get(formula)
        if known is None:
            known = self._starts[formula] = self._start(formula)
        return known

    def _start(self, formula: f.Formula) -> TruthColumn:
        match formula:
            case f.TracePredicate(name, operands):
                column = PREDICATES[name].column(self.subject, operands)
                return TruthColumn(column & self._defined(operands))
            case f.Not(operand):
                return negated(self.start(operand))
            case f.And(operands):
                return conjunction([self.start(operand) for operand in operands])
            case f.Or(operands):
                return disjunction([self.start(operand) for operand in operands])
            case f.Implies(left, right):
                return implication(self.start(left), self.start(right))
            case f.Iff(left, right):
                return equivalence(self.start(left), self.start(right))
            case f.Always(f.Implies(left, right)):
                guarded = self.segments.everywhere.those(self.column(left).true)
                return self._all_of(self.at(right, guarded), guarded)
            case f.Always(operand):
                return self._all_of(self.column(operand), self.segments.everywhere)
            case f.Eventually(operand):
                return _some(self.column(operand), self.segments.any)
            case f.ForAll(_, domain) | f.Exists(_, domain) if is_of_trace(domain):
                return at_starts(self, formula)
            case _:
                return self.at(formula, self.segments.at_starts)

    def _defined(self, operands: Sequence[f.Operand]) -> Mask:
        """The traces in which no operand is an undefined tool."""
        lists = (
            operand.tools if isinstance(operand, f.ToolList) else (operand,) for operand in operands
        )
        tools = (tool.name for each in lists for tool in each if isinstance(tool, t.ToolVariable))
        return reduce(np.logical_and, map(self.subject.has_value, tools), ~self.subject.never)

    def _all_of(self, column: TruthColumn, places: Places) -> TruthColumn:
        """For each trace: is the column true at all of its places?"""
        true, vacuous = np.ones((2, self.segments.count), dtype=np.bool_)
        true[places.trace[~column.true]] = False
        checked = places.trace if column.vacuous is None else places.trace[~column.vacuous]
        vacuous[checked] = False
        return TruthColumn(true, vacuous)

    # ── at positions ──────────────────────────────────────────────────────────────────────

    def column(self, formula: f.Formula) -> TruthColumn:
        """The value at each position."""
        known = self._columns.get(formula)
        if known is None:
            known = self._columns[formula] = self._value(formula, self.segments.everywhere)
        return known

    def at(self, formula: f.Formula, places: Places) -> TruthColumn:
        """The value at some positions."""
        if places.whole:
            return self.column(formula)
        if formula in self._columns or len(places) > _few(formula) * self.segments.size:
            return self.column(formula).at(places.indices)
        return self._value(formula, places)

    def near(self, formula: f.Formula, places: Places) -> TruthColumn:
        """The value at each position of the traces that some positions belong to.

        A formula that reads values is not evaluated in other traces.
        """
        if places.whole or formula in self._columns or _few(formula) == FEW:
            return self.column(formula)
        wanted = np.zeros(self.segments.count, dtype=np.bool_)
        wanted[places.trace] = True
        if np.count_nonzero(wanted) > FEW_SLOW * len(wanted):
            return self.column(formula)
        partial = self._partial.get(formula)
        if partial is None:
            partial = self._partial[formula] = _PartialColumn(self.segments)
        new = partial.missing(wanted)
        if len(new):
            partial.add(self._value(formula, new), new)
        return partial.column

    def values(self, term: t.Term, places: Places) -> Iterable[Seen]:
        """The value of a term at some positions, to be read once."""
        return Rows(self, places).values(term)

    def _value(self, formula: f.Formula, places: Places) -> TruthColumn:
        def nearby(operand: f.Formula) -> TruthColumn:
            return self.near(operand, places)

        match formula:
            case f.Truth(truth):
                return TruthColumn(np.full(len(places), truth))
            case f.EventAtom(tool, patterns):
                return TruthColumn(places.of(self.subject.mask(Probe(tool, patterns))))
            case f.Says(role):
                return TruthColumn(places.of(self.subject.says(role)))
            case f.Compare() if is_local(formula) and not _reads_result(formula):
                return TruthColumn(self.subject.local_truth(formula, places.indices))
            case f.Compare():
                return TruthColumn(Rows(self, places).compared(formula))
            case f.TracePredicate():
                return self.start(formula).at(places.trace)

            # Connectives. The right side is evaluated only where it matters.
            case f.Not(operand):
                return negated(self.at(operand, places))
            case f.And(operands):
                columns = [self.at(operands[0], places)]
                for operand in operands[1:]:
                    columns.append(self._where(columns[-1].true, operand, places))
                return conjunction(columns)
            case f.Or(operands):
                return disjunction([self.at(operand, places) for operand in operands])
            case f.Implies(left, right):
                a = self.at(left, places)
                return implication(a, self._where(a.true, right, places))
            case f.Iff(left, right):
                return equivalence(self.at(left, places), self.at(right, places))

            # The future.
            case f.Next(operand) | f.WeakNext(operand):
                there = places.indices + np.int32(1)
                at_the_end = isinstance(formula, f.WeakNext)
                return self._elsewhere(operand, there, there < places.end, at_the_end)
            case f.Eventually(operand):
                return _some(nearby(operand), places.from_here)
            case f.Always(operand):
                return _every(nearby(operand), places.from_here)
            case f.Until(left, right):
                return TruthColumn(places.until(nearby(left).true, nearby(right).true))
            case f.WeakUntil(left, right):
                kept = nearby(left).true
                always = ~places.from_here(~kept)
                return TruthColumn(places.until(kept, nearby(right).true) | always, always)
            case f.Release(left, right):
                frees, kept = nearby(left).true, nearby(right).true
                always = ~places.from_here(~kept)
                reached = places.until(kept, frees & kept)
                return TruthColumn(reached | always, always & ~places.from_here(frees))

            # The past.
            case f.Yesterday(operand):
                there = places.indices - np.int32(1)
                return self._elsewhere(operand, there, there >= places.start, False)
            case f.Once(operand):
                return _some(nearby(operand), places.so_far)
            case f.Historically(operand):
                return _every(nearby(operand), places.so_far)
            case f.Since(left, right):
                return TruthColumn(places.since(nearby(left).true, nearby(right).true))

            # Other steps than that of the event.
            case f.Earlier(operand):
                before = self.subject.columns.step_starts[places.indices] - np.int32(1)
                return _some(
                    nearby(operand),
                    lambda mask: (before >= places.start) & (latest(mask, before) >= places.start),
                )
            case f.Later(operand):
                after = self.subject.columns.step_ends[places.indices]
                return _some(nearby(operand), lambda mask: following(mask, after) < places.end)

            # Events that start within some time of this one.
            case f.EventuallyWithin() | f.OnceWithin() | f.LaterWithin() | f.EarlierWithin():
                near = started_near(self.subject.columns, formula, places)
                return _some(nearby(formula.operand), near)

            case f.ForAll(_, domain) | f.Exists(_, domain) if is_of_trace(domain):
                return everywhere(self, formula).at(places.indices)
            case f.ForAll() | f.Exists() | f.Let():
                return Rows(self, places).value(formula)
            case _:
                raise AssertionError(f"{type(formula).__name__} is not listed as supported")

    def _where(self, chosen: Mask, formula: f.Formula, places: Places) -> TruthColumn:
        """The value at the chosen positions; false at the others."""
        some = np.flatnonzero(chosen)
        if len(some) > _few(formula) * len(chosen):
            return self.at(formula, places)
        return self.at(formula, places.those(some)).scattered(some, len(chosen))

    def _elsewhere(
        self, formula: f.Formula, positions: Positions, exist: Mask, otherwise: bool
    ) -> TruthColumn:
        """The value at other positions, and `otherwise` where those do not exist."""
        some = np.flatnonzero(exist)
        column = self.at(formula, Places(self.segments, positions[some]))
        return column.scattered(some, len(exist), otherwise=otherwise)


class _PartialColumn:
    """The values of a formula in some traces; false in the others."""

    def __init__(self, segments: Segments) -> None:
        self._segments: Final = segments
        self._known: Final[Mask] = np.zeros(segments.count, dtype=np.bool_)
        self._true, self._vacuous = np.zeros((2, segments.size), dtype=np.bool_)

    def missing(self, traces: Mask) -> Places:
        """The positions of those of the traces that have no values yet."""
        new = traces & ~self._known
        self._known[new] = True
        indices = np.flatnonzero(new[self._segments.trace]).astype(np.int32)
        return Places(self._segments, indices)

    def add(self, column: TruthColumn, places: Places) -> None:
        """Adds values."""
        self._true[places.indices] = column.true
        if column.vacuous is not None:
            self._vacuous[places.indices] = column.vacuous

    @property
    def column(self) -> TruthColumn:
        """The values at all positions."""
        return TruthColumn(self._true, self._vacuous if self._vacuous.any() else None)


@lru_cache(maxsize=65536)
def _reads_result(formula: f.Compare) -> bool:
    """Does it read a text or a result? These differ from call to call, unlike arguments."""
    fields = (part.field for part in everything(formula) if isinstance(part, t.Reading))
    return any(comes_with_result(field) for field in fields)


@lru_cache(maxsize=65536)
def _few(formula: f.Formula) -> float:
    """The share of positions up to which evaluating only those is faster."""
    slow = formula.contains(*_READ_VALUES)
    return FEW_SLOW if slow else FEW


def _some(column: TruthColumn, anywhere: Callable[[Mask], Mask]) -> TruthColumn:
    """Is the column true at one of the positions that a fold covers?"""
    true = anywhere(column.true)
    return TruthColumn(true, None if column.vacuous is None else true & ~anywhere(column.checked))


def _every(column: TruthColumn, anywhere: Callable[[Mask], Mask]) -> TruthColumn:
    """Is the column true at all of them?"""
    vacuous = None if column.vacuous is None else ~anywhere(~column.vacuous)
    return TruthColumn(~anywhere(~column.true), vacuous)


# ── what has columns ───────────────────────────────────────────────────────────────────


def unsupported_because(formula: f.Formula, vocabulary: Vocabulary = EMPTY) -> str | None:
    """The reason why traces must be judged one by one; None if the formula has columns."""
    if formula.depth > MAX_DEPTH:
        return f"it nests more than {MAX_DEPTH} operators"
    reasons = (_obstacle(part, vocabulary) for part in everything(formula))
    return next((reason for reason in reasons if reason is not None), None)


def _obstacle(part: Node, vocabulary: Vocabulary) -> str | None:
    match part:
        case f.OpenPredicate(name) | f.Extracted(name):
            return f"it calls the function '{name}'"
        case t.Answer() | t.Labels():
            return "it reads the answer or the labels of a trace"
        case _ if type(part) not in _SUPPORTED:
            return f"{type(part).__name__} has no columns"
        case f.ArgumentIs(_, expected) | f.ResultIs(_, expected):
            return None if isinstance(expected, t.Literal | t.Variable) else _COMPUTED
        case f.Count(_, number):
            return None if isinstance(number, t.Literal) else _COMPUTED
        case f.TracePredicate():
            return _predicate_obstacle(part, vocabulary)
        case t.ToolSet(members) if part.free and len(members) > 1:
            return "it has a variable in a set of tools"
        case _:
            return None


def _predicate_obstacle(part: f.TracePredicate, vocabulary: Vocabulary) -> str | None:
    predicate = PREDICATES[part.name]
    if predicate.columns is None:
        return f"{part.name} has no columns"
    if not all(isinstance(each, (t.Literal, *_TOOLS, *_OPERANDS)) for each in part.operands):
        return _COMPUTED
    probes = predicate.tracker("position", part.operands).probes
    if any(probe.result is not None for probe in probes) and not vocabulary.compares_plainly:
        return "it compares results with a registered comparator"
    return None


def vacuous_by_guard(formula: f.Formula, over: ColumnarEvaluation) -> Mask | None:
    """The traces that satisfy the formula vacuously, as far as its guard alone shows.

    `G(guard -> …)` demands nothing of a trace in which the guard never holds, and a universal
    quantifier nothing of a trace without calls of its domain. None if the formula has no guard.
    """
    found: Mask | None = None
    for part in formula.operands if isinstance(formula, f.And) else (formula,):
        vacuous = _vacuous(part, over)
        if vacuous is None:
            return None
        found = vacuous if found is None else found & vacuous
    return found


def _vacuous(part: f.Formula, over: ColumnarEvaluation) -> Mask | None:
    match part:
        case f.Always(f.Implies(guard, _)):
            masks = [
                over.column(each).true
                for each in (guard.operands if isinstance(guard, f.And) else (guard,))
                if unsupported_because(each, over.subject.vocabulary) is None
            ]
            return ~over.segments.any(np.logical_and.reduce(masks)) if masks else None
        case f.ForAll(_, f.FromArgs(tool) | f.FromResults(tool), _) if not tool.free:
            return ~over.segments.any(over.subject.mask(Probe(tool)))
        case _:
            return None
