"""Numbers with their units, and amounts of money: read alike in answers and in evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from bylaw.grounding.text import Stretch

_WHOLE: Final = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:_\d+)*)"
_EXPONENT: Final = r"(?:[eE][+-]?\d{1,3}(?!\d))"
"""Not longer: what looks like a larger one is a piece of a hash, and no number can hold it."""
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
"""Not in a name, a version, a time or a date."""
_NUMBER: Final = re.compile(
    rf"{_NOT_INSIDE}(?P<value>-?{_DIGITS})"
    rf"(?:\s?(?P<unit>{_UNIT})(?!\w)|(?!\w))(?![.,:/]\d)(?!-\d+-\d)"
)
_LIST_MARK: Final = re.compile(r"^[ \t]*\d+[.)](?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, and what it counts if that is written beside it."""

    value: Decimal
    unit: str | None

    @classmethod
    def of(cls, text: str) -> Number | None:
        """The number that the whole text is."""
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


def numbers(text: str) -> Iterator[tuple[Stretch, Number]]:
    """The numbers of a text; those that only count the items of a list are left out."""
    marks = {mark.end() - 1 for mark in _LIST_MARK.finditer(text)}
    for found in _NUMBER.finditer(text):
        if found.end() not in marks:
            yield Stretch(*found.span(), found[0]), _number(found)


# ── money ─────────────────────────────────────────────────────────────────────────────────

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
    rf"|(?<![\d.,])(?P<b>{_DIGITS})\s?(?P<behind>{_CURRENCY})(?!\w))"
)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency."""

    amount: Decimal
    currency: str

    @classmethod
    def of(cls, text: str) -> Money | None:
        """The amount that the whole text is."""
        found = _MONEY.fullmatch(text)
        return _money(found) if found else None


def _money(found: re.Match[str]) -> Money:
    mark = found["before"] or found["behind"]
    return Money(_decimal(found["a"] or found["b"]), _CURRENCY_OF[mark])


def amounts(text: str) -> Iterator[tuple[Stretch, Money]]:
    """The amounts of money in a text."""
    for found in _MONEY.finditer(text):
        yield Stretch(*found.span(), found[0]), _money(found)
