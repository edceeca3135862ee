"""Values that are known in part, because results are outstanding or events are hidden.

A value may be undefined (MISSING), or not known at all (UNSEEN). In between, something is known:
it is one of several values, a number between two, a list some of whose members are uncertain, or
an event whose result is outstanding. What is computed from such values is as certain as can be
told without trying every combination; where that would be too many, it is UNSEEN.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from enum import Enum
from itertools import product
from typing import Final, TypeAlias

from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, equal, identity, is_number
from bylaw.vocabulary.functions import apply
from bylaw.vocabulary.patterns import at_key, whole_index
from bylaw.vocabulary.tally import TALLIED, Range, Tally, combined
from bylaw.work import spend


class Unseen(Enum):
    """The type of `UNSEEN`: there may be a value, but it is not known."""

    UNSEEN = "unseen"

    def __repr__(self) -> str:
        return "UNSEEN"


UNSEEN: Final = Unseen.UNSEEN
Seen: TypeAlias = Json | Missing | Unseen
"""A value, undefined, or unseen."""

MAX_CASES: Final = 64
"""The most combinations of cases that are tried before a value counts as unseen."""


class PartlyKnown:
    """A value of which something is known, but not everything."""

    __slots__ = ()


class OneOf(PartlyKnown):
    """One of several values; which one depends on results that have not arrived."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[PossibleValue]) -> None:
        self.values = values


class Between(PartlyKnown):
    """A number, or a text, from the lowest to the highest; both are possible."""

    __slots__ = ("highest", "lowest", "perhaps_missing")

    def __init__(self, lowest: Json, highest: Json, perhaps_missing: bool = False) -> None:
        self.lowest = lowest
        self.highest = highest
        self.perhaps_missing = perhaps_missing
        """May it also be undefined?"""


class SomeOf(PartlyKnown):
    """A list: its possible members in order, and for each, whether it is certainly in the list.

    A member that is not certain may be UNSEEN: there may be such a member, with any value.
    """

    __slots__ = ("certain", "members")

    def __init__(self, members: Sequence[PossibleValue], certain: Sequence[bool]) -> None:
        self.members = members
        self.certain = certain


class PartialObject(dict[str, Seen], PartlyKnown):
    """An event as an object, some of whose fields are unseen."""


PossibleValue: TypeAlias = Seen | PartlyKnown
"""A value, or what is known of it."""


def one_of(values: Sequence[PossibleValue]) -> PossibleValue:
    """One of several values, or the value if there is only one."""
    return values[0] if len(values) == 1 else OneOf(values)


def some_of(members: Sequence[PossibleValue], certain: Sequence[bool]) -> PossibleValue:
    """The list of these members, of which some may be uncertain."""
    if all(certain) and not any(isinstance(member, PartlyKnown) for member in members):
        return list(members)
    return SomeOf(members, certain)


def known(value: PossibleValue) -> Seen:
    """The value, if it is known as a whole."""
    return UNSEEN if isinstance(value, PartlyKnown) else value


def is_certain(value: PossibleValue) -> bool:
    """Is the value certainly defined?"""
    match value:
        case OneOf():
            return all(map(is_certain, value.values))
        case Between():
            return not value.perhaps_missing
        case _:
            return value is not MISSING and value is not UNSEEN


def possible_key(value: PossibleValue) -> Hashable:
    """The same for two values exactly if the same is known of them."""
    match value:
        case OneOf():
            return "one of", tuple(map(possible_key, value.values))
        case Between():
            bounds = identity(value.lowest), identity(value.highest)
            return "between", *bounds, value.perhaps_missing
        case SomeOf():
            return "some of", tuple(map(possible_key, value.members)), tuple(value.certain)
        case PartialObject():
            return "partial", tuple((name, possible_key(each)) for name, each in value.items())
        case Missing() | Unseen():
            return value
        case _:
            return identity(value)


# ── what is computed from them ────────────────────────────────────────────────────────────


def together(values: list[Seen]) -> Seen:
    """The list of these values; undefined if one of them is, else unseen if one of them is."""
    return MISSING if MISSING in values else UNSEEN if UNSEEN in values else values


def keyed(keys: Sequence[str], values: list[Seen]) -> Seen:
    """The object of these keys and values; undefined or unseen if a value is."""
    whole = together(values)
    if whole is MISSING or whole is UNSEEN:
        return whole
    return dict(zip(keys, values, strict=True))


def found_at(base: PossibleValue, key: Seen) -> PossibleValue:
    """The value of a key in an object, or in each element of a list; or of an index in a list."""
    if base is MISSING or key is MISSING:
        return MISSING
    if base is UNSEEN or key is UNSEEN:
        return UNSEEN
    match base:
        case OneOf():
            return one_of([found_at(value, key) for value in base.values])
        case SomeOf() if isinstance(key, str):
            return _mapped(base, key)
        case SomeOf() if (index := whole_index(key)) is not None:
            return _indexed(base, index)
        case _:
            return at_key(base, key)


def _mapped(base: SomeOf, key: str) -> PossibleValue:
    members: list[PossibleValue] = []
    certain: list[bool] = []
    spend(len(base.members))
    for member, sure in zip(base.members, base.certain, strict=True):
        value = known(found_at(member, key))
        if value is not MISSING and value is not None:
            members.append(value)
            certain.append(sure and value is not UNSEEN)
    return some_of(members, certain)


def _indexed(base: SomeOf, index: int) -> PossibleValue:
    """The member at an index: each one that enough others may precede, and not too many must."""
    members, certain = base.members, base.certain
    if index < 0:
        members, certain, index = members[::-1], certain[::-1], -1 - index
    cases: list[PossibleValue] = []
    must_precede = 0
    for may_precede, (member, sure) in enumerate(zip(members, certain, strict=True)):
        if must_precede <= index <= may_precede:
            cases.append(member)
        must_precede += sure
    return one_of(cases if must_precede > index else [*cases, MISSING])


def applied(function: str, operands: Sequence[PossibleValue]) -> PossibleValue:
    """The result of a function; undefined if an operand is, else unseen if one is."""
    if MISSING in operands:
        return MISSING
    if not any(isinstance(operand, PartlyKnown) for operand in operands):
        return UNSEEN if UNSEEN in operands else apply(function, operands)
    if function in TALLIED and isinstance(operands[0], SomeOf):
        return tallied(function, *tallies(operands[0]))
    if any(isinstance(operand, Between) for operand in operands):
        return _calculated(function, operands)
    cases = list(_cases(operands))
    if len(cases) > MAX_CASES or any(UNSEEN in case for case in cases):
        return UNSEEN
    results = {possible_key(found): found for found in (apply(function, case) for case in cases)}
    return one_of(list(results.values()))


def tallies(whole: SomeOf) -> tuple[Tally, Tally]:
    """The sum of the certain members of a list, and that of the uncertain ones."""
    certain, uncertain = Tally(), Tally()
    spend(len(whole.members))
    for member, sure in zip(whole.members, whole.certain, strict=True):
        if sure:
            certain = certain.plus(member)
        elif member is UNSEEN:
            uncertain = uncertain.plus_unseen()
        else:
            uncertain = uncertain.plus(member)
    return certain, uncertain


def tallied(function: str, certain: Tally, uncertain: Tally) -> PossibleValue:
    """The sum, length or extreme of a list, from what its members add up to."""
    found = combined(function, certain, uncertain)
    if found is None:
        return UNSEEN
    if not isinstance(found, Range):
        return found
    return Between(found.lowest, found.highest, found.perhaps_missing)


def _cases(operands: Sequence[PossibleValue]) -> Iterator[list[Seen]]:
    """The combinations of the operands' cases; one too many if there are too many."""
    options = [options_of(operand) for operand in operands]
    for number, case in enumerate(product(*options)):
        yield list(case)
        if number >= MAX_CASES:
            return


def options_of(value: PossibleValue) -> list[Seen]:
    """The values that it may be."""
    match value:
        case OneOf():
            return [each for inner in value.values for each in options_of(inner)]
        case SomeOf():
            return _sublists(value)
        case _:
            return [known(value)]


def _sublists(whole: SomeOf) -> list[Seen]:
    """Every list that it may be."""
    uncertain = len(whole.certain) - sum(whole.certain)
    if 1 << uncertain > MAX_CASES or any(isinstance(known(m), Unseen) for m in whole.members):
        return [UNSEEN]
    choices = [(True,) if sure else (True, False) for sure in whole.certain]
    return [
        [member for member, there in zip(whole.members, chosen, strict=True) if there]
        for chosen in product(*choices)
    ]


# ── numbers between two ───────────────────────────────────────────────────────────────────


def _range(value: PossibleValue) -> Between | None:
    match value:
        case Between() if is_number(value.lowest):
            return value
        case OneOf():
            numbers: list[Json] = [each for each in value.values if is_number(each)]
            others = [each for each in value.values if not is_number(each)]
            if numbers and all(each is MISSING for each in others):
                return Between(min(numbers), max(numbers), bool(others))
        case _ if is_number(value):
            return Between(value, value)
    return None


_MONOTONE: Final = frozenset({"+", "-", "*", "ceil", "floor", "round"})
"""Functions whose extremes lie at the extremes of their operands."""


def _calculated(function: str, operands: Sequence[PossibleValue]) -> PossibleValue:
    """The range of results, where the extremes of the operands give those of the result."""
    found = [_range(operand) for operand in operands]
    ranges = [each for each in found if each is not None]
    if len(ranges) < len(found):
        return UNSEEN
    divisible = function == "/" and not ranges[1].lowest <= 0 <= ranges[1].highest
    if function not in _MONOTONE and not divisible:
        return UNSEEN
    corners = product(*((each.lowest, each.highest) for each in ranges))
    results: list[Json] = [apply(function, corner) for corner in corners]
    if MISSING in results:
        return UNSEEN
    perhaps_missing = any(each.perhaps_missing for each in ranges)
    lowest, highest = min(results), max(results)
    if equal(lowest, highest) and not perhaps_missing:
        return lowest
    return Between(lowest, highest, perhaps_missing)
