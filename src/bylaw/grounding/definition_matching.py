"""The paper's rule: a name must be defined in what was read; a mere occurrence does not count.

A path, and each folder in it, must belong to a file that was read. A function matches a definition
in full, an identifier also as a prefix, ignoring case. Other entities are matched as usual.
"""

from __future__ import annotations

from bylaw.grounding.entities.extraction import EntityClass, entity_class_of
from bylaw.grounding.entities.names import bare_name, name_key, name_parts
from bylaw.grounding.entities.paths import normalized_path
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.matching import was_seen


def was_defined(text: str, evidence: Evidence) -> bool:
    """True if the evidence defines the name, or is the file with this path."""
    if not text:
        return False
    if text in evidence.parts:
        return True
    match entity_class_of(text):
        case EntityClass.FILE_PATH:
            return normalized_path(text) in evidence.parts
        case EntityClass.FUNCTION_SIGNATURE:
            name = _dotted(bare_name(text))
            return any(name in source.definitions for source in evidence.sources)
        case EntityClass.IDENTIFIER:
            name = _dotted(text)
            defined = (each for source in evidence.sources for each in source.definitions.names)
            return any(each.startswith(name) for each in defined)
        case _:
            return was_seen(text, evidence)


def _dotted(name: str) -> str:
    return ".".join(name_key(part) for part in name_parts(name))
