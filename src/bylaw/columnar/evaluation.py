"""Formulas over many traces at once: the definitions of `semantics.reference`, in columns.

A formula has a row with a value for each position of all traces. What is only asked at the start
of traces has a row with a value for each trace, which costs less: `G` is then a question about
whole traces, and predicates are that anyway.

Where a formula has variables, it is asked of columns in which each trace stands once for each of
their values (`quantifiers`), so that a variable is one more column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, assert_never

import numpy as np
from numpy.typing import NDArray

from bylaw.columnar.columns import MESSAGE, Columns, Identities
from bylaw.columnar.predicates import PREDICATES
from bylaw.columnar.quantifiers import at_starts, everywhere
from bylaw.columnar.row import Row, equivalent, implied, joined, met, negated
from bylaw.columnar.segments import Mask, Positions
from bylaw.logic import formula as f
from bylaw.logic.terms import Tool, ToolName, ToolVariable, Variable, members_of
from bylaw.names import FINAL_ANSWER
from bylaw.trace.event import MISSING
from bylaw.values import Json
from bylaw.vocabulary.patterns import is_named, lookup
from bylaw.vocabulary.registry import EMPTY, Vocabulary
from bylaw.vocabulary.tracker import Probe
from bylaw.vocabulary.view import Order


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable's value in each trace."""

    values: Sequence[Json]
    identities: NDArray[np.int64]

    def picked(self, traces: NDArray[np.intp]) -> Bound:
        """The values in some of the traces."""
        return Bound([self.values[trace] for trace in traces], self.identities[traces])


class Evaluation:
    """Formulas over the same columns; parts that they share are worked out once."""

    def __init__(
        self,
        columns: Columns,
        order: Order = "position",
        vocabulary: Vocabulary = EMPTY,
        bound: Mapping[str, Bound] | None = None,
        identities: Identities | None = None,
    ) -> None:
        self.columns: Final = columns
        self.segments: Final = columns.segments
        self.order: Final = order
        self.vocabulary: Final = vocabulary
        self.bound: Final = bound or {}
        self.identities: Final = identities or Identities()
        self._rows: dict[f.Formula, Row] = {}
        self._starts: dict[f.Formula, Row] = {}
        self._masks: dict[Probe, Mask] = {}
        self._hits: dict[Probe, Positions] = {}

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
                return Row(PREDICATES[name](self, *operands))
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
                return Row(self.mask(Probe(tool, patterns)))
            case f.Says() | f.Compare():
                return Row(self._asked(formula, where))
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
        before = self.columns.step_starts - 1
        return (before >= self.segments.start) & (latest[before] >= self.segments.start)

    def _in_later_steps(self, mask: Mask) -> Mask:
        following = np.append(self.segments.next(mask), np.int32(self.segments.size))
        return following[self.columns.step_ends] < self.segments.end

    def instances(self, traces: NDArray[np.intp], variable: str, values: Sequence[Json]) -> Self:
        """The evaluation in which each of these traces stands once, with a value for a variable."""
        identities = np.array([self.identities.of(value) for value in values], dtype=np.int64)
        bound = {name: each.picked(traces) for name, each in self.bound.items()}
        return type(self)(
            self.columns.picked(traces),
            self.order,
            self.vocabulary,
            bound | {variable: Bound(values, identities)},
            self.identities,
        )

    # ── time, as ordering predicates compare it ───────────────────────────────────────────

    def time(self, places: Positions) -> NDArray[np.integer]:
        """When the events at these positions happened."""
        return places if self.order == "position" else self.columns.steps[places]

    def behind(self, places: Positions) -> Positions:
        """The first positions that are strictly later than these."""
        return places + np.int32(1) if self.order == "position" else self.columns.step_ends[places]

    # ── single events ─────────────────────────────────────────────────────────────────────

    def _asked(self, formula: f.Formula, where: Mask | None) -> Mask:
        """Whether each event meets a condition of its own, asked only where that matters."""
        mask = np.zeros(self.segments.size, dtype=np.bool_)
        places = self.segments.places if where is None else np.flatnonzero(where)
        probe = Probe(None, conditions=(formula,), of_any_event=True)
        mask[places] = self.columns.test(probe, places.astype(np.int32), self.vocabulary)
        return mask

    def hits(self, probe: Probe) -> Positions:
        """The positions of the calls that a probe asks for, in order."""
        known = self._hits.get(probe)
        if known is None:
            known = self._hits[probe] = np.flatnonzero(self.mask(probe)).astype(np.int32)
        return known

    def mask(self, probe: Probe) -> Mask:
        """Whether each event is a call that a probe asks for."""
        known = self._masks.get(probe)
        if known is None:
            known = self._masks[probe] = self._matching(probe)
        return known

    def _matching(self, probe: Probe) -> Mask:
        if probe.bare:
            return self._named(probe.tool)
        mask = self.mask(Probe(probe.tool)).copy()
        places = np.flatnonzero(mask).astype(np.int32)
        fixed = tuple(pattern for pattern in probe.patterns if not pattern.free)
        if fixed or probe.result is not None:
            tool = probe.tool if probe.tool is None or not probe.tool.free else None
            asked = Probe(tool, fixed, result=probe.result)
            mask[places] = self.columns.test(asked, places, self.vocabulary)
        for pattern in probe.patterns:
            if pattern.free:
                self._keep_bound(mask, pattern)
        if probe.exactly:
            places = np.flatnonzero(mask).astype(np.int32)
            sizes = (len(call.args) for call in self.columns.calls(places))
            mask[places] = np.fromiter(sizes, np.int64, len(places)) == len(probe.patterns)
        return mask

    def _keep_bound(self, mask: Mask, pattern: f.Pattern) -> None:
        """Keeps only those calls whose argument or result is what a variable stands for."""
        assert not isinstance(pattern, f.OutcomeIs), "an outcome has no variables"
        assert isinstance(pattern.expected, Variable), "others are asked of one trace at a time"
        places = np.flatnonzero(mask).astype(np.int32)
        wanted = self.bound[pattern.expected.name].identities[self.segments.trace[places]]
        arguments = isinstance(pattern, f.ArgumentIs)
        found = (
            lookup(call.args if arguments else call.value, pattern.path)
            for call in self.columns.calls(places)
        )
        numbers = (-1 if value is MISSING else self.identities.of(value) for value in found)
        mask[places] = np.fromiter(numbers, np.int64, len(places)) == wanted

    def _named(self, tool: Tool | None) -> Mask:
        """Whether each event is a call of the tool."""
        codes, tools = self.columns.codes, self.columns.tools
        if isinstance(tool, ToolName):
            return np.equal(tools, codes.numbers.get(tool.name, -1))
        names = codes.names
        if tool is None:
            table = [name not in (FINAL_ANSWER, MESSAGE) for name in names]
        else:
            table = [name != MESSAGE and is_named(name, tool) for name in names]
        mask: Mask = np.array(table, dtype=np.bool_)[tools]
        for member in members_of(tool) if tool is not None else ():
            if isinstance(member, ToolVariable):
                mask |= tools == self._bound_tools(member.name)[self.segments.trace]
        return mask

    def _bound_tools(self, variable: str) -> NDArray[np.int32]:
        """The tool that a variable stands for in each trace; variables never reach the answer."""
        numbers = self.columns.codes.numbers
        found = [
            numbers.get(value, -1)
            if isinstance(value, str) and value not in (FINAL_ANSWER, MESSAGE)
            else -1
            for value in self.bound[variable].values
        ]
        return np.array(found, dtype=np.int32)


def _some(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at one of the positions that a fold looks at?"""
    true = anywhere(row.true)
    return Row(true) if row.vacuous is None else Row(true, true & ~anywhere(row.checked))


def _every(row: Row, anywhere: Callable[[Mask], Mask]) -> Row:
    """Is it true at all of them?"""
    vacuous = None if row.vacuous is None else ~anywhere(~row.vacuous)
    return Row(~anywhere(~row.true), vacuous)
