"""The verdict on one answer, and its reasons."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bylaw.grounding.citations import Citation
from bylaw.grounding.entities.extraction import Entity, EntityClass, entity_class_of
from bylaw.grounding.entities.names import bare_name, name_key, name_parts
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.values import Json


class GroundingVerdict(StrEnum):
    """The verdict on an answer."""

    GROUNDED = "grounded"
    UNGROUNDED = "ungrounded"
    VACUOUS = "vacuous"
    """The answer makes no claim that can be checked: it refuses, or names nothing."""


@dataclass(frozen=True, slots=True)
class GroundingReport:
    """One answer, compared with what the tools returned."""

    verdict: GroundingVerdict
    reason: str
    """A sentence that explains the verdict."""
    entities: tuple[Entity, ...]
    """The entities in the answer."""
    ungrounded: tuple[Entity, ...]
    """The entities that the evidence does not show."""
    misplaced: tuple[Citation, ...]
    """Symbols not defined where the answer says; empty unless locations are checked."""
    evidence: Evidence = field(repr=False)

    @property
    def grounded(self) -> int:
        """The number of entities that the evidence shows."""
        return len(self.entities) - len(self.ungrounded)

    @property
    def satisfied(self) -> bool:
        """The paper's predicate. Without any evidence, no answer satisfies it."""
        return self.verdict is not GroundingVerdict.UNGROUNDED and bool(self.evidence)

    def by_class(self) -> dict[EntityClass, list[Entity]]:
        """The ungrounded entities by class, without the parts of ungrounded paths."""
        missing = {entity.text for entity in self.ungrounded}
        found: dict[EntityClass, list[Entity]] = {}
        for entity in self.ungrounded:
            if entity.part_of not in missing:
                found.setdefault(entity.kind, []).append(entity)
        return found

    def nearest(self, text: str) -> str | None:
        """The seen name or path that is most similar to an ungrounded entity, if any is."""
        return nearest(text, self.evidence)

    def to_dict(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "verdict": self.verdict.value,
            "satisfied": self.satisfied,
            "reason": self.reason,
            "entities": len(self.entities),
            "grounded": self.grounded,
            "ungrounded": [
                {"class": kind.value, "text": entity.text, "nearest": self.nearest(entity.text)}
                for kind, entities in self.by_class().items()
                for entity in entities
            ],
            "misplaced": [{"symbol": each.symbol, "file": each.file} for each in self.misplaced],
            "files": sorted(self.evidence.files),
        }


def report_on(
    answer: str | None,
    entities: Sequence[Entity],
    ungrounded: Sequence[Entity],
    misplaced: Sequence[Citation],
    evidence: Evidence,
    *,
    refused: bool,
) -> GroundingReport:
    """The report that follows from these findings."""
    if not answer or not answer.strip():
        verdict, reason = GroundingVerdict.UNGROUNDED, "There is no answer to check."
    elif ungrounded or misplaced:
        verdict = GroundingVerdict.UNGROUNDED
        reason = _against(entities, ungrounded, misplaced, evidence)
    elif entities:
        verdict = GroundingVerdict.GROUNDED
        reason = f"All {len(entities)} entities were seen."
    else:
        verdict = GroundingVerdict.VACUOUS
        reason = "The answer is a refusal." if refused else "The answer names nothing to check."
    return GroundingReport(
        verdict, reason, tuple(entities), tuple(ungrounded), tuple(misplaced), evidence
    )


def _against(
    entities: Sequence[Entity],
    ungrounded: Sequence[Entity],
    misplaced: Sequence[Citation],
    evidence: Evidence,
) -> str:
    if not evidence:
        return "No tool that counts as evidence returned anything."
    parts = []
    if ungrounded:
        parts.append(f"{len(ungrounded)} of {len(entities)} entities were not seen")
    if misplaced:
        parts.append(f"{len(misplaced)} not defined where the answer says")
    return f"{'; '.join(parts)}."


def nearest(text: str, evidence: Evidence) -> str | None:
    """The seen name or path that is most similar to an ungrounded entity, if any is."""
    kind = entity_class_of(text)
    if kind is EntityClass.FILE_PATH:
        called = text.rpartition("/")[2]
        named = sorted(path for path in evidence.paths if path.rpartition("/")[2] == called)
        return named[0] if named else _closest(text, evidence.paths, cutoff=0.85)
    if kind not in (EntityClass.FUNCTION_SIGNATURE, EntityClass.IDENTIFIER, EntityClass.ID):
        return None
    wanted = name_parts(bare_name(text))[-1]
    spellings: dict[str, str] = {}
    for source in evidence.sources:
        for name in re.findall(r"[^\W\d][\w]*", source.text):
            spellings.setdefault(name_key(name), name)
    found = _closest(name_key(wanted), spellings, cutoff=0.6)
    return None if found is None else spellings[found]


def _closest(text: str, seen: Iterable[str], *, cutoff: float) -> str | None:
    """The most similar text among those that share three consecutive characters."""
    threes = {text[i : i + 3] for i in range(len(text) - 2)}
    likely = sorted(each for each in seen if any(three in each for three in threes))
    close = difflib.get_close_matches(text, likely, n=1, cutoff=cutoff)
    return close[0] if close else None
