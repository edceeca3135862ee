"""Quantifiers and named values: the body of a formula, with values for a variable."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.terms import Term, is_constant
from bylaw.logic.walk import reads_event, weight_of
from bylaw.semantics.atoms import Row, TruthFunction
from bylaw.vocabulary.domains import Elements
from bylaw.vocabulary.possible import PossibleValue, possible_key
from bylaw.vocabulary.view import positions_of
from bylaw.work import spend

if TYPE_CHECKING:
    from bylaw.semantics.scope import EvaluationScope


def quantified(formula: f.Quantifier, body: TruthFunction, certain: bool) -> TruthFunction:
    """A universal is true where all instances are; an existential, where one is."""
    variable, domain = formula.variable, formula.domain
    universal = isinstance(formula, f.ForAll)
    matters, weight = variable in formula.body.free, weight_of(formula.body)
    instances = _found_here if reads_event(domain) else _found_anywhere

    def over_instances(s: EvaluationScope, where: int) -> Row:
        # Unknown values count against a universal, or in favour of an existential.
        found, incomplete = instances(s, domain, where, universal is certain)
        if not matters:
            found = found[:1] and [(None, reduce(or_, (asked for _, asked in found)))]
        true, checked = (s.everywhere if universal else 0), 0
        for value, asked in found:
            spend(weight * asked.bit_count())
            holds, more = body(s.with_value(variable, value), asked)
            true = true & (holds | ~asked) if universal else true | holds & asked
            checked |= more & asked
        if incomplete and universal is certain:
            true = true & ~incomplete if universal else true | incomplete
        return true, true & checked

    return over_instances


def with_named_value(variable: str, value: Term, body: TruthFunction) -> TruthFunction:
    """The body, with the value that the term has at each position for the variable."""

    def named(s: EvaluationScope, where: int) -> Row:
        if is_constant(value):
            return body(s.with_value(variable, s.possible(value, len(s.view))), where)
        true = checked = 0
        for found, asked in _alike((s.possible(value, at), at) for at in positions_of(where)):
            holds, more = body(s.with_value(variable, found), asked)
            true |= holds & asked
            checked |= more & asked
        return true, checked

    return named


_Found: TypeAlias = tuple[list[tuple[PossibleValue, int]], int]
"""The values of a domain, each with its positions; the positions where more may exist."""


def _found_anywhere(s: EvaluationScope, domain: f.Domain, where: int, uncertain: bool) -> _Found:
    found = s.elements(domain, 0)
    incomplete = 0 if found.complete else s.everywhere
    return [(value, where) for value in _members(found, uncertain)], incomplete


def _found_here(s: EvaluationScope, domain: f.Domain, where: int, uncertain: bool) -> _Found:
    places: list[tuple[PossibleValue, int]] = []
    incomplete = 0
    for at in positions_of(where):
        found = s.elements(domain, at)
        incomplete |= (not found.complete) << at
        places += [(value, at) for value in _members(found, uncertain)]
    return _alike(places), incomplete


def _members(found: Elements, uncertain: bool) -> Sequence[PossibleValue]:
    """The values of a domain, with the uncertain ones if asked for."""
    return (*found.values, *found.uncertain) if uncertain else found.values


def _alike(places: Iterable[tuple[PossibleValue, int]]) -> list[tuple[PossibleValue, int]]:
    """The values, each with all its positions: equal values are evaluated together."""
    found: dict[Hashable, tuple[PossibleValue, int]] = {}
    for value, at in places:
        key = possible_key(value)
        known = found.get(key)
        found[key] = (value, 1 << at if known is None else known[1] | 1 << at)
    return list(found.values())
