"""Deciding whether the evidence shows an entity: one matcher for each class."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bylaw.grounding.entities.extraction import EntityClass, entity_class_of
from bylaw.grounding.entities.names import name_key
from bylaw.grounding.entities.paths import is_address, names_file, normalized_path, stem_of
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.evidence.source import as_words
from bylaw.grounding.name_matching import function_seen, identifier_seen
from bylaw.texts.literals import Money, Number, days_of, id_key

_ELLIPSIS: Final = re.compile(r"\s*\[?(?:…|\.\.\.)\]?\s*")


def was_seen(text: str, evidence: Evidence) -> bool:
    """True if the evidence shows the entity. The empty text is never shown."""
    if not text:
        return False
    return text in evidence.parts or _MATCHERS[entity_class_of(text)](text, evidence)


def _path_seen(text: str, evidence: Evidence) -> bool:
    """Matches a file that was read, a folder above one, or a module without its extension."""
    path = normalized_path(text)
    if path in evidence.parts:
        return True
    if is_address(path) or names_file(path):
        return False
    folder = f"{path}/"
    for seen in evidence.paths:
        if seen.startswith(folder) or stem_of(seen) == path:
            return True
    return any(source.writes(name_key(path), joined_by="_-") for source in evidence.sources)


def _number_seen(text: str, evidence: Evidence) -> bool:
    """Matches an equal number, unless the two have different units."""
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


def _money_seen(text: str, evidence: Evidence) -> bool:
    """Matches an equal amount, or an equal number without a unit."""
    money = Money.of(text)
    if money is None:
        return False
    return any(
        money in source.amounts or None in source.numbers.get(money.amount, set())
        for source in evidence.sources
    )


def _date_seen(text: str, evidence: Evidence) -> bool:
    """Matches any date that may be the same day."""
    meant = days_of(text)
    return any(day.may_be(seen) for s in evidence.sources for seen in s.days for day in meant)


def _id_seen(text: str, evidence: Evidence) -> bool:
    """Matches the whole id, not a part of a longer one."""
    return any(source.writes(id_key(text), joined_by="_-") for source in evidence.sources)


def _quotation_seen(text: str, evidence: Evidence) -> bool:
    """Matches word for word; the parts around an ellipsis must occur in the same order."""
    parts = [part for part in _ELLIPSIS.split(as_words(text[1:-1]).strip(" .,;:")) if part]
    return any(_in_order(parts, source.words) for source in evidence.sources)


def _in_order(parts: list[str], text: str) -> bool:
    start = 0
    for part in parts:
        found = text.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True


_MATCHERS: Final[dict[EntityClass, Callable[[str, Evidence], bool]]] = {
    EntityClass.FILE_PATH: _path_seen,
    EntityClass.FUNCTION_SIGNATURE: function_seen,
    EntityClass.IDENTIFIER: identifier_seen,
    EntityClass.NUMBER: _number_seen,
    EntityClass.MONEY: _money_seen,
    EntityClass.DATE: _date_seen,
    EntityClass.ID: _id_seen,
    EntityClass.QUOTED: _quotation_seen,
}
