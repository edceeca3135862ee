"""Literals: numbers with their units, amounts of money, dates and ids.

They are read in the same way in answers and in evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from bylaw.texts.text import TextSpan

_WHOLE: Final = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:_\d+)*)"
_EXPONENT: Final = r"(?:[eE][+-]?\d{1,3}(?!\d))"
"""At most three digits: anything longer is part of a hash, and overflows a number."""
_DIGITS: Final = rf"(?:0[xX][0-9a-fA-F]+|{_WHOLE}(?:\.\d+)?{_EXPONENT}?)"
_UNITS: Final = {
    "ms": "ms millisecond milliseconds msec",
    "us": "us µs microsecond microseconds",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years",
    "byte": "byte bytes B",
    "kB": "kB KB kilobyte kilobytes",
    "MB": "MB megabyte megabytes",
    "GB": "GB gigabyte gigabytes",
    "KiB": "KiB",
    "MiB": "MiB",
    "GiB": "GiB",
    "%": "% percent",
    "mm": "mm",
    "cm": "cm",
    "km": "km kilometres kilometers",
    "kg": "kg",
    "px": "px pixels",
    "Hz": "Hz",
}
_UNIT_OF: Final = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_UNIT: Final = "|".join(sorted(map(re.escape, _UNIT_OF), key=len, reverse=True))
_NOT_INSIDE: Final = r"(?<![\w.#])(?<!\d[,:/])(?<!\d{4}-)(?<!-\d\d-)"
"""Excludes digits inside a name, a version, a time or a date."""
_NUMBER: Final = re.compile(
    rf"{_NOT_INSIDE}(?P<value>-?{_DIGITS})"
    rf"(?:\s?(?P<unit>{_UNIT})(?!\w)|(?!\w))(?![.,:/]\d)(?!-\d+-\d)"
)
_LIST_MARK: Final = re.compile(r"^[ \t]*\d+[.)](?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number and its unit, if one is written."""

    value: Decimal
    unit: str | None

    @classmethod
    def of(cls, text: str) -> Number | None:
        """The number, if the whole text is one."""
        found = _NUMBER.fullmatch(text)
        return _number(found) if found else None


def _number(found: re.Match[str]) -> Number:
    unit = found["unit"]
    return Number(_decimal(found["value"]), _UNIT_OF[unit] if unit else None)


def _decimal(digits: str) -> Decimal:
    plain = digits.replace(",", "").replace("_", "")
    if plain.lstrip("-").lower().startswith("0x"):
        return Decimal(int(plain, 16))
    return Decimal(plain)


def numbers(text: str) -> Iterator[tuple[TextSpan, Number]]:
    """The numbers in a text, except those that number the items of a list."""
    marks = {mark.end() - 1 for mark in _LIST_MARK.finditer(text)}
    for found in _NUMBER.finditer(text):
        if found.end() not in marks:
            yield TextSpan(*found.span(), found[0]), _number(found)


# ── Money ─────────────────────────────────────────────────────────────────────────────────

_CURRENCIES: Final = {
    "USD": "$ US$ USD dollar dollars",
    "EUR": "€ EUR euro euros",
    "GBP": "£ GBP pound pounds",
    "JPY": "¥ JPY yen",
    "INR": "₹ INR rupee rupees",
    "CHF": "CHF francs",
    "CAD": "CA$ C$ CAD",
    "AUD": "A$ AUD",
    "CNY": "CNY RMB yuan",
}
_CURRENCY_OF: Final = {mark: code for code, marks in _CURRENCIES.items() for mark in marks.split()}
_CURRENCY: Final = "|".join(sorted(map(re.escape, _CURRENCY_OF), key=len, reverse=True))
_MONEY: Final = re.compile(
    rf"(?<!\w)(?:(?P<before>{_CURRENCY})\s?(?P<a>{_DIGITS})(?![\w]|[.,]\d)"
    rf"|(?<![\d.,])(?P<b>{_DIGITS})\s?(?P<after>{_CURRENCY})(?!\w))"
)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency."""

    amount: Decimal
    currency: str

    @classmethod
    def of(cls, text: str) -> Money | None:
        """The amount, if the whole text is one."""
        found = _MONEY.fullmatch(text)
        return _money(found) if found else None


def _money(found: re.Match[str]) -> Money:
    mark = found["before"] or found["after"]
    return Money(_decimal(found["a"] or found["b"]), _CURRENCY_OF[mark])


def amounts(text: str) -> Iterator[tuple[TextSpan, Money]]:
    """The amounts of money in a text."""
    for found in _MONEY.finditer(text):
        yield TextSpan(*found.span(), found[0]), _money(found)


_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
"""The position of a month, divided by four, is its index."""
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
    """A day. Without a year, it stands for that day of any year."""

    year: int | None
    month: int
    day: int

    def may_be(self, other: Day) -> bool:
        """True if the two may be the same day."""
        years = {self.year, other.year} - {None}
        return (self.month, self.day) == (other.month, other.day) and len(years) < 2


def days_of(text: str) -> tuple[Day, ...]:
    """The days that the whole text may mean: 3/5/2024 is in March or in May."""
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


def dates(text: str) -> Iterator[tuple[TextSpan, tuple[Day, ...]]]:
    """The dates in a text, each with the days that it may mean."""
    for found in _DATE.finditer(text):
        yield TextSpan(*found.span(), found[0]), _days(found)


_ID: Final = re.compile(
    r"(?<![\w#-])(?:"
    r"\#(?=[A-Za-z-]*\d)\w[\w-]*"
    r"|[A-Za-z]{1,6}\d{3,}"
    r"|(?=[A-Za-z0-9-]*\d[A-Za-z0-9-]*\d[A-Za-z0-9-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+"
    r"|[A-Za-z]\w*_\d{3,}"
    r")(?![\w-])"
)


def ids(text: str) -> Iterator[tuple[TextSpan, str]]:
    """Order numbers, keys and similar ids, without a leading `#`."""
    for found in _ID.finditer(text):
        yield TextSpan(*found.span(), found[0]), id_key(found[0])


def is_id(text: str) -> bool:
    """True if the whole text is an id."""
    return _ID.fullmatch(text) is not None


def id_key(text: str) -> str:
    """The id as it is compared: without a leading `#`, ignoring case."""
    return text.lstrip("#").casefold()
