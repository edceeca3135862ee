"""The verdict on one answer, and what speaks against it."""

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
    """Does an answer speak only of what was seen?"""

    GROUNDED = "grounded"
    UNGROUNDED = "ungrounded"
    VACUOUS = "vacuous"
    """It makes no claim that could be checked: it refuses, or names nothing."""


@dataclass(frozen=True, slots=True)
class GroundingReport:
    """One answer, held against what the tools returned."""

    verdict: GroundingVerdict
    reason: str
    """The verdict in a sentence."""
    entities: tuple[Entity, ...]
    """What the answer names."""
    ungrounded: tuple[Entity, ...]
    """Those that were not seen."""
    misplaced: tuple[Citation, ...]
    """Symbols that are not defined where the answer says; only if places were asked for."""
    evidence: Evidence = field(repr=False)

    @property
    def grounded(self) -> int:
        """How many entities were seen."""
        return len(self.entities) - len(self.ungrounded)

    @property
    def satisfied(self) -> bool:
        """The paper's predicate, yes or no: without any evidence nothing is grounded."""
        return self.verdict is not GroundingVerdict.UNGROUNDED and bool(self.evidence)

    def by_class(self) -> dict[EntityClass, list[Entity]]:
        """What was not seen, by class; the parts of a path that was not seen are left out."""
        missing = {entity.text for entity in self.ungrounded}
        found: dict[EntityClass, list[Entity]] = {}
        for entity in self.ungrounded:
            if entity.part_of not in missing:
                found.setdefault(entity.kind, []).append(entity)
        return found

    def nearest(self, text: str) -> str | None:
        """What was seen that comes nearest to something that was not."""
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
    """The verdict that follows from what was found."""
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
    told = []
    if ungrounded:
        told.append(f"{len(ungrounded)} of {len(entities)} entities were not seen")
    if misplaced:
        told.append(f"{len(misplaced)} not defined where the answer says")
    return f"{'; '.join(told)}."


def nearest(text: str, evidence: Evidence) -> str | None:
    """What was seen that comes nearest to something that was not, if anything does."""
    kind = entity_class_of(text)
    if kind is EntityClass.FILE_PATH:
        called = text.rpartition("/")[2]
        named = sorted(path for path in evidence.paths if path.rpartition("/")[2] == called)
        return named[0] if named else _closest(text, evidence.paths, cutoff=0.85)
    if kind not in (EntityClass.FUNCTION_SIGNATURE, EntityClass.IDENTIFIER, EntityClass.ID):
        return None
    wanted = name_parts(bare_name(text))[-1]
    spelt: dict[str, str] = {}
    for source in evidence.sources:
        for name in re.findall(r"[^\W\d][\w]*", source.text):
            spelt.setdefault(name_key(name), name)
    found = _closest(name_key(wanted), spelt, cutoff=0.6)
    return None if found is None else spelt[found]


def _closest(text: str, seen: Iterable[str], *, cutoff: float) -> str | None:
    """The most similar text; those that share no three characters are not looked at."""
    threes = {text[i : i + 3] for i in range(len(text) - 2)}
    likely = sorted(each for each in seen if any(three in each for three in threes))
    close = difflib.get_close_matches(text, likely, n=1, cutoff=cutoff)
    return close[0] if close else None
