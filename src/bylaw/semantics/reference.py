"""The meaning of formulas: the paper's definitions, one case each, for every position at once.

A formula has a row of values: its value at each position of the trace, and one more for the
empty suffix behind the last, which is what a rule about the empty trace is given. A temporal
operator is a fold over the suffix (or the prefix) that its definition quantifies over. Parts
that are only asked about the start of the trace have a row of one. A quantifier over values that
are read from the event has other instances at each position, so it is asked position by position,
and only where the formula around it depends on it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from bylaw.errors import Diagnostic, SpecError, did_you_mean, shown
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Counted, Last, Term
from bylaw.logic.walk import Steps, everything, run, sees_answer, substitute
from bylaw.semantics.folds import Row, prefixes, release, since, suffixes, until, weak_until
from bylaw.semantics.verdict import (
    FALSE,
    JOIN,
    MEET,
    NOT,
    TRUE,
    UNKNOWN,
    VACUOUS,
    Outcome,
    Value,
    iff,
    implies,
)
from bylaw.trace.event import MISSING, Message
from bylaw.trace.trace import Events, Trace
from bylaw.vocabulary.domains import Elements, distinct, elements
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.reading import UNSEEN, Seen, elements_of, value_at
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.relations import related
from bylaw.vocabulary.view import Order, View

_Rows: TypeAlias = MutableMapping[tuple[f.Formula, bool], Row]
_KLEENE = {True: TRUE, False: FALSE, None: UNKNOWN}


@dataclass(frozen=True, slots=True)
class Fault:
    """A registered function failed."""

    name: str
    reason: str
    at: int | None = None

    def __str__(self) -> str:
        place = "" if self.at is None else f" at event {self.at + 1}"
        return f"'{self.name}' {self.reason}{place}"


def holds(
    formula: f.Formula,
    trace: Trace,
    *,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> bool:
    """Does the trace satisfy the formula? Raises SpecError if a registered function fails."""
    evaluation = evaluate(formula, view_of(formula, trace, order, events, vocabulary))
    if evaluation.outcome is Outcome.ERROR:
        reasons = "; ".join(map(str, evaluation.faults))
        raise SpecError(Diagnostic("E117", f"the formula could not be evaluated: {reasons}"))
    return evaluation.value.is_true


def view_of(
    formula: f.Formula,
    trace: Trace,
    order: Order = "position",
    events: Events = "calls",
    vocabulary: Vocabulary = EMPTY,
) -> View:
    """What the formula sees of a trace: the final answer only if it names it."""
    return View(trace, trace.seen(events, sees_answer(formula)), order, vocabulary)


def evaluate(formula: f.Formula, view: View) -> Evaluation:
    """The value of a formula at the start of what a view shows."""
    check_closed(formula, view.vocabulary)
    return Evaluation(formula, view)


def check_closed(formula: f.Formula, vocabulary: Vocabulary) -> None:
    """Raises SpecError if the formula uses a variable or a function that nothing supplies."""
    problems = [
        Diagnostic("E108", f"no quantifier binds the variable '{name}'")
        for name in sorted(formula.free)
    ]
    for part in everything(formula):
        match part:
            case f.OpenPredicate(name) if name not in vocabulary.predicates:
                known, kind = set(vocabulary.predicates), "predicate"
            case f.Extracted(name) if name not in vocabulary.extractors:
                known, kind = set(vocabulary.extractors), "extractor"
            case _:
                continue
        help = did_you_mean(name, known) or (
            "Register it on a Vocabulary and pass that: --with module:vocabulary on the "
            "command line, vocabulary=… in Python."
        )
        problems.append(Diagnostic("E115", f"the {kind} '{name}' is not registered", help))
    if problems:
        raise SpecError(problems)


class Evaluation:
    """A formula on a view: its value at the start, and that of every part anywhere."""

    def __init__(self, formula: f.Formula, view: View) -> None:
        self.formula = formula
        self.view = view
        self.faults: list[Fault] = []
        self.awaits: dict[Node, bool] = {}
        """What is known of parts that wait for something; see `reasons`."""
        self._rows: _Rows = {}
        self.value = run(self._row(formula, False, self._rows))[0]

    @property
    def outcome(self) -> Outcome:
        """The value as the outcome of a constraint."""
        return Outcome.of(self.value)

    def at(self, formula: f.Formula, position: int) -> Value:
        """The value of a part at a position."""
        known = self._rows.get((formula, True))
        if known is None and position == 0:
            known = self._rows.get((formula, False))
        if known is not None:
            return known[position]
        return run(self._point(formula, position, self._rows))

    def row(self, formula: f.Formula) -> Row:
        """The value of a part at every position, and behind the last."""
        known = self._rows.get((formula, True))
        return run(self._row(formula, True, self._rows)) if known is None else known

    def _row(self, formula: f.Formula, wide: bool, rows: _Rows) -> Steps[Row]:
        key = (formula, wide)
        if key not in rows:
            rows[key] = yield self._computed(formula, wide, rows)
        return rows[key]

    def _computed(self, formula: f.Formula, wide: bool, rows: _Rows) -> Steps[Row]:
        n = len(self.view)
        width = n + 1 if wide else 1
        match formula:
            # Atoms.
            case f.Truth(truth):
                return [_KLEENE[truth]] * width
            case f.Event(tool, patterns):
                if not wide:
                    return [_KLEENE[self.view.matches(0, tool, patterns)] if n else FALSE]
                row = [FALSE] * width
                for i in self.view.occurrences(tool, patterns).certain:
                    row[i] = TRUE
                for i in self.view.hidden:
                    row[i] = UNKNOWN
                return row
            case f.Says(role):
                return [self._says(role, i) for i in range(width)]
            case f.Compare():
                return [self._compared(formula, i, rows) for i in range(width)]
            case f.TracePredicate(name, operands):
                return [self._trace_predicate(name, operands)] * width
            case f.OpenPredicate():
                return [self._open_predicate(formula, i, rows) for i in range(width)]

            # Connectives, position by position.
            case _ if formula.binds_here:
                row = []
                for i in range(width):
                    row.append((yield self._point(formula, i, rows)))
                return row
            case f.Not(operand):
                return [NOT[a] for a in (yield self._row(operand, wide, rows))]
            case f.And(operands) | f.Or(operands):
                table, decided = _JUNCTIONS[type(formula)]
                joined = list((yield self._row(operands[0], wide, rows)))
                for operand in operands[1:]:
                    if isinstance(operand, f.Compare) and (operand, wide) not in rows:
                        # Values are worth reading only where they can still decide something.
                        for i, before in enumerate(joined):
                            if before is not decided:
                                joined[i] = table[before, self._compared(operand, i, rows)]
                    else:
                        column = yield self._row(operand, wide, rows)
                        joined = [table[pair] for pair in zip(joined, column, strict=True)]
                return joined
            case f.Implies(left, right):
                a, b = (yield self._row(left, wide, rows)), (yield self._row(right, wide, rows))
                return list(map(implies, a, b))
            case f.Iff(left, right):
                a, b = (yield self._row(left, wide, rows)), (yield self._row(right, wide, rows))
                return list(map(iff, a, b))

            # The future: folds from the end.
            case f.Next(operand):
                a = yield self._row(operand, True, rows)
                return [a[i + 1] if i + 1 < n else FALSE for i in range(width)]
            case f.WeakNext(operand):
                a = yield self._row(operand, True, rows)
                return [a[i + 1] if i + 1 < n else TRUE for i in range(width)]
            case f.Eventually(operand):
                return suffixes(JOIN, FALSE, (yield self._row(operand, True, rows)))[:width]
            case f.Always(operand):
                return suffixes(MEET, VACUOUS, (yield self._row(operand, True, rows)))[:width]
            case f.Until(left, right):
                a, b = (yield self._row(left, True, rows)), (yield self._row(right, True, rows))
                return until(a, b)[:width]
            case f.WeakUntil(left, right):
                a, b = (yield self._row(left, True, rows)), (yield self._row(right, True, rows))
                return weak_until(a, b)[:width]
            case f.Release(left, right):
                a, b = (yield self._row(left, True, rows)), (yield self._row(right, True, rows))
                return release(a, b)[:width]

            # The past: folds from the start.
            case f.Yesterday(operand):
                a = yield self._row(operand, True, rows)
                return [a[i - 1] if 0 < i < n else FALSE for i in range(width)]
            case f.Once(operand):
                return prefixes(JOIN, FALSE, (yield self._row(operand, True, rows)))[:width]
            case f.Historically(operand):
                return prefixes(MEET, VACUOUS, (yield self._row(operand, True, rows)))[:width]
            case f.Since(left, right):
                a, b = (yield self._row(left, True, rows)), (yield self._row(right, True, rows))
                return since(a, b)[:width]

            # Other steps than that of the event: siblings of one turn do not see each other.
            case f.Earlier(operand):
                return self._by_steps((yield self._row(operand, True, rows)), range(n))[:width]
            case f.Later(operand):
                backwards = range(n - 1, -1, -1)
                return self._by_steps((yield self._row(operand, True, rows)), backwards)[:width]

            case f.ForAll() | f.Exists():
                quantified: Row = yield self._quantified(formula, wide, rows)
                return quantified
            case _:
                assert_never(formula)

    def _point(self, formula: f.Formula, at: int, rows: _Rows) -> Steps[Value]:
        """The value at one position, of a formula whose parts are worth asking one by one."""
        if isinstance(formula, f.Compare) and (formula, True) not in rows:
            return self._compared(formula, at, rows)  # elsewhere its values are not asked for
        if not formula.binds_here:
            row: Row = yield self._row(formula, at > 0, rows)
            return row[at]
        match formula:
            case f.Not(operand):
                return NOT[(yield self._point(operand, at, rows))]
            case f.And(operands) | f.Or(operands):
                table, decided = _JUNCTIONS[type(formula)]
                value: Value = yield self._point(operands[0], at, rows)
                for operand in operands[1:]:
                    if value is not decided:
                        value = table[value, (yield self._point(operand, at, rows))]
                return value
            case f.Implies(left, right):
                a = yield self._point(left, at, rows)
                return VACUOUS if a is FALSE else implies(a, (yield self._point(right, at, rows)))
            case f.Iff(left, right):
                a, b = (yield self._point(left, at, rows)), (yield self._point(right, at, rows))
                return iff(a, b)
            case f.ForAll() | f.Exists():
                found = self.elements(formula.domain, at, rows)
                table, empty = _QUANTIFIED[type(formula)]
                # What an instance computes is dropped with it, so that memory does not add up.
                inner: _Rows = ChainMap({}, rows)
                result = empty if found.complete else table[empty, UNKNOWN]
                for value in distinct(found.values):
                    instance = substitute(formula.body, formula.variable, value)
                    result = table[result, (yield self._point(instance, at, inner))]
                return result
            case _:
                raise AssertionError("only connectives and quantifiers are asked alone")

    def _by_steps(self, row: Row, positions: Iterable[int]) -> Row:
        """At each position the values at strictly earlier steps along the positions, combined."""
        combined = [FALSE] * len(row)
        before = here = FALSE
        last: int | None = None
        for i in positions:
            step = self.view.step(i)
            if step != last:
                before, last = here, step
            combined[i] = before
            here = JOIN[here, row[i]]
        return combined

    def _says(self, role: str, at: int) -> Value:
        if at in self.view.hidden:
            return UNKNOWN
        event = self.view.events[at] if at < len(self.view) else None
        return _KLEENE[isinstance(event, Message) and event.role == role]

    def _compared(self, comparison: f.Compare, at: int, rows: _Rows) -> Value:
        left = self._value(comparison.left, at, rows)
        right = self._value(comparison.right, at, rows)
        if left is UNSEEN or right is UNSEEN:
            certain = MISSING in (left, right) or None in (left, right)
            return FALSE if certain else UNKNOWN
        return _KLEENE[related(left, comparison.symbol, right)]

    def read(self, term: Term, at: int) -> Seen:
        """The value of a term at a position."""
        return self._value(term, at, self._rows)

    def _value(self, term: Term, at: int, rows: _Rows) -> Seen:
        return value_at(term, _Spot(self, at, rows))

    def last(self, condition: f.Formula, at: int) -> int | None:
        """The position of the event that `last` finds, if it finds one for certain."""
        try:
            return self._last(condition, at, self._rows)
        except _Unsure:
            return None

    def _last(self, condition: f.Formula, at: int, rows: _Rows) -> int | None:
        """The same; raises _Unsure if that depends on what is unknown."""
        if at >= len(self.view):
            return None
        row = run(self._row(condition, True, rows))
        here = self.view.step(at)
        for position in range(at - 1, -1, -1):
            if self.view.step(position) < here:
                if row[position] is UNKNOWN:
                    raise _Unsure
                if row[position].is_true:
                    return position
        return None

    def elements(self, domain: f.Domain, at: int, rows: _Rows | None = None) -> Elements:
        """The values that a quantifier at a position ranges over."""
        rows = self._rows if rows is None else rows
        match domain:
            case f.Listed(items):
                values = [self._value(item, at, rows) for item in items]
            case f.Found(term):
                value = self._value(term, at, rows)
                values = [UNSEEN] if value is UNSEEN else list(elements_of(value))
            case _:
                return elements(domain, self.view)
        seen = tuple(v for v in values if v is not MISSING and v is not UNSEEN)
        return Elements(seen, UNSEEN not in values)

    def _counted(self, term: Counted, at: int, rows: _Rows) -> Seen:
        if isinstance(term.domain, f.Found) and self._value(term.domain.term, at, rows) is MISSING:
            return MISSING
        found = self.elements(term.domain, at, rows)
        if not found.complete:
            return UNSEEN
        number = 0
        for each in found.values:
            instance = substitute(term.body, term.variable, each)
            value: Value = run(self._point(instance, at, ChainMap({}, rows)))
            if value is UNKNOWN:
                return UNSEEN
            number += value.is_true
        return number

    def _trace_predicate(self, name: str, operands: Sequence[f.Operand]) -> Value:
        try:
            return _KLEENE[PREDICATES[name].judge(self.view, operands)]
        except Exception as error:  # only a user's comparator can raise here
            return self._fault("result comparator", f"raised {_told(error)}")

    def _open_predicate(self, predicate: f.OpenPredicate, at: int, rows: _Rows) -> Value:
        n = len(self.view)
        final = predicate.name in self.view.vocabulary.final_when_false
        if self.view.hidden or (self.view.pending and not self.view.ongoing):
            return UNKNOWN  # the function may look at any event
        if self.view.ongoing and (not final or any(each < at for each in self.view.pending)):
            return UNKNOWN  # what is to come may change what it says
        operands = [self._value(operand, at, rows) for operand in predicate.operands]
        if UNSEEN in operands:
            return UNKNOWN
        if at == n > 0 or MISSING in operands:
            return FALSE  # no rule asks behind the end; an undefined operand makes it false
        function = self.view.vocabulary.predicates[predicate.name]
        try:
            answer = function(self.view.trace, at, self.view.trace.metrics, *operands)
        except Exception as error:
            return self._fault(predicate.name, f"raised {_told(error)}", at)
        if not isinstance(answer, bool):
            return self._fault(predicate.name, f"returned {shown(answer)}, not True or False", at)
        return UNKNOWN if answer and self.view.ongoing else _KLEENE[answer]

    def _fault(self, name: str, reason: str, at: int | None = None) -> Value:
        fault = Fault(name, reason, at)
        if fault not in self.faults:
            self.faults.append(fault)
        return UNKNOWN

    def _quantified(self, formula: f.Quantifier, wide: bool, rows: _Rows) -> Steps[Row]:
        """One instance for each value of a domain that is the same everywhere."""
        table, empty = _QUANTIFIED[type(formula)]
        result = [empty] * (len(self.view) + 1 if wide else 1)
        try:
            found = self.elements(formula.domain, 0)
        except Exception as error:  # a user's extractor
            name = getattr(formula.domain, "name", "extractor")
            return [self._fault(name, f"raised {_told(error)}")] * len(result)
        values = distinct(found.values)
        for value in values if formula.variable in formula.body.free else values[:1]:
            instance = substitute(formula.body, formula.variable, value)
            # What an instance computes is dropped with it, so that memory does not add up.
            row = yield self._row(instance, wide, ChainMap({}, rows))
            result = [table[a, b] for a, b in zip(result, row, strict=True)]
        if not found.complete:
            result = [table[a, UNKNOWN] for a in result]
        return result


_JUNCTIONS = {f.And: (MEET, FALSE), f.Or: (JOIN, TRUE)}
"""How operands combine, and the value that none of the others can change."""
_QUANTIFIED = {f.ForAll: (MEET, VACUOUS), f.Exists: (JOIN, FALSE)}
"""How instances combine, and what there is without any."""


class _Unsure(Exception):
    """Which event is meant depends on what is not known."""


class _Spot:
    """A position of the trace, as values are read there."""

    def __init__(self, evaluation: Evaluation, at: int, rows: _Rows) -> None:
        self.evaluation = evaluation
        self.view = evaluation.view
        self.at = at
        self.rows = rows

    def field(self, name: str) -> Seen:
        return self.view.field(self.at, name)

    def answer(self) -> Seen:
        return MISSING if self.view.trace.answer is None else self.view.trace.answer

    def labels(self) -> Seen:
        return self.view.trace.labels

    def last(self, term: Last) -> Seen:
        if self.at in self.view.hidden:
            return UNSEEN
        try:
            found = self.evaluation._last(term.condition, self.at, self.rows)
        except _Unsure:
            return UNSEEN
        return MISSING if found is None else self.view.event_object(found)

    def counted(self, term: Counted) -> Seen:
        return self.evaluation._counted(term, self.at, self.rows)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
