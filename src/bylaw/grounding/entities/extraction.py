"""Extracting the entities that an answer names: paths, functions, identifiers and literals.

Only regular expressions are used. The text of an entity determines its class (`entity_class_of`),
so rules can pass entities around as plain strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from bylaw.grounding.entities import names, paths
from bylaw.texts import literals
from bylaw.texts.text import Findings, TextSpan, code_in, readable


class EntityClass(StrEnum):
    """A class of entities that an answer can name."""

    FILE_PATH = "file_path"
    FUNCTION_SIGNATURE = "function_signature"
    IDENTIFIER = "identifier"
    NUMBER = "number"
    MONEY = "money"
    DATE = "date"
    ID = "id"
    QUOTED = "quoted"


CODE: Final = (
    EntityClass.FILE_PATH,
    EntityClass.FUNCTION_SIGNATURE,
    EntityClass.IDENTIFIER,
)
"""The classes of the paper's study. The other classes are optional."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that an answer names."""

    kind: EntityClass
    text: str
    """The normalized spelling: a path in its normal form, a function as `name()`."""
    place: TextSpan
    """Its place in the normalized answer."""
    part_of: str | None = None
    """The path that contains it, if the answer does not name it on its own."""


_Finder: TypeAlias = Callable[[str, list[TextSpan]], Findings]

_QUOTED: Final = re.compile(r"“([^“”\n]{3,})”|(?<![\w\\])\"([^\"\n]{3,})\"(?!\w)")


def _quotations(text: str) -> Findings:
    for found in _QUOTED.finditer(text):
        inner = found[1] or found[2]
        if re.search(r"[^\W\d]{2}", inner):
            yield TextSpan(*found.span(), found[0]), f'"{inner.strip()}"'


def _as_written(found: Iterator[tuple[TextSpan, object]]) -> Findings:
    return ((span, span.text) for span, _ in found)


_FINDERS: Final[tuple[tuple[EntityClass, _Finder], ...]] = (
    (EntityClass.FILE_PATH, lambda text, _: paths.addresses(text)),
    (EntityClass.FILE_PATH, lambda text, _: paths.files(text)),
    (EntityClass.QUOTED, lambda text, _: _quotations(text)),
    (EntityClass.MONEY, lambda text, _: _as_written(literals.amounts(text))),
    (EntityClass.DATE, lambda text, _: _as_written(literals.dates(text))),
    (EntityClass.ID, lambda text, _: _as_written(literals.ids(text))),
    (EntityClass.NUMBER, lambda text, _: _as_written(literals.numbers(text))),
    (EntityClass.FUNCTION_SIGNATURE, lambda text, _: names.calls(text)),
    (EntityClass.FILE_PATH, paths.folders),
    (EntityClass.IDENTIFIER, names.identifiers),
)
"""The finders in order. Text that one of them has consumed is hidden from the next."""
_CONSUMED: Final = "\0"
"""The character that replaces consumed text."""
_ALWAYS: Final = (EntityClass.FILE_PATH, EntityClass.FUNCTION_SIGNATURE)
"""Always searched for, so that no part of them is mistaken for another entity."""


def mentions_of(answer: str, classes: Collection[EntityClass] = CODE) -> list[Entity]:
    """Every mention of an entity in an answer, in order, without the parts of paths."""
    text = readable(answer)
    code = code_in(text)
    found: list[Entity] = []
    for kind, finder in _FINDERS:
        if kind not in classes and kind not in _ALWAYS:
            continue
        taken: list[TextSpan] = []
        for span, name in finder(text, code):
            if _CONSUMED in text[span.start : span.end]:
                continue
            taken.append(span)
            if name is not None and kind in classes:
                found.append(Entity(kind, name, span))
        if kind is not EntityClass.QUOTED:  # quoted text may contain other entities
            text = _without(text, taken)
    return sorted(found, key=lambda entity: entity.place.start)


def _without(text: str, taken: list[TextSpan]) -> str:
    """The text with some spans blanked out, so that no match can touch them."""
    kept, end = [], 0
    for span in sorted(taken, key=lambda each: each.start):
        kept += [text[end : span.start], _CONSUMED * (span.end - max(end, span.start))]
        end = max(end, span.end)
    return "".join((*kept, text[end:]))


def entities_in(mentions: Iterable[Entity]) -> list[Entity]:
    """The distinct entities in some mentions; the parts of paths come last."""
    named = list(mentions)
    first: dict[str, Entity] = {}
    for entity in (*named, *_parts(named)):
        first.setdefault(entity.text, entity)
    return list(first.values())


def _parts(mentions: Iterable[Entity]) -> Iterator[Entity]:
    for entity in mentions:
        if entity.kind is EntityClass.FILE_PATH:
            for part in paths.parts_of(entity.text):
                file = paths.names_file(part)
                kind = EntityClass.FILE_PATH if file else EntityClass.IDENTIFIER
                yield Entity(kind, part, entity.place, entity.text)


def entity_class_of(text: str) -> EntityClass:
    """The class of an entity, determined by its text alone."""
    if len(text) > 2 and text.startswith('"') and text.endswith('"'):
        return EntityClass.QUOTED
    if text.endswith("()"):
        return EntityClass.FUNCTION_SIGNATURE
    if "/" in text or paths.names_file(text):
        return EntityClass.DATE if literals.days_of(text) else EntityClass.FILE_PATH
    for kind, reads in _READINGS:
        if reads(text):
            return kind
    return EntityClass.IDENTIFIER


_READINGS: Final[tuple[tuple[EntityClass, Callable[[str], object]], ...]] = (
    (EntityClass.MONEY, literals.Money.of),
    (EntityClass.DATE, literals.days_of),
    (EntityClass.ID, literals.is_id),
    (EntityClass.NUMBER, literals.Number.of),
)
