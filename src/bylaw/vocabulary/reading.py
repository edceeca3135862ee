"""The value of a term at an event, and events as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from bylaw.logic import terms as t
from bylaw.trace.event import MISSING, Event, Missing, comes_with_result, field_of
from bylaw.trace.trace import Trace
from bylaw.values import Json, is_list
from bylaw.vocabulary.possible import (
    UNSEEN,
    PartialObject,
    PossibleValue,
    Seen,
    applied,
    found_at,
    keyed,
    known,
    together,
)


class Place(Protocol):
    """A place to read values from: an event, its trace, and the variables bound there."""

    def field(self, name: str) -> Seen:
        """The event's field of this name."""
        ...

    def variable(self, name: str) -> PossibleValue:
        """The value of a variable; MISSING if nothing binds it."""
        ...

    def answer(self) -> Seen:
        """The final answer."""
        ...

    def labels(self) -> Seen:
        """The labels of the trace."""
        ...

    def last(self, term: t.Last) -> PossibleValue:
        """The event that `last` finds, as an object."""
        ...

    def sofar(self, term: t.Sofar) -> PossibleValue:
        """The list of the events that `sofar` finds, as objects."""
        ...

    def counted(self, term: t.Counted) -> PossibleValue:
        """The number of values for which the body holds."""
        ...


def value_at(term: t.Term, place: Place) -> Seen:
    """The value of a term at a place; UNSEEN unless it is known as a whole."""
    return known(possible_at(term, place))


def possible_at(term: t.Term, place: Place) -> PossibleValue:
    """The value of a term at a place, or what is known of it."""
    match term:
        case t.Literal():  # the most frequent ones first
            return term.value
        case t.Reading(field):
            return place.field(field)
        case t.Variable(name):
            return place.variable(name)
        case t.At(base, key):
            return found_at(possible_at(base, place), value_at(key, place))
        case t.Apply(function, operands):
            return applied(function, [possible_at(operand, place) for operand in operands])
        case t.Last():
            return place.last(term)
        case t.Sofar():
            return place.sofar(term)
        case t.Counted():
            return place.counted(term)
        case t.ListTerm(items):
            return together([value_at(item, place) for item in items])
        case t.ObjectTerm(entries):
            values = [value_at(entry.value, place) for entry in entries]
            return keyed([entry.key for entry in entries], values)
        case t.Answer():
            return place.answer()
        case t.Labels():
            return place.labels()


class NoEvent:
    """No event in particular: only values that belong to the whole trace, if any, can be read."""

    def __init__(self, trace: Trace | None = None) -> None:
        self._trace = trace

    def field(self, name: str) -> Seen:
        return MISSING

    def variable(self, name: str) -> Seen:
        return MISSING

    def answer(self) -> Seen:
        trace = self._trace
        return MISSING if trace is None or trace.answer is None else trace.answer

    def labels(self) -> Seen:
        return MISSING if self._trace is None else self._trace.labels

    def last(self, term: t.Last) -> Seen:
        return MISSING

    def sofar(self, term: t.Sofar) -> Seen:
        return MISSING

    def counted(self, term: t.Counted) -> Seen:
        return MISSING


def written_value(term: t.Term) -> Json | Missing:
    """The value of a term that depends on nothing but itself."""
    found = value_at(term, NoEvent())
    return MISSING if found is UNSEEN else found


HIDDEN: Final = PartialObject(dict.fromkeys(t.FIELDS, UNSEEN))
"""A wholly unknown event, as an object."""


def field_seen(event: Event, name: str, pending: bool) -> Seen:
    """The event's field of this name; UNSEEN if it may still come with the result."""
    value = field_of(event, name)
    return UNSEEN if value is MISSING and pending and comes_with_result(name) else value


def partial_object(event: Event) -> PartialObject:
    """A call whose result is outstanding, as an object."""
    fields = ((name, field_seen(event, name, True)) for name in t.FIELDS)
    return PartialObject({name: value for name, value in fields if value is not MISSING})


def as_object(event: Event) -> Json:
    """An event as an object, as `last` and `sofar` denote it."""
    fields = ((name, field_of(event, name)) for name in t.FIELDS)
    return {name: value for name, value in fields if value is not MISSING}


def elements_of(value: Json | Missing) -> Sequence[Json]:
    """A domain of one value: a list's elements; none for null or MISSING; else the value itself."""
    if value is MISSING or value is None:
        return ()
    return value if is_list(value) else (value,)
