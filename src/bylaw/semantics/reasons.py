"""The reasons for a formula's value: the parts, and the positions, that determine it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Last, Literal, Sofar
from bylaw.logic.walk import everything, substitute
from bylaw.semantics.evaluation import Evaluation
from bylaw.semantics.verdict import FALSE, TRUE, UNKNOWN, Value
from bylaw.trace.event import MISSING, Missing
from bylaw.trace.time import microseconds
from bylaw.values import Json
from bylaw.vocabulary.possible import UNSEEN
from bylaw.vocabulary.predicates import PREDICATES

Reason: TypeAlias = tuple[f.Formula, int]
"""A part of a formula, at a position."""

MAX_STEPS: Final = 20_000
"""The search for witnesses stops after this many reasons."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The events that show a person why a rule has its value."""

    positions: tuple[int, ...]
    complete: bool
    """False if the search stopped early, as on a very long trace."""


def witness(evaluation: Evaluation, start: Reason | None = None) -> Witness:
    """The events on which the rule's value rests, found by following its reasons down.

    With `start`, those on which the value of that part rests.
    """
    pending: list[Reason] = [start or (evaluation.formula, 0)]
    seen: set[Reason] = set()
    found: set[int] = set()
    while pending and len(seen) < MAX_STEPS:
        reason = pending.pop()
        if reason in seen:
            continue
        seen.add(reason)
        formula, at = reason
        if evaluation.at(formula, at) is UNKNOWN:  # an undecided part explains nothing
            continue
        match formula:
            case f.EventAtom():
                if evaluation.at(formula, at) is TRUE:
                    found.add(at)
            case f.TracePredicate(name, operands):
                found.update(PREDICATES[name].positions(evaluation.view, operands))
            case f.OpenPredicate():
                found.update({at} & set(range(len(evaluation.view))))
            case f.Says():
                if evaluation.at(formula, at) is TRUE:
                    found.add(at)
            case f.Compare():
                found.update({at} & set(range(len(evaluation.view))))
                pending.extend(reasons(evaluation, formula, at))
            case f.Truth():
                pass
            case _:
                pending.extend(reasons(evaluation, formula, at))
    return Witness(tuple(sorted(found)), not pending)


def reasons(evaluation: Evaluation, formula: f.Formula, at: int) -> Iterable[Reason]:
    """The direct parts, with positions, whose values give the formula its value here."""
    n = len(evaluation.view)
    value = evaluation.at(formula, at)
    truth = value.is_true

    def here(part: f.Formula) -> Value:
        return evaluation.at(part, at)

    match formula:
        case f.Not(operand):
            return [(operand, at)]
        case f.And(operands):
            return _parts_with_value(operands, at, here, value, every=truth)
        case f.Or(operands):
            return _parts_with_value(operands, at, here, value, every=not truth)
        case f.Implies(left, right):
            return [(left, at)] if here(left) is FALSE else [(left, at), (right, at)]
        case f.Iff(left, right):
            return [(left, at), (right, at)]
        case f.Next(operand) | f.WeakNext(operand):
            return [(operand, at + 1)] if at + 1 < n else []
        case f.Yesterday(operand):
            return [(operand, at - 1)] if 0 < at < n else []
        case f.Always(operand):
            # The last failure has the fewest events after it to show that nothing followed.
            backwards = not truth and _awaits(evaluation, operand)
            positions = range(n - 1, at - 1, -1) if backwards else range(at, n)
            return _positions_with_value(evaluation, operand, positions, value, every=truth)
        case f.Eventually(operand):
            return _positions_with_value(evaluation, operand, range(at, n), value, every=not truth)
        case f.Historically(operand):
            return _positions_with_value(evaluation, operand, _back(at, n), value, every=truth)
        case f.Once(operand):
            return _positions_with_value(evaluation, operand, _back(at, n), value, every=not truth)
        case f.Until(left, right) | f.WeakUntil(left, right):
            return _until_reasons(evaluation, left, right, range(at, n))
        case f.Since(left, right):
            return _until_reasons(evaluation, left, right, _back(at, n))
        case f.Release(left, right):
            return _release_reasons(evaluation, left, right, range(at, n))
        case f.ForAll() | f.Exists():
            instances = list(_instances(evaluation, formula, at))
            every = truth is isinstance(formula, f.ForAll)
            return [
                *_parts_with_value(instances, at, here, value, every=every),
                *_other_events(evaluation, formula.domain, at),
            ]
        case f.Let(variable, term, body):
            named = evaluation.read(term, at)
            events = list(_other_events(evaluation, term, at))
            if named is UNSEEN:
                return events
            return [(_with_value(body, variable, named), at), *events]
        case f.Compare():
            return list(_other_events(evaluation, formula, at))
        case f.Earlier(operand):
            before = _other_steps(evaluation, at, range(at - 1, -1, -1))
            return _positions_with_value(evaluation, operand, before, value, every=not truth)
        case f.Later(operand):
            after = _other_steps(evaluation, at, range(at + 1, n))
            return _positions_with_value(evaluation, operand, after, value, every=not truth)
        case f.EventuallyWithin(operand) | f.OnceWithin(operand):
            around = range(at, n) if isinstance(formula, f.EventuallyWithin) else _back(at, n)
            return _within_reasons(evaluation, operand, formula.seconds, at, around, value)
        case f.LaterWithin(operand):
            after = _other_steps(evaluation, at, range(at + 1, n))
            return _within_reasons(evaluation, operand, formula.seconds, at, after, value)
        case f.EarlierWithin(operand):
            before = _other_steps(evaluation, at, range(at - 1, -1, -1))
            return _within_reasons(evaluation, operand, formula.seconds, at, before, value)
        case _:
            return []


_AWAITING: Final = (f.Eventually, f.Until, f.EventuallyWithin, f.LaterWithin)


def _awaits(evaluation: Evaluation, formula: f.Formula) -> bool:
    """Does the formula require a later event? Computed once for every part."""
    known = evaluation.awaits
    if formula not in known:
        for part in reversed(list(everything(formula))):
            known[part] = isinstance(part, _AWAITING) or any(
                known.get(below, False) for below in part.parts()
            )
    return known[formula]


def _back(at: int, n: int) -> range:
    return range(min(at, n - 1), -1, -1)


def _parts_with_value(
    parts: Iterable[f.Formula],
    at: int,
    here: Callable[[f.Formula], Value],
    value: Value,
    *,
    every: bool,
) -> Iterator[Reason]:
    """All the parts that have the value, or only the first if one is enough."""
    for part in parts:
        if here(part) is value:
            yield part, at
            if not every:
                return


def _positions_with_value(
    evaluation: Evaluation,
    part: f.Formula,
    positions: Iterable[int],
    value: Value,
    *,
    every: bool,
) -> Iterator[Reason]:
    """All the positions where the part has the value, or only the first if one is enough."""
    row = evaluation.row(part)
    for position in positions:
        if row[position] is value:
            yield part, position
            if not every:
                return


def _within_reasons(
    evaluation: Evaluation,
    operand: f.Formula,
    seconds: Literal,
    at: int,
    positions: Iterable[int],
    value: Value,
) -> Iterator[Reason]:
    """The event that is near enough; or those that are not, and the nearest that is too far."""
    row, starts = evaluation.row(operand), evaluation.view.starts
    here = starts[at] if at < len(starts) else None
    limit, too_far = microseconds(seconds.value), False
    for position in positions:
        there = starts[position]
        near = here is not None and there is not None and abs(there - here) <= limit
        if near and row[position] is value:
            yield operand, position
            if value.is_true:
                return
        elif not value.is_true and row[position].is_true and not too_far:
            too_far = True
            yield operand, position


def _until_reasons(
    evaluation: Evaluation, left: f.Formula, right: f.Formula, positions: range
) -> Iterator[Reason]:
    """`left U right` along the positions: up to where right holds, or where left fails."""
    holds, goal = evaluation.row(left), evaluation.row(right)
    for position in positions:
        yield right, position
        if goal[position].is_true:
            return
        yield left, position
        if not holds[position].is_true:
            return


def _release_reasons(
    evaluation: Evaluation, left: f.Formula, right: f.Formula, positions: range
) -> Iterator[Reason]:
    """`left R right` along the positions: up to where right fails, or where left releases it."""
    releases, holds = evaluation.row(left), evaluation.row(right)
    for position in positions:
        yield right, position
        if not holds[position].is_true:
            return
        yield left, position
        if releases[position].is_true:
            return


def _other_steps(evaluation: Evaluation, at: int, positions: range) -> list[int]:
    """The positions that belong to another step."""
    view = evaluation.view
    return [p for p in positions if at < len(view) and view.step(p) != view.step(at)]


def _other_events(evaluation: Evaluation, part: Node, at: int) -> Iterator[Reason]:
    """The events that `last` and `sofar` find when the terms of a part are evaluated here."""
    for term in everything(part):
        match term:
            case Last(condition) if not term.free:
                position = evaluation.last(condition, at)
                if position is not None:
                    yield condition, position
            case Sofar(condition, seconds) if not term.free:
                row, starts = evaluation.row(condition), evaluation.view.starts
                found = [p for p in _back(at, len(evaluation.view)) if row[p].is_true]
                here = starts[at] if at < len(starts) else None
                if seconds is not None and here is not None:
                    since = here - microseconds(seconds.value)
                    found = [p for p in found if (began := starts[p]) is None or began >= since]
                yield from ((condition, position) for position in found)


def _instances(evaluation: Evaluation, formula: f.Quantifier, at: int) -> Iterator[f.Formula]:
    for value in evaluation.elements(formula.domain, at).known:
        yield substitute(formula.body, formula.variable, value)


def _with_value(body: f.Formula, variable: str, value: Json | Missing) -> f.Formula:
    """The body of a `let`. Where its value is undefined, the variable is left without one."""
    return body if value is MISSING else substitute(body, variable, value)
