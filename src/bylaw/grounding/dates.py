"""Dates, as people and as records write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bylaw.grounding.text import Stretch

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
"""Every month begins at a multiple of four."""
_MONTH: Final = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    "Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
)
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_DATE: Final = re.compile(
    r"(?<![\w/-])(?:"
    r"(?P<y1>\d{4})-(?P<m1>\d{2})-(?P<d1>\d{2})(?=[T\s]|(?![\w-]))"
    rf"|(?P<m2>{_MONTH})\.?\s+(?P<d2>{_DAY})(?:,?\s+(?P<y2>\d{{4}}))?(?!\w)"
    rf"|(?P<d3>{_DAY})\s+(?:of\s+)?(?P<m3>{_MONTH})\.?(?:,?\s+(?P<y3>\d{{4}}))?(?!\w)"
    r"|(?P<a4>\d{1,2})/(?P<b4>\d{1,2})/(?P<y4>\d{4})(?![\w/])"
    r")"
)


@dataclass(frozen=True, slots=True)
class Day:
    """A day; without a year, that of any year."""

    year: int | None
    month: int
    day: int

    def may_be(self, other: Day) -> bool:
        """Can the two be the same day?"""
        years = {self.year, other.year} - {None}
        return (self.month, self.day) == (other.month, other.day) and len(years) < 2


def days_of(text: str) -> tuple[Day, ...]:
    """The days that the whole text can mean: 3/5/2024 is one in March, or one in May."""
    found = _DATE.fullmatch(text)
    return _days(found) if found else ()


def _days(found: re.Match[str]) -> tuple[Day, ...]:
    if found["y4"]:
        a, b, year = int(found["a4"]), int(found["b4"]), int(found["y4"])
        return tuple(Day(year, month, day) for month, day in {(a, b), (b, a)} if month <= 12)
    if found["y1"]:
        return (Day(int(found["y1"]), int(found["m1"]), int(found["d1"])),)
    forms = ("m2", "d2", "y2") if found["m2"] else ("m3", "d3", "y3")
    month, day, of_year = found.group(*forms)
    number = _MONTHS.index(month[:3].lower()) // 4 + 1
    return (Day(int(of_year) if of_year else None, number, int(day.rstrip("stndrh"))),)


def dates(text: str) -> Iterator[tuple[Stretch, tuple[Day, ...]]]:
    """The dates in a text, each with the days that it can mean."""
    for found in _DATE.finditer(text):
        yield Stretch(*found.span(), found[0]), _days(found)
