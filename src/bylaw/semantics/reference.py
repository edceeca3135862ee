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
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, assert_never

from bylaw.logic import formula as f
from bylaw.logic.node import MAX_DEPTH
from bylaw.logic.terms import ToolName
from bylaw.logic.walk import everything
from bylaw.semantics import atoms
from bylaw.semantics.atoms import NOWHERE, Row, TruthFunction
from bylaw.semantics.quantified import quantified, with_named_value
from bylaw.semantics.timed import positions_near
from bylaw.trace.time import microseconds

if TYPE_CHECKING:
    from bylaw.semantics.scope import EvaluationScope

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
            return lambda s, where: s.throughout if truth else NOWHERE
        case f.EventAtom(ToolName(name), ()):
            return atoms.named(name) if certain else atoms.possibly_named(name)
        case f.EventAtom():
            return lambda s, where: atoms.row(s.matching(formula, where), certain)
        case f.Says(role):
            return lambda s, where: atoms.row(s.spoken(role), certain)
        case f.Compare():
            return atoms.comparison(formula, certain)
        case f.TracePredicate():
            return atoms.trace_predicate(formula, certain)
        case f.OpenPredicate():
            return atoms.open_predicate(formula, certain)

        # Connectives. The right operand is evaluated only where it matters.
        case f.Not(operand):
            a, tool = _part(operand, not certain), atoms.bare_tool(operand, certain)

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
            a, tool = _part(left, not certain), atoms.bare_tool(left, certain)
            b = _part(right, certain)

            def implication(s: EvaluationScope, where: int) -> Row:
                applies = a(s, where)[0] if tool is None else s.masks.get(tool, 0) | s.hidden
                where &= applies
                true, checked = b(s, where) if where else NOWHERE
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

        # Events that start within some time of this one.
        case (
            f.EventuallyWithin(operand, seconds)
            | f.OnceWithin(operand, seconds)
            | f.LaterWithin(operand, seconds)
            | f.EarlierWithin(operand, seconds)
        ):
            a, limit = _part(operand, certain), microseconds(seconds.value)
            ahead = isinstance(formula, f.EventuallyWithin | f.LaterWithin)
            apart = isinstance(formula, f.EarlierWithin | f.LaterWithin)

            def within(s: EvaluationScope, where: int) -> Row:
                true, checked = a(s, s.positions)
                near = partial(
                    positions_near, s.view, limit=limit, ahead=ahead, apart=apart, certain=certain
                )
                return near(true), near(checked)

            return within

        case f.ForAll() | f.Exists():
            return quantified(formula, _part(formula.body, certain), certain)
        case f.Let(variable, value, body):
            return with_named_value(variable, value, _part(body, certain))
        case _:
            assert_never(formula)


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
