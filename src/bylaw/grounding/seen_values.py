"""Was a value seen: a number, an amount, a date, an id, a quotation?"""

from __future__ import annotations

import re
from typing import Final

from bylaw.grounding.dates import days_of
from bylaw.grounding.evidence import Evidence
from bylaw.grounding.ids import id_key
from bylaw.grounding.numbers import Money, Number
from bylaw.grounding.source import as_words

_LEFT_OUT: Final = re.compile(r"\s*\[?(?:…|\.\.\.)\]?\s*")


def number_seen(text: str, evidence: Evidence) -> bool:
    """Is it a seen number, with no other unit?"""
    number = Number.of(text)
    if number is None:
        return False
    for source in evidence.sources:
        units = source.numbers.get(number.value, set())
        if units and (number.unit is None or number.unit in units or None in units):
            return True
    return number.unit is None and any(
        number.value == amount.amount for source in evidence.sources for amount in source.amounts
    )


def money_seen(text: str, evidence: Evidence) -> bool:
    """Is it a seen amount, or a seen number of which the currency is not said?"""
    money = Money.of(text)
    if money is None:
        return False
    return any(
        money in source.amounts or None in source.numbers.get(money.amount, set())
        for source in evidence.sources
    )


def date_seen(text: str, evidence: Evidence) -> bool:
    """Can it be a seen day?"""
    meant = days_of(text)
    return any(day.may_be(seen) for s in evidence.sources for seen in s.days for day in meant)


def id_seen(text: str, evidence: Evidence) -> bool:
    """Is it a seen id, whole?"""
    return any(source.writes(id_key(text), joined_by="_-") for source in evidence.sources)


def quotation_seen(text: str, evidence: Evidence) -> bool:
    """Word for word; where something is left out, what is left stands in that order."""
    left = [part for part in _LEFT_OUT.split(as_words(text[1:-1]).strip(" .,;:")) if part]
    return any(_in_order(left, source.words) for source in evidence.sources)


def _in_order(parts: list[str], text: str) -> bool:
    start = 0
    for part in parts:
        found = text.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True
