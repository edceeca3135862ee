"""Formulas about one event, compiled to functions of it: true, false, or unknown.

A value is unknown if it depends on a result that has not arrived. Subclasses compile the parts
that look at other events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.logic import formula as f
from bylaw.logic import terms as t
from bylaw.logic.walk import everything, weight_of
from bylaw.names import FINAL_ANSWER
from bylaw.regex.regex import compiled
from bylaw.trace.event import (
    MISSING,
    Call,
    Event,
    Message,
    Missing,
    comes_with_result,
    field_of,
)
from bylaw.values import Json
from bylaw.vocabulary.comparisons import NUMBERS, ORDERS, compared, same
from bylaw.vocabulary.functions import applied_to_texts
from bylaw.vocabulary.patterns import forms_of, is_named, is_tool, lookup, names_of
from bylaw.vocabulary.possible import (
    UNSEEN,
    Between,
    PossibleValue,
    Seen,
    SomeOf,
    Unseen,
    applied,
    found_at,
    is_certain,
    keyed,
    known,
    together,
)
from bylaw.vocabulary.reading import elements_of, field_seen
from bylaw.vocabulary.view import Kleene
from bylaw.work import spend

Slots: TypeAlias = Mapping[str, int]
"""The slot that holds the value of each variable. A variable without a slot is undefined."""
_PERHAPS_PARTLY_KNOWN: Final = (t.Variable, t.Last, t.Sofar, t.Counted)


class NotLocal(Exception):
    """A formula looks at more than one event; the message gives the reason."""


class EventContext:
    """An event, its position, and the values of the rule's variables there."""

    __slots__ = ("event", "pending", "position", "step", "values")

    def __init__(self, event: Event, position: int, step: int, pending: bool, size: int) -> None:
        self.event = event
        self.position = position
        self.step = step
        self.pending = pending
        """May its result still arrive?"""
        self.values: list[PossibleValue] = [MISSING] * size


Test: TypeAlias = Callable[[EventContext], Kleene]
Reader: TypeAlias = Callable[[EventContext], Seen]
PossibleReader: TypeAlias = Callable[[EventContext], PossibleValue]
Members: TypeAlias = Sequence[tuple[PossibleValue, bool]]
"""The values of a domain, each with whether it certainly belongs to it."""


class LocalCompiler:
    """Compiles formulas about one event.

    Override `elsewhere`, `last` and `sofar` to look at others.
    """

    def __init__(self, labels: Mapping[str, Json]) -> None:
        self.labels: Final = labels
        self.size = 0
        """The number of slots for variables."""
        self._whole: Final[set[int]] = set()
        """The slots whose values are known as a whole or not at all."""

    def new_slot(self, *, whole: bool = False) -> int:
        """A slot for a variable, whose value is perhaps always known as a whole or not at all."""
        self.size += 1
        if whole:
            self._whole.add(self.size - 1)
        return self.size - 1

    def elsewhere(self, formula: f.Formula, slots: Slots) -> Test:
        """A function that decides a formula about other events."""
        raise NotLocal("it looks at other events")

    def last(self, condition: f.Formula, slots: Slots) -> PossibleReader:
        """A function that reads the event that `last` finds."""
        raise NotLocal("it looks at other events")

    def sofar(self, term: t.Sofar, slots: Slots) -> PossibleReader:
        """A function that reads the events that `sofar` finds."""
        raise NotLocal("it looks at other events")

    # ── values ───────────────────────────────────────────────────────────────────────────

    def term(self, term: t.Term, slots: Slots) -> Reader:
        """A function that reads the value at a moment; UNSEEN unless it is known as a whole."""
        possible = self.possible(term, slots)
        if self._is_whole(term, slots):
            return possible
        return lambda now: known(possible(now))

    def _is_whole(self, term: t.Term, slots: Slots) -> bool:
        """Is the value always known as a whole, or not at all?"""
        if not term.contains(*_PERHAPS_PARTLY_KNOWN):
            return True
        parts = [part for part in everything(term) if isinstance(part, _PERHAPS_PARTLY_KNOWN)]
        whole = self._whole
        return all(isinstance(p, t.Variable) and slots.get(p.name) in whole for p in parts)

    def possible(self, term: t.Term, slots: Slots) -> PossibleReader:
        """A function that reads the value at a moment, or what is known of it."""
        match term:
            case t.Literal():
                value = term.value
                return lambda now: value
            case t.Variable(name):
                slot = slots.get(name)
                return (lambda now: MISSING) if slot is None else lambda now: now.values[slot]
            case t.Reading(field):
                return self._field(field)
            case t.At(t.Reading("args"), t.Literal() as key) if isinstance(key.value, str):
                name = key.value
                return lambda now: (
                    now.event.args.get(name, MISSING) if isinstance(now.event, Call) else MISSING
                )
            case t.At(base, key):
                of_base, of_key = self.possible(base, slots), self.term(key, slots)
                return lambda now: found_at(of_base(now), of_key(now))
            case t.Apply(function, operands):
                readers = [self.possible(operand, slots) for operand in operands]
                return _application(function, readers)
            case t.Last(condition):
                return self.last(condition, slots)
            case t.Sofar():
                return self.sofar(term, slots)
            case t.Counted(variable, domain, body):
                return self._counted(variable, domain, body, slots)
            case t.ListTerm(items):
                readers = [self.term(item, slots) for item in items]
                return lambda now: together([reader(now) for reader in readers])
            case t.ObjectTerm(entries):
                keys = [entry.key for entry in entries]
                readers = [self.term(entry.value, slots) for entry in entries]
                return lambda now: keyed(keys, [reader(now) for reader in readers])
            case t.Labels():
                labels = self.labels
                return lambda now: labels
            case t.Answer():
                raise NotLocal("the answer is only known at the end")

    def _field(self, field: str) -> Reader:
        if field == "step":
            return lambda now: now.step
        if field == "text":
            return _text
        if not comes_with_result(field):
            return lambda now: field_of(now.event, field)
        return lambda now: field_seen(now.event, field, now.pending)

    def members(
        self, domain: f.Domain, slots: Slots
    ) -> Callable[[EventContext], Members | Missing | Unseen]:
        """A function that reads the values that a quantifier ranges over."""
        match domain:
            case f.Listed(items):
                readers = [self.possible(item, slots) for item in items]
                return lambda now: [
                    (value, is_certain(value))
                    for reader in readers
                    if (value := reader(now)) is not MISSING
                ]
            case f.Found(term):
                possible = self.possible(term, slots)
                return lambda now: members_of_value(possible(now))
            case _:
                raise NotLocal("a quantifier reads a domain that is only known at the end")

    def _counted(
        self, variable: str, domain: f.Domain, body: f.Formula, slots: Slots
    ) -> PossibleReader:
        members, slot = self.members(domain, slots), self.new_slot()
        test, weight = self.formula(body, {**slots, variable: slot}), weight_of(body)

        def count(now: EventContext) -> PossibleValue:
            found = members(now)
            if isinstance(found, Missing | Unseen):
                return found
            certain = possible = 0
            for value, sure in found:
                spend(weight)
                now.values[slot] = value
                answer = test(now)
                certain += sure and answer is True
                possible += answer is not False
            return certain if certain == possible else Between(certain, possible)

        return count

    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def formula(self, formula: f.Formula, slots: Slots) -> Test:
        """A function that decides the formula at a moment."""
        match formula:
            case f.Truth(truth):
                return lambda now: truth
            case f.EventAtom(tool, patterns):
                return self._event(tool, patterns, slots)
            case f.Says(role):
                return lambda now: isinstance(now.event, Message) and now.event.role == role
            case f.Compare(symbol, left, t.Literal() as bound) if symbol in ORDERS:
                return _bounded(self.possible(left, slots), symbol, bound.value)
            case f.Compare("~", left, t.Literal() as pattern) if isinstance(pattern.value, str):
                return _matching(self.possible(left, slots), pattern.value)
            case f.Compare("=", left, right):
                return _equal(self.possible(left, slots), self.possible(right, slots))
            case f.Compare(symbol, left, right):
                a, b = self.possible(left, slots), self.possible(right, slots)
                return lambda now: compared(a(now), symbol, b(now))
            case f.Not(operand):
                inner = self.formula(operand, slots)
                return lambda now: _not(inner(now))
            case f.And(operands) | f.Or(operands):
                tests = [self.formula(operand, slots) for operand in operands]
                decided = isinstance(formula, f.Or)
                return lambda now: junction(tests, now, decided)
            case f.Implies(left, right):
                return _implication(self.formula(left, slots), self.formula(right, slots))
            case f.Iff(left, right):
                first, second = self.formula(left, slots), self.formula(right, slots)
                return lambda now: _same_truth(first(now), second(now))
            case f.ForAll(variable, domain, body) | f.Exists(variable, domain, body):
                return self._quantified(formula, variable, domain, body, slots)
            case f.Let(variable, value, body):
                return self._named(variable, value, body, slots)
            case _:
                return self.elsewhere(formula, slots)

    def _event(self, tool: t.Tool | None, patterns: Sequence[f.Pattern], slots: Slots) -> Test:
        called = self._tool(tool, slots)
        if not patterns:
            return called
        tests = [called, *(self._pattern(pattern, slots) for pattern in patterns)]
        return lambda now: junction(tests, now, False)

    def _tool(self, tool: t.Tool | None, slots: Slots) -> Test:
        if tool is not None and tool.free:
            variables = [m.name for m in t.members_of(tool) if isinstance(m, t.ToolVariable)]
            bound = [slots[name] for name in variables if name in slots]

            def is_bound(now: EventContext) -> Kleene:
                event = now.event
                if not isinstance(event, Call) or event.tool == FINAL_ANSWER:
                    return isinstance(event, Call) and is_named(event.tool, tool)
                values = [known(now.values[slot]) for slot in bound]
                if is_named(event.tool, tool) or event.tool in values:
                    return True
                return None if UNSEEN in values else False

            return is_bound
        if tool is None or forms_of(tool):
            return lambda now: isinstance(now.event, Call) and is_tool(now.event, tool)
        names = frozenset(names_of(tool))
        return lambda now: isinstance(now.event, Call) and now.event.tool in names

    def _pattern(self, pattern: f.Pattern, slots: Slots) -> Test:
        match pattern:
            case f.OutcomeIs(outcome):
                wanted = outcome == "ok"
                return lambda now: (
                    None if now.pending else now.event.ok if wanted else now.event.failed  # type: ignore[union-attr]  # only tested on calls
                )
            case f.ArgumentIs(path, expected):
                value = self.term(expected, slots)
                return lambda now: same(lookup(now.event.args, path), value(now))  # type: ignore[union-attr]  # as above
            case f.ResultIs(path, expected):
                value = self.term(expected, slots)
                return lambda now: same(
                    UNSEEN if now.pending else lookup(now.event.value, path),  # type: ignore[union-attr]  # as above
                    value(now),
                )

    def _quantified(
        self, formula: f.Formula, variable: str, domain: f.Domain, body: f.Formula, slots: Slots
    ) -> Test:
        members, slot = self.members(domain, slots), self.new_slot()
        test, weight = self.formula(body, {**slots, variable: slot}), weight_of(body)
        decided = isinstance(formula, f.Exists)

        def ask(now: EventContext) -> Kleene:
            found = members(now)
            if isinstance(found, Unseen):
                return None
            answer: Kleene = not decided
            for value, sure in () if isinstance(found, Missing) else found:
                spend(weight)
                now.values[slot] = value
                here = test(now)
                if here is decided and sure:
                    return decided
                answer = answer if here is (not decided) else None
            return answer

        return ask

    def _named(self, variable: str, value: t.Term, body: f.Formula, slots: Slots) -> Test:
        possible, slot = self.possible(value, slots), self.new_slot()
        if self._is_whole(value, slots):
            self._whole.add(slot)
        test = self.formula(body, {**slots, variable: slot})

        def ask(now: EventContext) -> Kleene:
            now.values[slot] = possible(now)
            return test(now)

        return ask


def _text(now: EventContext) -> Seen:
    """The text of a message, or of a call's result."""
    event = now.event
    return event.text if isinstance(event, Message) else field_seen(event, "text", now.pending)


def found_in(field: str, path: tuple[str, ...]) -> Reader:
    """Reads the value at a pattern's path. Unlike a term's path, it does not look into lists."""
    late = comes_with_result(field)
    return lambda now: UNSEEN if now.pending and late else lookup(field_of(now.event, field), path)


# ── three-valued connectives ──────────────────────────────────────────────────────────────


def _not(value: Kleene) -> Kleene:
    return None if value is None else not value


def junction(tests: Sequence[Test], now: EventContext, decided: bool) -> Kleene:
    """The conjunction or disjunction of the tests, up to the first with the deciding value."""
    answer: Kleene = not decided
    for test in tests:
        here = test(now)
        if here is decided:
            return decided
        if here is None:
            answer = None
    return answer


def _bounded(read: PossibleReader, symbol: str, bound: Json) -> Test:
    """The test that a value is below or above a bound; quick if both are numbers."""
    compare, numeric = ORDERS[symbol], type(bound) in NUMBERS

    def holds(now: EventContext) -> Kleene:
        value = read(now)
        if numeric and type(value) in NUMBERS:
            return compare(value, bound)
        return compared(value, symbol, bound)

    return holds


def _matching(read: PossibleReader, pattern: str) -> Test:
    """The test that a value matches an expression, which is compiled once."""
    expression = compiled(pattern)

    def holds(now: EventContext) -> Kleene:
        value = read(now)
        if type(value) is not str or expression is None:
            return compared(value, "~", pattern)
        spend(expression.work(value))
        return expression.search(value)

    return holds


def _application(function: str, readers: Sequence[PossibleReader]) -> PossibleReader:
    """The result of a function of values that are read; quick if they are texts, or a list."""
    of_texts = applied_to_texts(function)
    if of_texts is None:
        return lambda now: applied(function, [reader(now) for reader in readers])

    def read(now: EventContext) -> PossibleValue:
        operands = [reader(now) for reader in readers]
        for operand in operands:
            if type(operand) is not str and type(operand) is not list:
                return applied(function, operands)
        return of_texts(operands)

    return read


def _equal(left: PossibleReader, right: PossibleReader) -> Test:
    """The test that two values are equal; quick if both are texts."""

    def holds(now: EventContext) -> Kleene:
        a, b = left(now), right(now)
        if type(a) is str and type(b) is str:
            return a == b
        return compared(a, "=", b)

    return holds


def _implication(left: Test, right: Test) -> Test:
    """The test that the left one implies the right one, which is asked only if needed."""

    def holds(now: EventContext) -> Kleene:
        assumed = left(now)
        if assumed is False:
            return True
        follows = right(now)
        return None if assumed is None and not follows else follows

    return holds


def _same_truth(left: Kleene, right: Kleene) -> Kleene:
    return None if left is None or right is None else left is right


def members_of_value(value: PossibleValue) -> Members | Missing | Unseen:
    """The elements of a list; a single value counts as one."""
    if type(value) is list:
        return [(element, True) for element in value]
    if isinstance(value, SomeOf):
        return list(zip(value.members, value.certain, strict=True))
    whole = known(value)
    if isinstance(whole, Missing | Unseen):
        return whole
    return [(element, True) for element in elements_of(whole)]
