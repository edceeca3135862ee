"""The length, sum, mean and extremes of a list, from a few numbers that can be kept up to date.

A list whose members are not all certain has two tallies: of its certain members, and of those that
may be in it. They bound what a function of the list can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bylaw.saved import Damaged, flag, listed, whole
from bylaw.trace.event import MISSING, Missing
from bylaw.values import Json, is_number, is_text
from bylaw.vocabulary.computations import finite
from bylaw.vocabulary.functions import apply

if TYPE_CHECKING:
    from fractions import Fraction

Exact: TypeAlias = "int | Fraction"
"""A number without rounding, so that the order of additions does not matter."""

TALLIED: Final = frozenset({"avg", "length", "max", "min", "sum"})
"""The functions of a list that its tally determines."""


class Tally(NamedTuple):
    """The sum of the members of a list. Constant in size, however long the list is."""

    members: int = 0
    """The members whose value is known."""
    unseen: int = 0
    """Members that may be there, with any value."""
    numbers: int = 0
    texts: int = 0
    above: Exact = 0
    """The sum of the positive numbers."""
    below: Exact = 0
    """The sum of the negative numbers."""
    whole: bool = True
    """Are all numbers written as whole numbers?"""
    least: Json = None
    """The smallest number; None if there is none."""
    greatest: Json = None
    first: Json = None
    """The first text in alphabetical order; None if there is none."""
    last: Json = None

    def plus(self, value: Json) -> Tally:
        """The tally with one more member."""
        if is_number(value):
            exact = value if isinstance(value, int) else _exact(*value.as_integer_ratio())
            return self._replace(
                members=self.members + 1,
                numbers=self.numbers + 1,
                above=self.above + exact if value > 0 else self.above,
                below=self.below + exact if value < 0 else self.below,
                whole=self.whole and isinstance(value, int),
                least=value if self.least is None else min(self.least, value),
                greatest=value if self.greatest is None else max(self.greatest, value),
            )
        if is_text(value):
            return self._replace(
                members=self.members + 1,
                texts=self.texts + 1,
                first=value if self.first is None else min(self.first, value),
                last=value if self.last is None else max(self.last, value),
            )
        return self._replace(members=self.members + 1)

    def plus_unseen(self) -> Tally:
        """The tally with one more member that may be there, with any value."""
        return self._replace(unseen=self.unseen + 1)

    def joined(self, other: Tally) -> Tally:
        """The tally of two lists, one after the other."""
        return Tally(
            self.members + other.members,
            self.unseen + other.unseen,
            self.numbers + other.numbers,
            self.texts + other.texts,
            self.above + other.above,
            self.below + other.below,
            self.whole and other.whole,
            *(_extreme(min, self.least, other.least), _extreme(max, self.greatest, other.greatest)),
            *(_extreme(min, self.first, other.first), _extreme(max, self.last, other.last)),
        )

    @property
    def total(self) -> Exact:
        """The exact sum of the numbers."""
        return self.above + self.below

    def to_json(self) -> Json:
        """The tally as JSON."""
        sums = [[exact.numerator, exact.denominator] for exact in self[4:6]]
        return [*self[:4], *sums, *self[6:]]

    @classmethod
    def from_json(cls, saved: Json) -> Tally:
        """The tally that `to_json` wrote."""
        members, unseen, numbers, texts, above, below, whole_numbers, *ends = listed(saved, 11)
        sums = (_exact(*map(_any_whole, listed(pair, 2))) for pair in (above, below))
        counts = map(whole, (members, unseen, numbers, texts))
        kinds = (is_number, is_number, is_text, is_text)
        for end, fits in zip(ends, kinds, strict=True):
            if end is not None and not fits(end):
                raise Damaged("expected the extremes of numbers and of texts")
        return cls._make([*counts, *sums, flag(whole_numbers), *ends])


class Range(NamedTuple):
    """The results that are possible: the two extremes, and perhaps those between."""

    lowest: Json
    highest: Json
    perhaps_missing: bool
    """May the result also be undefined?"""


def combined(function: str, certain: Tally, uncertain: Tally) -> Json | Missing | Range | None:
    """The function of a list with these members; None if nothing can be said of it."""
    match function:
        case "length":
            more = certain.unseen + uncertain.members + uncertain.unseen
            return _from_to(certain.members, certain.members + more, perhaps_missing=False)
        case "sum":
            return _sum(certain, uncertain)
        case "avg":
            return _average(certain, uncertain)
        case _:
            return _extremes(function, certain, uncertain)


def _sum(certain: Tally, uncertain: Tally) -> Json | Missing | Range | None:
    if certain.members > certain.numbers:
        return MISSING  # there is no sum with a member that is no number
    if certain.unseen or uncertain.unseen:
        return None
    whole = certain.whole and uncertain.whole
    lowest = _number(certain.total + uncertain.below, whole)
    highest = _number(certain.total + uncertain.above, whole)
    if lowest is MISSING or highest is MISSING:
        return None if uncertain.members else MISSING
    return _from_to(lowest, highest, perhaps_missing=uncertain.members > uncertain.numbers)


def _average(certain: Tally, uncertain: Tally) -> Json | Missing | None:
    if certain.members > certain.numbers:
        return MISSING
    if certain.unseen or uncertain.unseen or uncertain.members:
        return None
    total = _sum(certain, uncertain)
    return MISSING if total is MISSING else apply("/", [total, certain.members])


def _extremes(function: str, certain: Tally, uncertain: Tally) -> Json | Missing | Range | None:
    """The smallest or largest number, or the first or last text; there is none of both."""
    if _mixed(certain):
        return MISSING
    if certain.unseen or uncertain.unseen:
        return None
    if not certain.members:
        if not uncertain.members:
            return MISSING
        if _mixed(uncertain):
            return None
        texts = bool(uncertain.texts)
        return _from_to(*_ends(uncertain, texts), perhaps_missing=True)
    texts = bool(certain.texts)
    pick = min if function == "min" else max
    sure = _ends(certain, texts)[function == "max"]
    alike = uncertain.texts if texts else uncertain.numbers
    other = _ends(uncertain, texts)[function == "max"] if alike else sure
    both = sure, pick(sure, other)
    return _from_to(min(both), max(both), perhaps_missing=uncertain.members > alike)


def _mixed(tally: Tally) -> bool:
    """Are there members of more than one kind, or of a kind that has no order?"""
    return tally.members not in (tally.numbers, tally.texts)


def _ends(tally: Tally, texts: bool) -> tuple[Json, Json]:
    return (tally.first, tally.last) if texts else (tally.least, tally.greatest)


def _from_to(lowest: Json, highest: Json, *, perhaps_missing: bool) -> Json | Range:
    if lowest == highest and not perhaps_missing:
        return lowest
    return Range(lowest, highest, perhaps_missing)


def _number(exact: Exact, whole: bool) -> Json | Missing:
    try:
        return finite(int(exact) if whole else float(exact))
    except OverflowError:
        return MISSING


def _extreme(pick: Callable[[Any, Any], Any], one: Json, other: Json) -> Json:
    if one is None or other is None:
        return other if one is None else one
    return pick(one, other)


def _any_whole(value: Json) -> int:
    if type(value) is not int:
        raise Damaged("expected a whole number")
    return value


def _exact(numerator: int, denominator: int) -> Exact:
    if denominator == 1:
        return numerator
    if denominator < 1:
        raise Damaged("expected a fraction")
    from fractions import Fraction  # slow to import, and only needed for amounts with cents

    return Fraction(numerator, denominator)
