"""Citations: the files in which an answer locates symbols, and whether they define them.

A sentence locates a symbol in a file if the file follows it after a word of place ("in", "at",
"from", a colon), or precedes it before a verb of containment ("defines", "contains"). An answer
that is only a path locates the symbol that the question asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bylaw.grounding.entities.claims import denies
from bylaw.grounding.entities.extraction import CODE, Entity, EntityClass, mentions_of
from bylaw.grounding.entities.names import bare_name, name_key, name_parts
from bylaw.grounding.entities.paths import module_of, names_file, normalized_path
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.evidence.source import SourceText
from bylaw.texts.text import readable, sentences

_PLACE: Final = re.compile(r"\b(?:in|at|from|inside|within|under|is)\b|[:@(–—-]", re.IGNORECASE)
_HOLDS: Final = re.compile(
    r"\b(?:defines?|declares?|contains?|implements?|provides?|holds?|has|have|houses?)\b|::|:\s*`?$",
    re.IGNORECASE,
)
_USES: Final = re.compile(
    r"\b(?:uses?|using|imports?|imported|calls?|called|inherits?|extends?|wraps?|raises?|returns?|"
    r"takes?|accepts?|re-?exports?|subclass(?:es)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A symbol, and the file in which an answer locates it."""

    symbol: str
    file: str

    def __str__(self) -> str:
        return f"{self.symbol} in {self.file}"


def citations_of(answer: str, asked: list[str]) -> list[Citation]:
    """The distinct citations in an answer.

    `asked` are the symbols whose location the question asked for.
    """
    found = mentions_of(answer, CODE)
    text = readable(answer)
    files = [each for each in found if _is_file(each)]
    symbols = [each for each in found if each.kind is not EntityClass.FILE_PATH]
    pairs = list(dict.fromkeys(_pairs(text, files, symbols)))
    if not pairs and not symbols and len(files) == 1:
        pairs = [Citation(symbol, files[0].text) for symbol in asked]
    return pairs


def _is_file(entity: Entity) -> bool:
    return entity.kind is EntityClass.FILE_PATH and names_file(entity.text)


def _pairs(text: str, files: list[Entity], symbols: list[Entity]) -> Iterator[Citation]:
    for sentence in sentences(text):
        if denies(sentence.text):
            continue  # it says where a symbol is not
        inside = [each for each in (*files, *symbols) if each.place.overlaps(sentence)]
        inside.sort(key=lambda entity: entity.place.start)
        for number, entity in enumerate(inside):
            if entity.kind is not EntityClass.FILE_PATH:
                file = _file_of(text, inside, number)
                if file is not None:
                    yield Citation(entity.text, file.text)


def _file_of(text: str, inside: list[Entity], number: int) -> Entity | None:
    """The file in which a sentence locates its n-th entity, if it does."""
    here = inside[number].place
    after = next((e for e in inside[number + 1 :] if _is_file(e)), None)
    if after is not None:
        between = text[here.end : after.place.start]
        if _PLACE.search(between) and not _USES.search(between):
            return after
    before = next((e for e in reversed(inside[:number]) if _is_file(e)), None)
    if before is not None:
        between = text[before.place.end : here.start]
        if _HOLDS.search(between) and not _USES.search(between):
            return before
    return None


def is_defined_in(symbol: str, file: str, evidence: Evidence) -> bool:
    """True if the part of the file that was read defines the symbol.

    A file name without folders stands for any file with that name.
    """
    path = normalized_path(file)
    wanted = [name_key(part) for part in name_parts(bare_name(symbol))]
    meant = [each for each in evidence.files if path in (each, each.rpartition("/")[2])]
    return any(_defines(evidence.files[each], module_of(each), wanted) for each in meant)


def _defines(source: SourceText, module: tuple[str, ...], parts: list[str]) -> bool:
    *around, name = parts
    if name not in source.names:
        return False
    if not around or around[-1:] == list(module[-1:]):
        return name in source.definitions
    return source.definitions.has_member(around[-1], name)
