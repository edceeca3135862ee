"""The context of an evaluation: the events of a view, the values of variables, and their terms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from bylaw.errors import shown
from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import Counted, Last, Sofar, Term
from bylaw.logic.walk import weight_of
from bylaw.read_only import read_only
from bylaw.semantics.atoms import TruthFunction, bound, written_out
from bylaw.semantics.reference import reading
from bylaw.semantics.timed import in_window
from bylaw.semantics.verdict import Outcome
from bylaw.trace.event import MISSING
from bylaw.trace.time import microseconds
from bylaw.vocabulary.domains import Elements, elements, extracted
from bylaw.vocabulary.possible import (
    UNSEEN,
    Between,
    PossibleValue,
    Seen,
    SomeOf,
    is_certain,
    known,
    one_of,
    possible_key,
    some_of,
)
from bylaw.vocabulary.reading import elements_of, possible_at, value_at
from bylaw.vocabulary.view import Kleene, View, positions_of
from bylaw.work import spend


@frozen
class Fault:
    """A registered function failed."""

    name: str
    reason: str
    at: int | None = None

    def __str__(self) -> str:
        place = "" if self.at is None else f" at event {self.at + 1}"
        return f"'{self.name}' {self.reason}{place}"


_SATISFIED, _VACUOUS, _VIOLATED, _ERROR = Outcome  # looked up often
_UNMET: Final[dict[Kleene, Outcome]] = {False: _VIOLATED, None: _ERROR}


class CompiledFormulas:
    """Numbered formulas, compiled for use on many traces."""

    __slots__ = ("others", "pairs", "predicates", "singles")

    def __init__(self, formulas: Iterable[tuple[int, f.Formula]]) -> None:
        self.predicates: Final[list[tuple[int, Callable[..., Kleene], tuple[Any, ...]]]] = []
        """Those that are one predicate: each has one value, and nothing else to compute."""
        self.singles: Final[list[tuple[int, Callable[..., Kleene], Any]]] = []
        """The predicates of one operand, written out: an unpacked call takes twice as long."""
        self.pairs: Final[list[tuple[int, Callable[..., Kleene], Any, Any]]] = []
        """The predicates of two operands."""
        self.others: Final[list[tuple[int, TruthFunction, TruthFunction]]] = []
        """The other formulas, in both readings."""
        for number, formula in formulas:
            if (ready := written_out(formula)) is not None:
                holds, operands = ready
                if len(operands) == 1:
                    self.singles.append((number, holds, *operands))
                elif len(operands) == 2:
                    self.pairs.append((number, holds, *operands))
                else:
                    self.predicates.append((number, holds, operands))
            else:
                self.others.append((number, reading(formula), reading(formula, False)))


class EvaluationScope:
    """The context of an evaluation: a view, and the values of the bound variables."""

    __slots__ = (
        "_known",
        "complete",
        "everywhere",
        "faults",
        "hidden",
        "masks",
        "partial",
        "positions",
        "throughout",
        "values",
        "view",
    )

    def __init__(self, view: View) -> None:
        size = len(view.events)
        self.view: Final = view
        self.masks: Final = view.masks
        """For each tool, the positions of its calls."""
        self.positions: Final = (1 << size) - 1
        self.everywhere: Final = (2 << size) - 1
        """All positions, and the empty suffix after the last one."""
        self.throughout: Final = (self.everywhere, self.everywhere)
        """The row of a formula that is true everywhere."""
        self.hidden: Final = view.hidden_mask
        self.partial: Final = bool(view.hidden or view.pending or view.ongoing)
        """Are some events not fully known?"""
        self.complete: Final = not self.partial and not view.vocabulary.may_fail
        """Is every value known?"""
        self.faults: Final[list[Fault]] = []
        self.values: dict[str, PossibleValue] = {}
        self._known: Final[dict[object, Any]] = {}

    def with_value(self, variable: str, value: PossibleValue) -> EvaluationScope:
        """The scope in which a variable has a value."""
        inner = object.__new__(EvaluationScope)  # `copy` takes several times as long
        for name in self.__slots__:
            setattr(inner, name, getattr(self, name))
        inner.values = {**self.values, variable: value}
        return inner

    def decide(self, formulas: CompiledFormulas, outcomes: list[Outcome]) -> None:
        """Writes the outcomes at the start into a list that is filled with SATISFIED."""
        view = self.view
        for number, holds, operand in formulas.singles:
            try:
                held = holds(view, operand)
            except Exception as error:
                held = self._comparator_failed(error)
            if not held:
                outcomes[number] = _UNMET[held]
        for number, holds, first, second in formulas.pairs:
            try:
                held = holds(view, first, second)
            except Exception as error:
                held = self._comparator_failed(error)
            if not held:
                outcomes[number] = _UNMET[held]
        for number, holds, operands in formulas.predicates:
            try:
                held = holds(view, *operands)
            except Exception as error:
                held = self._comparator_failed(error)
            if not held:
                outcomes[number] = _UNMET[held]
        faults, partial = self.faults, self.partial
        for number, certain, possible in formulas.others:
            if faults:
                faults.clear()  # those of the previous formula
            true, checked = certain(self, 1)
            if checked & 1:
                continue
            if true & 1:
                outcomes[number] = _VACUOUS
            elif (partial or faults) and possible(self, 1)[0] & 1:
                outcomes[number] = _ERROR
            else:
                outcomes[number] = _VIOLATED

    def outcome(self, formulas: CompiledFormulas) -> Outcome:
        """The outcome of a single formula, with the number 0."""
        outcomes = [_SATISFIED]
        self.decide(formulas, outcomes)
        return outcomes[0]

    def truth(self, formula: f.Formula, where: int) -> tuple[int, int]:
        """The positions where a formula is certainly true, and those where it may be true."""
        true = reading(formula)(self, where)[0]
        known = not self.partial and not self.faults
        return true, true if known else reading(formula, False)(self, where)[0]

    # ── atoms: certainly true, possibly true ──────────────────────────────────────────────

    def matching(self, event: f.EventAtom, where: int) -> tuple[int, int]:
        """The positions of the events that match an event atom."""
        if not event.free:
            return self.view.matching(event)
        tool, fitting = event.tool, self.view.fitting
        if tool is None or not tool.free:
            return fitting(tool, event.patterns, self.constant, where)
        unseen = [name for name in tool.free if known(self.values.get(name, MISSING)) is UNSEEN]
        values = {name: value for name, value in self.values.items() if name not in unseen}
        certain, possible = fitting(bound(tool, values), event.patterns, self.constant, where)
        if unseen:  # it may be any tool
            possible |= fitting(None, event.patterns, self.constant, where)[1]
        return certain, possible

    def spoken(self, role: str) -> tuple[int, int]:
        """The positions of the messages of a role."""
        spoken = self.view.spoken.get(role, 0)
        return spoken, spoken | self.hidden

    def judged(self, holds: Callable[..., Kleene], operands: Sequence[Any]) -> Kleene:
        """The value of a trace predicate."""
        try:
            return holds(self.view, *operands)
        except Exception as error:
            return self._comparator_failed(error)

    def _comparator_failed(self, error: Exception) -> Kleene:
        """Notes what a trace predicate raised: only a user's comparator of results can."""
        return self._fault("result comparator", f"raised {_described(error)}")

    def asked(self, predicate: f.OpenPredicate, at: int) -> Kleene:
        """The answer of a registered function at a position."""
        operands = [self.value(operand, at) for operand in predicate.operands]
        key = (predicate, at, *map(possible_key, operands))
        if key not in self._known:
            self._known[key] = self._asked(predicate.name, operands, at)
        answer: Kleene = self._known[key]
        return answer

    def _asked(self, name: str, operands: list[Seen], at: int) -> Kleene:
        view = self.view
        final = name in view.vocabulary.final_when_false
        if view.hidden or (view.pending and not view.ongoing):
            return None  # the function may look at any event
        if view.ongoing and (not final or any(each < at for each in view.pending)):
            return None  # later events may change its answer
        if UNSEEN in operands:
            return None
        if at == len(view) > 0 or MISSING in operands:
            return False  # false after the end, and if an operand is undefined
        trace = view.trace.read_only
        try:
            given = map(read_only, operands)
            answer = view.vocabulary.predicates[name](trace, at, trace.metrics, *given)
        except Exception as error:
            return self._fault(name, f"raised {_described(error)}", at)
        if not isinstance(answer, bool):
            return self._fault(name, f"returned {shown(answer)}, not True or False", at)
        return None if answer and view.ongoing else answer

    def _fault(self, name: str, reason: str, at: int | None = None) -> Kleene:
        """Records that a function failed; its answer is unknown."""
        fault = Fault(name, reason, at)
        if fault not in self.faults:
            self.faults.append(fault)
        return None

    def reread(self, formula: f.Formula, certain: bool, where: int) -> int:
        """The positions where a formula is true in one of its readings; cached."""
        key = (formula, certain, where, self._values_of(formula))
        if key not in self._known:
            self._known[key] = reading(formula, certain)(self, where)[0]
        true: int = self._known[key]
        return true

    def _values_of(self, part: Node) -> Hashable:
        """The values of the variables that a part uses."""
        values = self.values
        return tuple(possible_key(values.get(name, MISSING)) for name in sorted(part.free))

    # ── values ───────────────────────────────────────────────────────────────────────────

    def value(self, term: Term, at: int) -> Seen:
        """The value of a term at a position."""
        return value_at(term, _Spot(self, at))

    def possible(self, term: Term, at: int) -> PossibleValue:
        """The value of a term at a position, or what is known of it."""
        return possible_at(term, _Spot(self, at))

    def constant(self, term: Term) -> Seen:
        """The value of a term that is the same at every event."""
        return value_at(term, _Spot(self, len(self.view)))

    def elements(self, domain: f.Domain, at: int) -> Elements:
        """The values that a quantifier at a position ranges over."""
        match domain:
            case f.Listed(items):
                values = [self.possible(item, at) for item in items]
                return _sorted([(v, is_certain(v)) for v in values if v is not MISSING])
            case f.Found(term):
                value = self.possible(term, at)
                if isinstance(value, SomeOf):
                    return _sorted(list(zip(value.members, value.certain, strict=True)))
                value = known(value)
                if value is UNSEEN:
                    return Elements((), False)
                return Elements(tuple(elements_of(value)), True)
            case f.Extracted(name, operands):
                try:
                    given = [self.value(operand, at) for operand in operands]
                    return extracted(name, given, self.view)
                except Exception as error:  # a user's extractor
                    self._fault(name, f"raised {_described(error)}")
                    return Elements((), False)
            case _:
                if any(known(self.values.get(name, MISSING)) is UNSEEN for name in domain.free):
                    return Elements((), False)
                whole = bound(domain, self.values) if domain.free else domain
                return elements(whole, self.view)

    def last(self, condition: f.Formula, at: int) -> Iterator[int | None]:
        """The positions of the events that `last` may find; None means no event."""
        before = self.view.in_steps_before(at)
        true, possible = self.truth(condition, before)
        possible &= before
        while possible:
            found = possible.bit_length() - 1
            yield found
            if true >> found & 1:
                return
            possible ^= 1 << found
        yield None

    def sofar(self, term: Sofar, at: int) -> PossibleValue:
        """The events up to a position that `sofar` finds, as objects."""
        condition = term.condition
        key = ("so far", condition, self._values_of(condition))
        if key not in self._known:
            self._known[key] = self._fitting(condition)
        positions, events, certain = self._known[key]
        number = bisect_right(positions, at)
        spend(number)
        if term.seconds is None:
            return some_of(events[:number], certain[:number])
        limit = microseconds(term.seconds.value)
        found = positions[:number], events[:number], certain[:number]
        return in_window(self.view, at, limit, *found)

    def _fitting(self, condition: f.Formula) -> tuple[list[int], list[PossibleValue], list[bool]]:
        """The positions that may satisfy a condition, their events, and which are certain."""
        true, possible = self.truth(condition, self.positions)
        positions = list(positions_of(possible & self.positions))
        events = [self.view.event_object(at) for at in positions]
        return positions, events, [bool(true >> at & 1) for at in positions]

    def counted(self, term: Counted, at: int) -> PossibleValue:
        """The number of values for which the body holds at a position."""
        if isinstance(term.domain, f.Found) and self.possible(term.domain.term, at) is MISSING:
            return MISSING
        found = self.elements(term.domain, at)
        if not found.complete:
            return UNSEEN
        fewest = most = 0
        spend(weight_of(term.body) * (len(found.values) + len(found.uncertain)))
        for number, each in enumerate((*found.values, *found.uncertain)):
            inner = self.with_value(term.variable, each)
            true, possible = inner.truth(term.body, 1 << at)
            fewest += true >> at & (number < len(found.values))
            most += possible >> at & 1
        return fewest if fewest == most else Between(fewest, most)


class _Spot:
    """A position of the trace where terms are evaluated."""

    __slots__ = ("at", "scope")

    def __init__(self, scope: EvaluationScope, at: int) -> None:
        self.scope = scope
        self.at = at

    def field(self, name: str) -> Seen:
        return self.scope.view.field(self.at, name)

    def variable(self, name: str) -> PossibleValue:
        return self.scope.values.get(name, MISSING)

    def answer(self) -> Seen:
        answer = self.scope.view.trace.answer
        return MISSING if answer is None else answer

    def labels(self) -> Seen:
        return self.scope.view.trace.labels

    def last(self, term: Last) -> PossibleValue:
        view = self.scope.view
        if self.at in view.hidden:
            return UNSEEN
        if self.at >= len(view):
            return MISSING
        found = self.scope.last(term.condition, self.at)
        return one_of([MISSING if at is None else view.event_object(at) for at in found])

    def sofar(self, term: Sofar) -> PossibleValue:
        return self.scope.sofar(term, self.at)

    def counted(self, term: Counted) -> PossibleValue:
        return self.scope.counted(term, self.at)


def _sorted(members: Sequence[tuple[PossibleValue, bool]]) -> Elements:
    """The values of a domain: those that certainly belong to it, and the others."""
    certain = tuple(value for value, sure in members if sure)
    return Elements(certain, True, tuple(value for value, sure in members if not sure))


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
