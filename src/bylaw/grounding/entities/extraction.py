"""What an answer speaks of: the paths, functions, identifiers and values that it names.

Regular expressions only. An entity is told by its text alone: `reading_of` gives the class of any
text that was found, so that a rule can pass entities on as plain strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from bylaw.grounding.entities import literals, names, paths
from bylaw.grounding.entities.text import TextSpan, code_in, readable


class EntityClass(StrEnum):
    """A kind of thing that an answer can name."""

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
"""The classes of the paper's study; the others are options."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that an answer names."""

    kind: EntityClass
    text: str
    """As the answer writes it, tidied: a path in one spelling, a function as `name()`."""
    place: TextSpan
    """Where it stands in the answer, made readable."""
    part_of: str | None = None
    """The path that it is a part of, if the answer does not name it by itself."""


_Findings: TypeAlias = Iterator[tuple[TextSpan, str | None]]
"""What was found and where; None for what only looks like it, and is nothing else either."""
_Finder: TypeAlias = Callable[[str, list[TextSpan]], _Findings]

_QUOTED: Final = re.compile(r"“([^“”\n]{3,})”|(?<![\w\\])\"([^\"\n]{3,})\"(?!\w)")


def _quotations(text: str) -> _Findings:
    for found in _QUOTED.finditer(text):
        inner = found[1] or found[2]
        if re.search(r"[^\W\d]{2}", inner):
            yield TextSpan(*found.span(), found[0]), f'"{inner.strip()}"'


def _as_written(found: Iterator[tuple[TextSpan, object]]) -> _Findings:
    return ((stretch, stretch.text) for stretch, _ in found)


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
"""What is looked for, in order: what one finder has taken, the next does not take apart."""
_TAKEN: Final = "\0"
"""Stands in place of what has been taken."""
_ALWAYS: Final = (EntityClass.FILE_PATH, EntityClass.FUNCTION_SIGNATURE)
"""Found in any case, so that nothing inside them is taken for something else."""


def mentions_of(answer: str, classes: Collection[EntityClass] = CODE) -> list[Entity]:
    """What an answer names, in order, wherever it does. Parts of paths are not among it."""
    text = readable(answer)
    code = code_in(text)
    found: list[Entity] = []
    for kind, finder in _FINDERS:
        if kind not in classes and kind not in _ALWAYS:
            continue
        taken: list[TextSpan] = []
        for stretch, name in finder(text, code):
            if _TAKEN in text[stretch.start : stretch.end]:
                continue
            taken.append(stretch)
            if name is not None and kind in classes:
                found.append(Entity(kind, name, stretch))
        if kind is not EntityClass.QUOTED:  # what is quoted is looked into as well
            text = _without(text, taken)
    return sorted(found, key=lambda entity: entity.place.start)


def _without(text: str, taken: list[TextSpan]) -> str:
    """The text with other stretches struck out, so that nothing is found in them or across them."""
    kept, end = [], 0
    for stretch in sorted(taken, key=lambda each: each.start):
        kept += [text[end : stretch.start], _TAKEN * (stretch.end - max(end, stretch.start))]
        end = max(end, stretch.end)
    return "".join((*kept, text[end:]))


def entities_in(mentions: Iterable[Entity]) -> list[Entity]:
    """The entities behind some mentions, each once; the parts of paths come last."""
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
    """The class that a text belongs to, by its form alone."""
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
