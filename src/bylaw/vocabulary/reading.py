"""The value of a term at an event, and comparisons of two values.

A value may be undefined (MISSING). It may also be UNSEEN, because the event is hidden or its
result has not arrived; a value computed from an unseen one is unseen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from bylaw.logic import terms as t
from bylaw.regex.regex import compiled
from bylaw.trace.event import MISSING, Call, Event, Missing
from bylaw.trace.trace import Trace
from bylaw.values import Json, equal, is_list, is_number, is_text, write_json
from bylaw.vocabulary.functions import apply


class Unseen(Enum):
    """The type of `UNSEEN`: there may be a value, but it is not known."""

    UNSEEN = "unseen"

    def __repr__(self) -> str:
        return "UNSEEN"


UNSEEN: Final = Unseen.UNSEEN
Seen: TypeAlias = Json | Missing | Unseen

_OF_RESULT: Final = ("result", "text", "error")
"""The fields of a call that are known only with its result."""


class Place(Protocol):
    """A place to read values from: an event, its trace, and the variables bound there."""

    def field(self, name: str) -> Seen:
        """The event's field of this name."""
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
        """The number of values for which the body holds."""
        ...


def value_at(term: t.Term, place: Place) -> Seen:
    """The value of a term at a place."""
    match term:
        case t.Literal():
            return term.value
        case t.Reading(field):
            return place.field(field)
        case t.At() | t.Last():
            return known(case_at(term, place))
        case t.Apply(function, operands):
            return applied(function, [value_at(operand, place) for operand in operands])
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
        case t.Variable(name):
            return place.variable(name)


def case_at(term: t.Term, place: Place) -> Seen | OneOf:
    """The value of a term at a place; the possible values if `last` depends on results."""
    match term:
        case t.Last():
            return place.last(term)
        case t.At(base, key):
            return found_at(case_at(base, place), value_at(key, place))
        case _:
            return value_at(term, place)


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

    def counted(self, term: t.Counted) -> Seen:
        return MISSING


def written_value(term: t.Term) -> Json | Missing:
    """The value of a term that depends on nothing but itself."""
    found = value_at(term, NoEvent())
    return MISSING if found is UNSEEN else found


def together(values: list[Seen]) -> Seen:
    """The list of these values; undefined or unseen if one of them is."""
    return UNSEEN if UNSEEN in values else MISSING if MISSING in values else values


def keyed(keys: Sequence[str], values: list[Seen]) -> Seen:
    """The object of these keys and values; undefined or unseen if a value is."""
    whole = together(values)
    if whole is MISSING or whole is UNSEEN:
        return whole
    return dict(zip(keys, values, strict=True))


def applied(function: str, values: list[Seen]) -> Seen:
    """The result of a function; unseen if an operand is."""
    return UNSEEN if UNSEEN in values else apply(function, values)


def found_at(base: Seen | OneOf, key: Seen) -> Seen | OneOf:
    """The value of a key in an object, or in each element of a list; or of an index in a list."""
    if isinstance(base, OneOf):
        return one_of([found_at(value, key) for value in base.values])
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
    """The event's field of this name; MISSING if the event has none."""
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
    """The raw result, followed by the error if that is a different text."""
    parts = []
    if call.result is not MISSING:
        parts.append(call.result if isinstance(call.result, str) else write_json(call.result))
    if call.error is not None and call.error not in parts:
        parts.append(call.error)
    return "\n".join(parts) if parts else MISSING


def known_before_result(name: str) -> bool:
    """Is this field known when a call is proposed?"""
    return name not in _OF_RESULT


class OneOf:
    """One of several values; which one depends on results that have not arrived."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Seen]) -> None:
        self.values = values


class PartialObject(dict[str, Seen]):
    """An event as an object, while the fields of its result are unseen."""


def one_of(values: Sequence[Seen]) -> Seen | OneOf:
    """One of several values, or the value if there is only one."""
    return values[0] if len(values) == 1 else OneOf(values)


def known(value: Seen | OneOf) -> Seen:
    """The value, if it is known as a whole."""
    return UNSEEN if isinstance(value, OneOf | PartialObject) else value


def compared(left: Seen | OneOf, symbol: str, right: Seen | OneOf) -> bool | None:
    """Does the comparison hold? None if that depends on an unseen value."""
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        cases = [each.values if isinstance(each, OneOf) else (each,) for each in (left, right)]
        answers = {compared(a, symbol, b) for a in cases[0] for b in cases[1]}
        return answers.pop() if len(answers) == 1 else None
    left, right = known(left), known(right)
    if left is MISSING or right is MISSING or left is None or right is None:
        return False
    if left is UNSEEN or right is UNSEEN:
        return None
    return RELATION_TESTS[symbol](left, right)


def partial_object(event: Event) -> PartialObject:
    """A call whose result is outstanding, as the object that `last` denotes."""
    seen = {name: field_of(event, name) for name in t.FIELDS if known_before_result(name)}
    unseen = {name: UNSEEN for name in t.FIELDS if not known_before_result(name)}
    return PartialObject({**seen, **unseen})


def as_object(event: Event) -> Json:
    """An event as the object that `last` denotes."""
    fields = ((name, field_of(event, name)) for name in t.FIELDS)
    return {name: value for name, value in fields if value is not MISSING}


def elements_of(value: Json | Missing) -> Sequence[Json]:
    """A domain of one value: a list's elements; none for null or MISSING; else the value itself."""
    if value is MISSING or value is None:
        return ()
    return value if is_list(value) else (value,)


# ── comparisons ───────────────────────────────────────────────────────────────────────────


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    """Numbers and texts are ordered among themselves; other values have no order."""

    def holds(left: Json, right: Json) -> bool:
        alike = (is_number(left) and is_number(right)) or (is_text(left) and is_text(right))
        return alike and compare(left, right)

    return holds


def _contains(whole: Json, part: Json) -> bool:
    if is_list(whole):
        return any(equal(element, part) for element in whole)
    return is_text(whole) and is_text(part) and part in whole


def _matches(text: Json, pattern: Json) -> bool:
    expression = compiled(pattern) if is_text(pattern) and is_text(text) else None
    return expression is not None and expression.search(text)


RELATION_TESTS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "contains": _contains,
    "in": lambda part, whole: _contains(whole, part),
    "~": _matches,
}
