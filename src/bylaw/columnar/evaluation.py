"""Formulas over many traces at once: the definitions of `semantics.reference`, in columns.

A formula has a row with a value for each position of all traces. What is only asked at the start
of traces has a row with a value for each trace, which costs less: `G` is then a question about
whole traces, and predicates are that anyway.

Where a formula has variables, it is asked of columns in which each trace stands once for each of
their values (`quantifiers`), so that a variable is one more column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.predicates import PREDICATES
from bylaw.columnar.quantifiers import at_places, at_starts, everywhere, is_of_trace
from bylaw.columnar.row import Row, equivalent, implied, joined, met, negated
from bylaw.columnar.segments import Mask, Places, Positions, following, latest
from bylaw.columnar.subject import Subject
from bylaw.columnar.terms import compared
from bylaw.logic import formula as f
from bylaw.logic.reach import is_local
from bylaw.vocabulary.tracker import Probe

FEW: Final = 0.25
"""The share of positions up to which it is worth while to ask in some of them alone."""


class Evaluation:
    """Formulas over the same columns; parts that they share are worked out once."""

    def __init__(self, subject: Subject) -> None:
        self.subject: Final = subject
        self.segments: Final = subject.segments
        self._rows: dict[f.Formula, Row] = {}
        self._starts: dict[f.Formula, Row] = {}

    # ── at the start of each trace ────────────────────────────────────────────────────────

    def start(self, formula: f.Formula) -> Row:
        """The value at the first position of each trace."""
        known = self._starts.get(formula)
        if known is None:
            known = self._starts[formula] = self._start(formula)
        return known

    def _start(self, formula: f.Formula) -> Row:
        match formula:
            case f.TracePredicate(name, operands):
                return Row(PREDICATES[name](self.subject, *operands))
            case f.Not(operand):
                return negated(self.start(operand))
            case f.And(operands):
                return met([self.start(operand) for operand in operands])
            case f.Or(operands):
                return joined([self.start(operand) for operand in operands])
            case f.Implies(left, right):
                return implied(self.start(left), self.start(right))
            case f.Iff(left, right):
                return equivalent(self.start(left), self.start(right))
            case f.Always(f.Implies(left, right)):
                asked = self.segments.everywhere.those(self.row(left).true)
                return self._all_of(self.at(right, asked), asked)
            case f.Always(operand):
                return self._all_of(self.row(operand), self.segments.everywhere)
            case f.Eventually(operand):
                row = self.row(operand)
                true = self.segments.any(row.true)
                if row.vacuous is None:
                    return Row(true)
                return Row(true, true & ~self.segments.any(row.checked))
            case f.ForAll(_, domain) | f.Exists(_, domain) if is_of_trace(domain):
                return at_starts(self, formula)
            case _:
                return self.at(formula, self.segments.at_starts)

    def _all_of(self, row: Row, places: Places) -> Row:
        """For each trace: is it true in all of the places that it has, if it has any?"""
        true, vacuous = np.ones((2, self.segments.count), dtype=np.bool_)
        true[places.trace[~row.true]] = False
        vacuous[places.trace if row.vacuous is None else places.trace[~row.vacuous]] = False
        return Row(true, vacuous)

    # ── at positions ──────────────────────────────────────────────────────────────────────

    def row(self, formula: f.Formula) -> Row:
        """The value at each position."""
        known = self._rows.get(formula)
        if known is None:
            known = self._rows[formula] = self._value(formula, self.segments.everywhere)
        return known

    def at(self, formula: f.Formula, places: Places) -> Row:
        """The value in some places."""
        if places.whole:
            return self.row(formula)
        if formula in self._rows or len(places) > FEW * self.segments.size:
            return self.row(formula).at(places.indices)
        return self._value(formula, places)

    def _value(self, formula: f.Formula, places: Places) -> Row:
        match formula:
            case f.Truth(truth):
                return Row(np.full(len(places), truth))
            case f.Event(tool, patterns):
                return Row(places.of(self.subject.mask(Probe(tool, patterns))))
            case f.Compare() if not is_local(formula):
                return Row(compared(self, formula, places))
            case f.Says() | f.Compare():
                return Row(self.subject.asked(formula, places.indices))
            case f.TracePredicate():
                return self.start(formula).at(places.trace)
            case f.OpenPredicate():
                raise AssertionError("functions of users are asked of one trace at a time")

            # Connectives. What stands to the right is asked only where it matters.
            case f.Not(operand):
                return negated(self.at(operand, places))
            case f.And(operands):
                rows = [self.at(operands[0], places)]
                for operand in operands[1:]:
                    rows.append(self._where(rows[-1].true, operand, places))
                return met(rows)
            case f.Or(operands):
                return joined([self.at(operand, places) for operand in operands])
            case f.Implies(left, right):
                a = self.at(left, places)
                return implied(a, self._where(a.true, right, places))
            case f.Iff(left, right):
                return equivalent(self.at(left, places), self.at(right, places))

            # The future.
            case f.Next(operand) | f.WeakNext(operand):
                there = places.indices + np.int32(1)
                at_the_end = isinstance(formula, f.WeakNext)
                return self._elsewhere(operand, there, there < places.end, at_the_end)
            case f.Eventually(operand):
                return _some(self.row(operand), places.from_here)
            case f.Always(operand):
                return _every(self.row(operand), places.from_here)
            case f.Until(left, right):
                return Row(places.until(self.row(left).true, self.row(right).true))
            case f.WeakUntil(left, right):
                kept = self.row(left).true
                always = ~places.from_here(~kept)
                return Row(places.until(kept, self.row(right).true) | always, always)
            case f.Release(left, right):
                frees, kept = self.row(left).true, self.row(right).true
                always = ~places.from_here(~kept)
                reached = places.until(kept, frees & kept)
                return Row(reached | always, always & ~places.from_here(frees))

            # The past.
            case f.Yesterday(operand):
                there = places.indices - np.int32(1)
                return self._elsewhere(operand, there, there >= places.start, False)
            case f.Once(operand):
                return _some(self.row(operand), places.so_far)
            case f.Historically(operand):
                return _every(self.row(operand), places.so_far)
            case f.Since(left, right):
                return Row(places.since(self.row(left).true, self.row(right).true))

            # Other steps than that of the event.
            case f.Earlier(operand):
                before = self.subject.columns.step_starts[places.indices] - np.int32(1)
                return _some(
                    self.row(operand),
                    lambda mask: (before >= places.start) & (latest(mask, before) >= places.start),
                )
            case f.Later(operand):
                behind = self.subject.columns.step_ends[places.indices]
                return _some(self.row(operand), lambda mask: following(mask, behind) < places.end)

            case f.ForAll(_, domain) | f.Exists(_, domain) if is_of_trace(domain):
                return everywhere(self, formula).at(places.indices)
            case f.ForAll() | f.Exists():
                return at_places(self, formula, places)
            case _:
                assert_never(formula)

    def _where(self, chosen: Mask, formula: f.Formula, places: Places) -> Row:
        """The value in some of the places; false in the others."""
        some = np.flatnonzero(chosen)
        if len(some) > FEW * len(chosen):
            return self.at(formula, places)
        return _scattered(self.at(formula, places.those(some)), some, len(chosen), False)

    def _elsewhere(
        self, formula: f.Formula, positions: Positions, exist: Mask, otherwise: bool
    ) -> Row:
        """The value at other positions, where those exist."""
        some = np.flatnonzero(exist)
        row = self.at(formula, Places(self.segments, positions[some]))
        return _scattered(row, some, len(exist), otherwise)


def _scattered(row: Row, indices: NDArray[np.intp], size: int, otherwise: bool) -> Row:
    """The row spread over so many places; elsewhere what is given."""
    true = np.full(size, otherwise)
    true[indices] = row.true
    if row.vacuous is None:
        return Row(true)
    vacuous = np.zeros(size, dtype=np.bool_)
    vacuous[indices] = row.vacuous
    return Row(true, vacuous)


def _some(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at one of the positions that a fold looks at?"""
    true = anywhere(row.true)
    return Row(true) if row.vacuous is None else Row(true, true & ~anywhere(row.checked))


def _every(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at all of them?"""
    vacuous = None if row.vacuous is None else ~anywhere(~row.vacuous)
    return Row(~anywhere(~row.true), vacuous)
