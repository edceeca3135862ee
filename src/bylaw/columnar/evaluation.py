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

from bylaw.columnar.predicates import PREDICATES
from bylaw.columnar.quantifiers import at_starts, everywhere
from bylaw.columnar.row import Row, equivalent, implied, joined, met, negated
from bylaw.columnar.segments import Mask
from bylaw.columnar.subject import Subject
from bylaw.logic import formula as f
from bylaw.vocabulary.tracker import Probe


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
            case f.Always(operand):
                row = self.row(operand)
                vacuous = None if row.vacuous is None else self.segments.all(row.vacuous)
                return Row(self.segments.all(row.true), vacuous)
            case f.Eventually(operand):
                row = self.row(operand)
                true = self.segments.any(row.true)
                if row.vacuous is None:
                    return Row(true)
                return Row(true, true & ~self.segments.any(row.checked))
            case f.ForAll() | f.Exists():
                return at_starts(self, formula)
            case _:
                return self.row(formula).at(self.segments.starts)

    # ── at every position ─────────────────────────────────────────────────────────────────

    def row(self, formula: f.Formula, where: Mask | None = None) -> Row:
        """The value at each position; it matters only at those in `where`."""
        known = self._rows.get(formula)
        if known is None:
            known = self._row(formula, where)
            if where is None:
                self._rows[formula] = known
        return known

    def _row(self, formula: f.Formula, where: Mask | None) -> Row:
        folds = self.segments
        match formula:
            case f.Truth(truth):
                return Row(np.full(folds.size, truth))
            case f.Event(tool, patterns):
                return Row(self.subject.mask(Probe(tool, patterns)))
            case f.Says() | f.Compare():
                return Row(self.subject.asked(formula, where))
            case f.TracePredicate():
                return self._everywhere(self.start(formula))
            case f.OpenPredicate():
                raise AssertionError("functions of users are asked of one trace at a time")

            # Connectives, position by position.
            case f.Not(operand):
                return negated(self.row(operand, where))
            case f.And(operands):
                rows = [self.row(operands[0], where)]
                for operand in operands[1:]:
                    open_ = rows[-1].true if where is None else where & rows[-1].true
                    rows.append(self.row(operand, open_))
                return met(rows)
            case f.Or(operands):
                return joined([self.row(operand, where) for operand in operands])
            case f.Implies(left, right):
                a = self.row(left, where)
                return implied(a, self.row(right, a.true if where is None else where & a.true))
            case f.Iff(left, right):
                return equivalent(self.row(left, where), self.row(right, where))

            # The future.
            case f.Next(operand) | f.WeakNext(operand):
                a = self.row(operand)
                vacuous = None if a.vacuous is None else folds.after(a.vacuous, False)
                return Row(folds.after(a.true, isinstance(formula, f.WeakNext)), vacuous)
            case f.Eventually(operand):
                return _some(self.row(operand), folds.from_here)
            case f.Always(operand):
                return _every(self.row(operand), folds.from_here)
            case f.Until(left, right):
                return Row(folds.until(self.row(left).true, self.row(right).true))
            case f.WeakUntil(left, right):
                kept = self.row(left).true
                always = ~folds.from_here(~kept)
                return Row(folds.until(kept, self.row(right).true) | always, always)
            case f.Release(left, right):
                frees, kept = self.row(left).true, self.row(right).true
                always = ~folds.from_here(~kept)
                reached = folds.until(kept, frees & kept)
                return Row(reached | always, always & ~folds.from_here(frees))

            # The past.
            case f.Yesterday(operand):
                a = self.row(operand)
                return Row(
                    folds.before(a.true), None if a.vacuous is None else folds.before(a.vacuous)
                )
            case f.Once(operand):
                return _some(self.row(operand), folds.so_far)
            case f.Historically(operand):
                return _every(self.row(operand), folds.so_far)
            case f.Since(left, right):
                return Row(folds.since(self.row(left).true, self.row(right).true))

            # Other steps than that of the event.
            case f.Earlier(operand):
                return _some(self.row(operand), self._in_earlier_steps)
            case f.Later(operand):
                return _some(self.row(operand), self._in_later_steps)

            case f.ForAll() | f.Exists():
                return everywhere(self, formula)
            case _:
                assert_never(formula)

    def _everywhere(self, starts: Row) -> Row:
        """What holds of each trace, at each of its positions."""
        return starts.at(self.segments.trace)

    def _in_earlier_steps(self, mask: Mask) -> Mask:
        latest = self.segments.latest(mask)
        before = self.subject.columns.step_starts - 1
        return (before >= self.segments.start) & (latest[before] >= self.segments.start)

    def _in_later_steps(self, mask: Mask) -> Mask:
        following = np.append(self.segments.next(mask), np.int32(self.segments.size))
        return following[self.subject.columns.step_ends] < self.segments.end


def _some(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at one of the positions that a fold looks at?"""
    true = anywhere(row.true)
    return Row(true) if row.vacuous is None else Row(true, true & ~anywhere(row.checked))


def _every(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at all of them?"""
    vacuous = None if row.vacuous is None else ~anywhere(~row.vacuous)
    return Row(~anywhere(~row.true), vacuous)
