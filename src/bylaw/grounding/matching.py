"""Was an entity seen? One answer for each class of entity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bylaw.grounding.entities import EntityClass, reading_of
from bylaw.grounding.evidence import Evidence
from bylaw.grounding.names import key
from bylaw.grounding.paths import is_address, names_file, same_path, stem_of
from bylaw.grounding.seen_names import function_seen, identifier_seen
from bylaw.grounding.seen_values import (
    date_seen,
    id_seen,
    money_seen,
    number_seen,
    quotation_seen,
)


def was_seen(text: str, evidence: Evidence) -> bool:
    """Does the evidence show what the text names? The empty text names nothing."""
    if not text:
        return False
    return text in evidence.parts or _MATCHERS[reading_of(text)](text, evidence)


def _path(text: str, evidence: Evidence) -> bool:
    """A file that was read, or a folder above one; a module may be named without the extension."""
    path = same_path(text)
    if path in evidence.parts:
        return True
    if is_address(path) or names_file(path):
        return False
    folder = f"{path}/"
    for seen in evidence.paths:
        if seen.startswith(folder) or stem_of(seen) == path:
            return True
    return any(source.writes(key(path), joined_by="_-") for source in evidence.sources)


_MATCHERS: Final[dict[EntityClass, Callable[[str, Evidence], bool]]] = {
    EntityClass.FILE_PATH: _path,
    EntityClass.FUNCTION_SIGNATURE: function_seen,
    EntityClass.IDENTIFIER: identifier_seen,
    EntityClass.NUMBER: number_seen,
    EntityClass.MONEY: money_seen,
    EntityClass.DATE: date_seen,
    EntityClass.ID: id_seen,
    EntityClass.QUOTED: quotation_seen,
}
