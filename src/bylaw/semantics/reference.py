"""The meaning of formulas: the paper's definitions, one case each, for every position at once.

The truth of a formula along a trace is one Python integer: bit `i` is its truth at event `i`, and
one more bit is its truth at the empty suffix after the last event, where a rule is read on the
empty trace. An event atom is a mask, and a temporal operator is a few operations on integers:
`O` fills upward from the lowest bit, `F` downward from the highest, `S` is a carry. A second
integer marks where something was checked; where a formula is true but unchecked, it is vacuous.

If something is unknown (an event is hidden, a registered function failed), a formula is read
twice by the same definitions: once with every unknown atom counted against the formula, once with
every unknown atom counted in its favour. A negation swaps the two readings. If they agree, the
value is known. This is strong Kleene logic.

A formula is compiled once to a function of a scope and of the requested positions. Its result at
other positions means nothing, so values are read only where they can matter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, assert_never

from bylaw.logic import formula as f
from bylaw.logic.node import MAX_DEPTH, Node
from bylaw.logic.reach import reads_event
from bylaw.logic.terms import Term, ToolName, is_constant
from bylaw.logic.walk import everything, substitute, weight_of
from bylaw.trace.event import MISSING
from bylaw.vocabulary.comparisons import compared
from bylaw.vocabulary.domains import Elements
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, known, possible_key
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.tracker import value_of
from bylaw.vocabulary.view import Kleene, positions_of
from bylaw.work import spend

if TYPE_CHECKING:
    from bylaw.semantics.evaluation import EvaluationScope

Row: TypeAlias = tuple[int, int]
"""The positions where a formula is true, and those among them where something was checked."""
TruthFunction: TypeAlias = "Callable[[EvaluationScope, int], Row]"
"""A formula as a function of a scope and of the requested positions."""

_Part = TypeVar("_Part", bound=Node)

_NOWHERE: Final[Row] = (0, 0)
_FEW: Final = 8
"""The number of positions up to which each is looked at alone."""
_DEEP: Final = 100
"""The nesting depth beyond which Python's recursion limit is raised."""


@lru_cache(maxsize=65536)
def reading(formula: f.Formula, certain: bool = True) -> TruthFunction:
    """The compiled formula; with `certain`, unknown atoms count against it, else in its favour."""
    if formula.depth > _DEEP:
        # Calls between Python functions do not use the C stack. Those through the cache do, so
        # deep formulas are compiled from the bottom up.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 5 * MAX_DEPTH))
        for part in reversed(list(everything(formula))):
            if isinstance(part, f.FormulaNode) and part.depth % _DEEP == 0:
                _part(part, True)
                _part(part, False)
    return _part(formula, certain)


@lru_cache(maxsize=65536)
def _part(formula: f.Formula, certain: bool) -> TruthFunction:
    return _compiled(formula, certain)


def _compiled(formula: f.Formula, certain: bool) -> TruthFunction:
    match formula:
        # Atoms.
        case f.Truth(truth):
            return lambda s, where: s.throughout if truth else _NOWHERE
        case f.EventAtom(ToolName(name), ()):
            return _named(name) if certain else _possibly_named(name)
        case f.EventAtom():
            return lambda s, where: _atom(s.matching(formula, where), certain)
        case f.Says(role):
            return lambda s, where: _atom(s.spoken(role), certain)
        case f.Compare():
            return _compared(formula, certain)
        case f.TracePredicate():
            return _judged(formula, certain)
        case f.OpenPredicate():

            def asked(s: EvaluationScope, where: int) -> Row:
                true = 0
                for at in positions_of(where):
                    answer = s.asked(formula, at)
                    true |= (not certain if answer is None else answer) << at
                return true, true

            return asked

        # Connectives. The right operand is evaluated only where it matters.
        case f.Not(operand):
            a, tool = _part(operand, not certain), _bare_tool(operand, certain)

            def negation(s: EvaluationScope, where: int) -> Row:
                false = a(s, where)[0] if tool is None else s.masks.get(tool, 0) | s.hidden
                true = s.everywhere ^ false
                return true, true

            return negation
        case f.And(operands):
            a, *others = (_part(each, certain) for each in operands)

            def conjunction(s: EvaluationScope, where: int) -> Row:
                true, checked = a(s, where)
                for b in others:
                    also, more = b(s, where & true)
                    true &= also
                    checked |= more
                return true, true & checked

            return conjunction
        case f.Or(operands):
            a, *others = (_part(each, certain) for each in operands)

            def disjunction(s: EvaluationScope, where: int) -> Row:
                true, checked = a(s, where)
                for b in others:
                    also, more = b(s, where & ~checked)
                    true |= also
                    checked |= more
                return true, checked

            return disjunction
        case f.Implies(left, right):
            a, tool = _part(left, not certain), _bare_tool(left, certain)
            b = _part(right, certain)

            def implication(s: EvaluationScope, where: int) -> Row:
                applies = a(s, where)[0] if tool is None else s.masks.get(tool, 0) | s.hidden
                where &= applies
                true, checked = b(s, where) if where else _NOWHERE
                return (s.everywhere ^ applies) | true, checked & applies

            return implication
        case f.Iff(left, right):
            a, b = _part(left, certain), _part(right, certain)

            def equivalence(s: EvaluationScope, where: int) -> Row:
                one, other = a(s, where)[0], b(s, where)[0]
                if s.complete:
                    true = s.everywhere ^ one ^ other
                else:
                    neither = s.reread(left, not certain, where) | s.reread(
                        right, not certain, where
                    )
                    true = (one & other) | (s.everywhere ^ neither)
                return true, true

            return equivalence

        # The future.
        case f.Next(operand):
            a = _part(operand, certain)

            def following(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, where << 1 & positions)
                return (true & positions) >> 1, (checked & positions) >> 1

            return following
        case f.WeakNext(operand):
            a = _part(operand, certain)

            def if_following(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, where << 1 & positions)
                last = s.everywhere & ~(positions >> 1)
                return (true & positions) >> 1 | last, (checked & positions) >> 1 | last

            return if_following
        case f.Eventually(operand):
            a = _part(operand, certain)

            def eventually(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                some = (1 << (true & positions).bit_length()) - 1  # up to the highest
                if checked is true:
                    return some, some
                return some, (1 << (checked & positions).bit_length()) - 1

            return eventually
        case f.Always(operand):
            a = _part(operand, certain)

            def always(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                true = s.everywhere & -1 << (positions & ~true).bit_length()  # above the highest
                return true, true & (1 << (checked & positions).bit_length()) - 1

            return always
        case f.Until(left, right):
            a, b = _part(left, certain), _part(right, certain)

            def until(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                kept, goal = a(s, positions)[0], b(s, positions)[0]
                true = _until(s, where, kept & positions, goal & positions)
                return true, true

            return until
        case f.WeakUntil(left, right):
            a, b = _part(left, certain), _part(right, certain)

            def weak_until(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                kept, goal = a(s, positions)[0], b(s, positions)[0]
                to_the_end = s.everywhere ^ _up_to(positions & ~kept)
                true = _until(s, where, kept & positions, goal & positions) | to_the_end
                return true, true & ~to_the_end

            return weak_until
        case f.Release(left, right):
            a, b = _part(left, certain), _part(right, certain)

            def release(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                frees, kept = a(s, positions)[0], b(s, positions)[0] & positions
                to_the_end = s.everywhere ^ _up_to(positions & ~kept)
                true = _until(s, where, kept, kept & frees) | to_the_end
                if not s.complete:
                    frees = s.reread(left, not certain, positions)
                return true, true & ~(to_the_end & ~_up_to(frees & positions))

            return release

        # The past.
        case f.Yesterday(operand):
            a = _part(operand, certain)

            def previously(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, where >> 1 & positions)
                return true << 1 & positions, checked << 1 & positions

            return previously
        case f.Once(operand):
            a = _part(operand, certain)

            def once(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                some = positions & (true | -true)  # from the lowest on
                return some, some if checked is true else positions & (checked | -checked)

            return once
        case f.Historically(operand):
            a = _part(operand, certain)

            def historically(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                true = s.everywhere ^ (positions & _from(positions & ~true))
                return true, true & positions & _from(checked)

            return historically
        case f.Since(left, right):
            a, b = _part(left, certain), _part(right, certain)

            def since(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                begins = b(s, positions)[0] & positions
                lasts = a(s, positions)[0] & positions | begins
                # The addition carries from each beginning for as long as the left side lasts.
                true = ((begins + lasts) ^ begins ^ lasts) >> 1 & positions
                return true, true

            return since

        # Events of other steps: calls of one turn do not see each other.
        case f.Earlier(operand):
            a = _part(operand, certain)

            def earlier(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                later = s.view.in_later_steps
                return later(true & positions), later(checked & positions)

            return earlier
        case f.Later(operand):
            a = _part(operand, certain)

            def later(s: EvaluationScope, where: int) -> Row:
                positions = s.positions
                true, checked = a(s, positions)
                earlier = s.view.in_earlier_steps
                return earlier(true & positions), earlier(checked & positions)

            return later

        case f.ForAll() | f.Exists():
            return _quantified(formula, certain)
        case f.Let(variable, value, body):
            return _named_value(variable, value, _part(body, certain))
        case _:
            assert_never(formula)


def _quantified(formula: f.Quantifier, certain: bool) -> TruthFunction:
    """A universal is true where all instances are; an existential, where one is."""
    variable, domain = formula.variable, formula.domain
    universal = isinstance(formula, f.ForAll)
    body = _part(formula.body, certain)
    matters, weight = variable in formula.body.free, weight_of(formula.body)
    instances = _found_here if reads_event(domain) else _found_anywhere

    def quantified(s: EvaluationScope, where: int) -> Row:
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

    return quantified


def _named_value(variable: str, value: Term, body: TruthFunction) -> TruthFunction:
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


# ── atoms ─────────────────────────────────────────────────────────────────────────────────


def _named(name: str) -> TruthFunction:
    def is_named(s: EvaluationScope, where: int) -> Row:
        true = s.masks.get(name, 0)
        return true, true

    return is_named


def _possibly_named(name: str) -> TruthFunction:
    def may_be_named(s: EvaluationScope, where: int) -> Row:
        true = s.masks.get(name, 0) | s.hidden
        return true, true

    return may_be_named


def _bare_tool(formula: f.Formula, certain: bool) -> str | None:
    """The tool, if a formula below a negation is just its name.

    Nearly every rule has one. Its calls are looked up on the spot, without calling a function.
    """
    match formula:
        case f.EventAtom(ToolName(name), ()) if certain:
            return name
        case _:
            return None


def _compared(formula: f.Compare, certain: bool) -> TruthFunction:
    symbol, left, right = formula.symbol, formula.left, formula.right

    def holds(s: EvaluationScope, where: int) -> Row:
        true = 0
        for at in positions_of(where):
            held = compared(s.possible(left, at), symbol, s.possible(right, at))
            true |= (not certain if held is None else held) << at
        return true, true

    return holds


def _atom(masks: tuple[int, int], certain: bool) -> Row:
    """The mask for this reading: certainly true, or possibly true."""
    true = masks[not certain]
    return true, true


def _judged(formula: f.TracePredicate, certain: bool) -> TruthFunction:
    """A trace predicate has the same value at every position."""
    judge, free = PREDICATES[formula.name].judge, formula.free
    ready = written_out(formula)

    def judged(s: EvaluationScope, where: int) -> Row:
        if ready is not None:
            held = s.judged(*ready)
        elif any(known(s.values.get(name, MISSING)) is UNSEEN for name in free):
            held = None
        else:
            held = s.judged(judge, (bound(formula, s.values).operands,))
        return s.throughout if held or (held is None and not certain) else _NOWHERE

    return judged


def written_out(formula: f.Formula) -> tuple[Callable[..., Kleene], tuple[Any, ...]] | None:
    """The definition and the operands of a trace predicate, if none depends on the trace."""
    if not isinstance(formula, f.TracePredicate) or formula.free:
        return None
    predicate = PREDICATES[formula.name]
    operands = predicate.resolved(formula.operands, value_of)
    return None if operands is None else (predicate.holds, operands)


def bound(part: _Part, values: Mapping[str, PossibleValue]) -> _Part:
    """A part of a formula with its variables replaced by their values.

    An undefined variable is left as it is: a variable that nothing binds is undefined.
    """
    for name in part.free:
        value = values.get(name, MISSING)
        if value is not MISSING:
            part = substitute(part, name, value)
    return part


# ── intervals of positions ─────────────────────────────────────────────────────────────────


def _up_to(mask: int) -> int:
    """All positions up to the highest in the mask."""
    return (1 << mask.bit_length()) - 1


def _from(mask: int) -> int:
    """All positions from the lowest in the mask, without an upper bound."""
    return -(mask & -mask)


def _until(s: EvaluationScope, where: int, kept: int, goal: int) -> int:
    """The requested positions from which `kept` holds until the goal."""
    if where.bit_count() <= _FEW:
        true, stops = 0, s.everywhere ^ kept | goal
        while where:
            ahead = stops ^ stops - (where & -where)  # from the lowest position to the first stop
            if ahead & goal:
                true |= ahead
            where ^= where & ahead
        return true
    reach = 1  # by doubling
    while (grown := goal | kept & goal >> reach) != goal:
        goal = grown
        kept &= kept >> reach
        reach *= 2
    return goal
