"""The truth of atoms along a trace, in both readings of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import ToolName
from bylaw.logic.walk import substitute
from bylaw.trace.event import MISSING
from bylaw.vocabulary.comparisons import compared
from bylaw.vocabulary.possible import UNSEEN, PossibleValue, known
from bylaw.vocabulary.predicate import value_of
from bylaw.vocabulary.predicates import PREDICATES
from bylaw.vocabulary.view import Kleene, positions_of

if TYPE_CHECKING:
    from bylaw.semantics.scope import EvaluationScope

Row: TypeAlias = tuple[int, int]
"""The positions where a formula is true, and those among them where something was checked."""
TruthFunction: TypeAlias = "Callable[[EvaluationScope, int], Row]"
"""A formula as a function of a scope and of the requested positions."""
NOWHERE: Final[Row] = (0, 0)

_Part = TypeVar("_Part", bound=Node)


def named(name: str) -> TruthFunction:
    """The calls of a tool."""

    def is_named(s: EvaluationScope, where: int) -> Row:
        true = s.masks.get(name, 0)
        return true, true

    return is_named


def possibly_named(name: str) -> TruthFunction:
    """The calls of a tool, and the hidden events, which may be calls of it."""

    def may_be_named(s: EvaluationScope, where: int) -> Row:
        true = s.masks.get(name, 0) | s.hidden
        return true, true

    return may_be_named


def bare_tool(formula: f.Formula, certain: bool) -> str | None:
    """The tool, if a formula below a negation is just its name.

    Nearly every rule has one. Its calls are looked up on the spot, without calling a function.
    """
    match formula:
        case f.EventAtom(ToolName(name), ()) if certain:
            return name
        case _:
            return None


def comparison(formula: f.Compare, certain: bool) -> TruthFunction:
    """Two values, compared at each requested position."""
    symbol, left, right = formula.symbol, formula.left, formula.right

    def holds(s: EvaluationScope, where: int) -> Row:
        true = 0
        for at in positions_of(where):
            held = compared(s.possible(left, at), symbol, s.possible(right, at))
            true |= (not certain if held is None else held) << at
        return true, true

    return holds


def row(masks: tuple[int, int], certain: bool) -> Row:
    """The mask for this reading: certainly true, or possibly true."""
    true = masks[not certain]
    return true, true


def open_predicate(formula: f.OpenPredicate, certain: bool) -> TruthFunction:
    """A registered function, asked at each requested position."""

    def asked(s: EvaluationScope, where: int) -> Row:
        true = 0
        for at in positions_of(where):
            answer = s.asked(formula, at)
            true |= (not certain if answer is None else answer) << at
        return true, true

    return asked


def trace_predicate(formula: f.TracePredicate, certain: bool) -> TruthFunction:
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
        return s.throughout if held or (held is None and not certain) else NOWHERE

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
