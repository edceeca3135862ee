"""The truth of every part of a formula along a trace, where it matters.

A part is asked at the positions on which the value of the formula depends, as the checker asks it:
the right side of `->` only where the left side is true, the body of a quantifier only for the
values of its domain, the condition of `last` only at earlier steps. A row is the value of a part at
these positions, for one choice of values for its variables, and it comes from the reference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.node import Node
from bylaw.logic.walk import TIMED, reads_event, subformulas
from bylaw.semantics.reference import reading
from bylaw.semantics.scope import EvaluationScope
from bylaw.syntax.json_writer import numbered_parts
from bylaw.trace.event import MISSING
from bylaw.values import Json, identity
from bylaw.vocabulary.view import positions_of

_LASTING: Final = (
    *(f.Eventually, f.Always, f.Until, f.WeakUntil, f.Release, f.Once, f.Historically, f.Since),
    *(f.Earlier, f.Later, *TIMED),
)
"""Operators whose equation refers to their own value at another position: it is tested at all."""
_LONGEST_NAME: Final = 64

_Values: TypeAlias = tuple[str | None, ...]
"""The names of the values of a part's variables, in the order of the variables."""


def truth_tables(formula: f.Formula, scope: EvaluationScope, where: int = 1) -> list[list[Json]]:
    """For each part, in the order of the JSON form, the rows on which these positions depend."""
    tables = _TruthTables(formula, scope)
    tables.ask(formula, scope, where)
    return tables.written()


def value_name(value: Json) -> str | None:
    """The name of a bound value: its JSON or, if that is long, a digest; None if undefined."""
    if value is MISSING:
        return None
    text = identity(value)
    if len(text) <= _LONGEST_NAME:
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def run_lengths(mask: int) -> list[int]:
    """A set of positions: so many outside it, so many inside, and so on."""
    runs = [len(list(group)) for _, group in groupby(bin(mask)[:1:-1])]
    return [] if not mask else runs if not mask & 1 else [0, *runs]


class _TruthTables:
    """Collects the positions at which each part is asked, from the outermost part inwards."""

    def __init__(self, formula: f.Formula, scope: EvaluationScope) -> None:
        self.numbers: Final = numbered_parts(formula)
        self.positions: Final = scope.positions
        self.everywhere: Final = scope.everywhere
        self.asked: Final[list[dict[_Values, tuple[int, EvaluationScope]]]] = [
            {} for _ in self.numbers
        ]

    def ask(self, part: f.Formula, scope: EvaluationScope, where: int) -> None:
        """Asks for a part at some positions, with the values that a scope gives its variables."""
        if not where:
            return
        key = tuple(value_name(scope.values.get(name, MISSING)) for name in sorted(part.free))
        asked = self.asked[self.numbers[part]]
        known, first = asked.get(key, (0, scope))
        asked[key] = known | where, first

    def written(self) -> list[list[Json]]:
        """The rows of every part."""
        tables: list[list[Json]] = [[] for _ in self.numbers]
        for part, number in reversed(self.numbers.items()):
            names = sorted(part.free)
            for key, (where, scope) in self.asked[number].items():
                where = self.everywhere if isinstance(part, _LASTING) else where
                true, checked = (each & where for each in reading(part)(scope, where))
                row: dict[str, Json] = {"values": dict(zip(names, key, strict=True))} if key else {}
                row["true"] = run_lengths(true)
                if checked != true:
                    row["checked"] = run_lengths(checked)
                tables[number].append(row)
                self._ask_operands(part, scope, where)
        return tables

    def _ask_operands(self, part: f.Formula, scope: EvaluationScope, where: int) -> None:
        match part:
            case f.And(operands):
                for operand in operands:
                    self.ask(operand, scope, where)
                    where &= reading(operand)(scope, where)[0]
            case f.Or(operands):
                for operand in operands:
                    self.ask(operand, scope, where)
                    where &= ~reading(operand)(scope, where)[1]
            case f.Implies(left, right):
                self.ask(left, scope, where)
                self.ask(right, scope, where & reading(left)(scope, where)[0])
            case f.Not(operand):
                self.ask(operand, scope, where)
            case f.Iff(left, right):
                self.ask(left, scope, where)
                self.ask(right, scope, where)
            case f.Next(operand) | f.WeakNext(operand):
                self.ask(operand, scope, where << 1 & self.positions)
            case f.Yesterday(operand):
                self.ask(operand, scope, where >> 1 & self.positions)
            case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
                found = self._elements(domain, scope, where)
                self._ask_body(variable, body, scope, found)
            case f.Let(variable, value, body):
                self._ask_body(variable, body, scope, self._named(value, scope, where))
            case f.Compare(_, left, right):
                for at in positions_of(where):
                    self._ask_term(left, scope, at)
                    self._ask_term(right, scope, at)
            case _:
                for operand in subformulas(part):
                    self.ask(operand, scope, self.positions)

    def _ask_body(
        self,
        variable: str,
        body: f.Formula,
        scope: EvaluationScope,
        found: Iterable[tuple[Json, int]],
    ) -> None:
        """Asks for the body with each of the values, at the positions where it is bound."""
        groups: dict[str | None, tuple[Json, int]] = {}
        for value, where in found:
            first, known = groups.get(name := value_name(value), (value, 0))
            groups[name] = first, known | where
        for value, where in groups.values():
            self.ask(body, scope.with_value(variable, value), where)

    def _elements(
        self, domain: f.Domain, scope: EvaluationScope, where: int
    ) -> Iterator[tuple[Json, int]]:
        if not reads_event(domain):
            yield from ((value, where) for value in scope.elements(domain, 0).values)
            return
        for at in positions_of(where):
            self._ask_term(domain, scope, at)
            yield from ((value, 1 << at) for value in scope.elements(domain, at).values)

    def _named(
        self, value: t.Term, scope: EvaluationScope, where: int
    ) -> Iterator[tuple[Json, int]]:
        if t.is_constant(value):
            yield scope.possible(value, len(scope.view)), where
            return
        for at in positions_of(where):
            self._ask_term(value, scope, at)
            yield scope.possible(value, at), 1 << at

    def _ask_term(self, term: Node, scope: EvaluationScope, at: int) -> None:
        """Asks for the conditions in a term, or in the terms of a domain, at a position."""
        match term:
            case t.Last(condition):
                if at < len(scope.view):
                    self.ask(condition, scope, scope.view.in_steps_before(at))
            case t.Sofar(condition):
                self.ask(condition, scope, self.positions & (2 << at) - 1)
            case t.Counted(variable, domain, body):
                self._ask_term(domain, scope, at)
                values = scope.elements(domain, at).values
                self._ask_body(variable, body, scope, ((value, 1 << at) for value in values))
            case _:
                for part in term.parts():
                    self._ask_term(part, scope, at)
