"""What a value of the language denotes at an event.

A value may be undefined (MISSING), and it may be UNSEEN: it exists, but the event is hidden, or
the result has not arrived. What is computed from something unseen is unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol, TypeAlias

from bylaw.logic import terms as t
from bylaw.trace.event import MISSING, Call, Event, Missing
from bylaw.values import Json, is_list, write_json
from bylaw.vocabulary.functions import apply


class Unseen(Enum):
    """The one value that says: there may be a value, and it is not known."""

    UNSEEN = "unseen"

    def __repr__(self) -> str:
        return "UNSEEN"


UNSEEN: Final = Unseen.UNSEEN
Seen: TypeAlias = Json | Missing | Unseen

_OF_RESULT: Final = ("result", "text", "error")
"""What is not known of a call before its result is."""


class Place(Protocol):
    """Where values are read: an event, and what leads away from it."""

    def field(self, name: str) -> Seen:
        """What the event says in this field."""
        ...

    def variable(self, name: str) -> Seen:
        """The value of a variable."""
        ...

    def answer(self) -> Seen:
        """The final answer."""
        ...

    def labels(self) -> Seen:
        """The labels of the trace."""
        ...

    def last(self, term: t.Last) -> Seen:
        """The event that `last` finds, as an object."""
        ...

    def counted(self, term: t.Counted) -> Seen:
        """For how many values the body holds."""
        ...


def value_at(term: t.Term, place: Place) -> Seen:
    """The value of a term at a place."""
    match term:
        case t.Literal():
            return term.value
        case t.Reading(field):
            return place.field(field)
        case t.At(base, key):
            return found_at(value_at(base, place), value_at(key, place))
        case t.Apply(function, operands):
            values = [value_at(operand, place) for operand in operands]
            return UNSEEN if UNSEEN in values else apply(function, values)
        case t.Last():
            return place.last(term)
        case t.Counted():
            return place.counted(term)
        case t.ListTerm(items):
            return together([value_at(item, place) for item in items])
        case t.ObjectTerm(entries):
            whole = together([value_at(entry.value, place) for entry in entries])
            if whole is MISSING or whole is UNSEEN:
                return whole
            return {entry.key: value for entry, value in zip(entries, whole, strict=True)}
        case t.Answer():
            return place.answer()
        case t.Labels():
            return place.labels()
        case t.Variable(name):
            return place.variable(name)


class _Nowhere:
    """No event and no trace: only what is written out has a value."""

    def field(self, name: str) -> Seen:
        return MISSING

    def variable(self, name: str) -> Seen:
        return MISSING

    def answer(self) -> Seen:
        return MISSING

    def labels(self) -> Seen:
        return MISSING

    def last(self, term: t.Last) -> Seen:
        return MISSING

    def counted(self, term: t.Counted) -> Seen:
        return MISSING


def written_value(term: t.Term) -> Json | Missing:
    """The value of a term that depends on nothing but itself."""
    found = value_at(term, _Nowhere())
    return MISSING if found is UNSEEN else found


def together(values: list[Seen]) -> Seen:
    """A list, if all its parts are there."""
    return UNSEEN if UNSEEN in values else MISSING if MISSING in values else values


def found_at(base: Seen, key: Seen) -> Seen:
    """What a key finds in an object, or in each element of a list; or an index in a list."""
    if base is UNSEEN or key is UNSEEN:
        return UNSEEN
    if base is MISSING or key is MISSING:
        return MISSING
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, str):
        if isinstance(base, Mapping):
            return base.get(key, MISSING)
        if is_list(base):
            found = (found_at(element, key) for element in base)
            return [value for value in found if value is not MISSING and value is not None]
    elif type(key) is int and is_list(base) and -len(base) <= key < len(base):
        return base[key]
    return MISSING


def field_of(event: Event, name: str) -> Json | Missing:
    """What an event says in a field."""
    if name == "step":
        return MISSING if event.step is None else event.step
    if not isinstance(event, Call):
        return event.text if name == "text" else MISSING
    match name:
        case "args":
            return event.args
        case "result":
            return event.value
        case "tool":
            return event.tool
        case "text":
            return _text(event)
        case _:
            return MISSING if event.error is None else event.error


def _text(call: Call) -> str | Missing:
    """The raw result, and the error text where it says something else."""
    parts = []
    if call.result is not MISSING:
        parts.append(call.result if isinstance(call.result, str) else write_json(call.result))
    if call.error is not None and call.error not in parts:
        parts.append(call.error)
    return "\n".join(parts) if parts else MISSING


def known_before_result(name: str) -> bool:
    """Is this field of a call known when it is proposed?"""
    return name not in _OF_RESULT


def as_object(event: Event) -> Json:
    """An event as the object that `last` denotes."""
    fields = ((name, field_of(event, name)) for name in t.FIELDS)
    return {name: value for name, value in fields if value is not MISSING}


def elements_of(value: Json | Missing) -> Sequence[Json]:
    """What a quantifier ranges over: a list's elements; null or nothing, none; else the value."""
    if value is MISSING or value is None:
        return ()
    return value if is_list(value) else (value,)
