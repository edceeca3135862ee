"""The occurrence of a value in another: what `mentions` and `from` mean.

A value is compared by its leaves: the texts and numbers in it, at any depth. A text occurs in
another as a whole, never inside a longer word, number, address or id: "ann@x.org" does not occur
in "joann@x.org", nor 12 in "A-12". A number and a date may be written in another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Final

from bylaw.texts.literals import Day, Money, Number, amounts, dates, days_of, numbers
from bylaw.texts.text import normalized
from bylaw.values import (
    Json,
    JsonError,
    is_list,
    is_number,
    is_object,
    is_text,
    read_json,
    write_json,
)
from bylaw.work import spend_on_text

_WORD: Final = re.compile(r"\w+")
_ESCAPES: Final = re.compile(r"\\\n[ \t]*\\?|\\[nrt]|\\(?=[\"'])")
"""Escapes of quoted strings, as programs print them; YAML breaks long strings with a backslash."""
_SPACE: Final = re.compile(r"\s+")
_WEB: Final = re.compile(r"(?<!\w)https?://(?:www\.)?(?=\w)|(?<![\w.@/-])www\.(?=\w)")
_JOINS_BEFORE: Final = frozenset("./@-+~%&\\")
_JOINS_AFTER: Final = frozenset(".@-+~%&\\")
"""Characters that make one name of the words on both sides. A slash ends a host or a folder."""
_MAX_KEPT: Final = 200_000
"""The longest text whose reading is kept."""
ANY_ANCHOR: Final = ""
"""The anchor of a value that needs no occurrence: every text has it."""


def leaves(value: Json, *, keys: bool = False) -> Iterator[Json]:
    """The values that are neither lists nor objects, at any depth.

    With `keys`, the keys of objects too, because records are often stored under their ids.
    """
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            yield from current if keys else ()
            pending.extend(reversed(list(current.values())))
        elif isinstance(current, list | tuple):
            pending.extend(reversed(current))
        else:
            yield current


def needs_source(leaf: Json) -> bool:
    """Can a leaf carry something in from elsewhere? Booleans, null and empty texts cannot."""
    return is_number(leaf) or (is_text(leaf) and _WORD.search(leaf) is not None)


def mentions(whole: Json, part: Json) -> bool:
    """True if every leaf of the part that needs a source occurs in the whole."""
    wanted = [leaf for leaf in leaves(part) if needs_source(leaf)]
    if not wanted:
        return True
    readings = _readings(whole)
    return all(any(reading.has(leaf) for reading in readings) for leaf in wanted)


def anchors_of(whole: Json) -> list[str]:
    """Labels of all that occurs in a value: an index of texts by what they mention."""
    found = dict.fromkeys([ANY_ANCHOR])
    for reading in _readings(whole):
        found.update(dict.fromkeys(reading.anchors))
    return list(found)


def anchors_for(part: Json) -> tuple[str, ...]:
    """Labels, one of which every value that mentions the part has."""
    leaf = next(filter(needs_source, leaves(part)), None)
    if leaf is None:
        return (ANY_ANCHOR,)
    text = _written(leaf)
    found = [max(_WORD.findall(_plain(text)), key=len, default=ANY_ANCHOR)]
    value = _as_number(text)
    found += [] if value is None else [_of_number(value)]
    found += map(_of_day, days_of(text.strip()))
    return tuple(found)


def _readings(whole: Json) -> list[_ReadText]:
    """The texts and numbers of a value, read. A text that encodes an array or object is one."""
    if is_text(whole):
        spend_on_text(whole)
        inside = _encoded(whole)
        if inside is None:
            return [_read(whole)]
        whole = inside
    found = leaves(whole, keys=True)
    return [_read(_written(leaf)) for leaf in found if needs_source(leaf)]


def _encoded(text: str) -> Json:
    """The array or object that a text encodes; None if it encodes none."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = read_json(text)
    except JsonError:
        return None
    return value if is_list(value) or is_object(value) else None


def _read(text: str) -> _ReadText:
    return _kept_reading(text) if len(text) <= _MAX_KEPT else _ReadText(text)


class _ReadText:
    """A text in the form in which it is searched."""

    def __init__(self, text: str) -> None:
        self._text: Final = normalized(text)
        self._searched: Final = _plain(text)

    @cached_property
    def _numbers(self) -> frozenset[Decimal]:
        text = self._text
        written = [(span, number.value) for span, number in numbers(text)]
        written += [(span, money.amount) for span, money in amounts(text)]
        return frozenset(
            value
            for span, value in written
            if not _joined(text[max(0, span.start - 2) : span.start][::-1], _JOINS_BEFORE)
        )

    @cached_property
    def _days(self) -> frozenset[Day]:
        return frozenset(day for _, days in dates(self._text) for day in days)

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The words, numbers and days in the text."""
        words = _WORD.findall(self._searched)
        return frozenset([*words, *map(_of_number, self._numbers), *map(_of_day, self._days)])

    def has(self, leaf: Json) -> bool:
        """True if the leaf occurs in the text."""
        text = _written(leaf)
        value = _as_number(text)
        if value is not None and value in self._numbers:
            return True
        if any(day.may_be(seen) for day in days_of(text.strip()) for seen in self._days):
            return True
        return _occurs(_plain(text), self._searched)


_kept_reading: Final = lru_cache(maxsize=512)(_ReadText)


@lru_cache(maxsize=512)
def _plain(text: str) -> str:
    """The text without what people ignore: case, spacing, escapes, the scheme of an address."""
    text = _ESCAPES.sub(lambda found: " " if found[0][-1] in "nrt" else "", normalized(text))
    text = _WEB.sub("", text.casefold().replace("&amp;", "&"))
    return _SPACE.sub(" ", text).strip().removeprefix("#").rstrip("/")


def _occurs(part: str, text: str) -> bool:
    """True if the part is in the text and joined to nothing before or after it."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        if not (_joined(before[::-1], _JOINS_BEFORE) or _joined(after, _JOINS_AFTER)):
            return True
        start = text.find(part, start + 1)
    return False


def _joined(outward: str, joins: frozenset[str]) -> bool:
    """Is the text next to a part, read away from it, one name with it?"""
    if not outward:
        return False
    if _is_word(outward[0]):
        return True
    return outward[0] in joins and len(outward) > 1 and _is_word(outward[1])


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _as_number(text: str) -> Decimal | None:
    """The number or the amount of money that the whole text is."""
    text = normalized(text.strip())
    found = Number.of(text)
    if found is not None:
        return found.value if found.unit is None else None
    money = Money.of(text)
    return None if money is None else money.amount


def _written(leaf: Json) -> str:
    return leaf if is_text(leaf) else write_json(leaf)


def _of_number(value: Decimal) -> str:
    return f"={hash(value)}"


def _of_day(day: Day) -> str:
    return f"@{day.month}-{day.day}"
