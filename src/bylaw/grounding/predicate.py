"""The grounding predicate: does an answer name only things that the tools returned?

As a rule it reads `forall e in entities(answer): grounded(e)`. The vocabulary here supplies these
names; `Grounding.check` gives the same verdict on one trace, with details.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.grounding.citations import citations_of, is_defined_in
from bylaw.grounding.definition_matching import was_defined
from bylaw.grounding.entities.claims import claims, is_refusal, names_asked, places_asked
from bylaw.grounding.entities.extraction import CODE, Entity, EntityClass, entities_in, mentions_of
from bylaw.grounding.entities.names import bare_name
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.matching import was_seen
from bylaw.grounding.provenance import is_sourced
from bylaw.grounding.report import GroundingReport, report_on
from bylaw.trace.trace import Trace
from bylaw.values import Json, write_json
from bylaw.vocabulary.registry import Vocabulary

READ_FILE: Final = "read_file"


@dataclass(frozen=True, slots=True)
class Grounding:
    """Settings: the tools whose results are evidence, and the entities that are checked."""

    evidence_tools: Sequence[str] = (READ_FILE,)
    """The tools whose results are evidence; `get_*` and `*` are patterns."""
    classes: Sequence[EntityClass | str] = CODE
    """The classes of entities that are checked."""
    prompt_counts: bool = False
    """If true, messages of the user and the system are evidence too."""
    location: bool = False
    """If true, `check` also requires every symbol to be defined in the file named for it."""
    definitions_only: bool = False
    """If true, names must be defined in the evidence, as in the paper; else they may just occur."""

    def check(self, trace: Trace) -> GroundingReport:
        """The verdict on the answer of a trace, and its reasons."""
        answer, evidence = trace.answer, self.evidence(trace)
        found = [] if answer is None else self.entities(trace, answer)
        cited = citations_of(answer, places_asked(trace)) if answer and self.location else []
        return report_on(
            answer,
            found,
            [entity for entity in found if not self.shows(evidence, entity.text)],
            [each for each in cited if not is_defined_in(each.symbol, each.file, evidence)],
            evidence,
            refused=answer is not None and is_refusal(answer),
        )

    def evidence(self, trace: Trace) -> Evidence:
        """The evidence in a trace."""
        return Evidence.of(trace.events, self.evidence_tools, prompt_counts=self.prompt_counts)

    def shows(self, evidence: Evidence, entity: str) -> bool:
        """True if the evidence shows the entity."""
        return (was_defined if self.definitions_only else was_seen)(entity, evidence)

    def entities(
        self, trace: Trace, answer: str, classes: Iterable[EntityClass | str] = ()
    ) -> list[Entity]:
        """The entities that an answer claims to know, except the tools called in the trace."""
        if is_refusal(answer):
            return []
        wanted = entity_classes(tuple(classes) or self.classes)
        used = {call.tool for call in trace.calls}
        mentions = [
            each for each in mentions_of(answer, wanted) if bare_name(each.text) not in used
        ]
        return entities_in(claims(answer, mentions, names_asked(trace)))

    def vocabulary(self) -> Vocabulary:
        """A new vocabulary with `entities`, `grounded`, `citations`, `defined_in` and `sourced`."""
        vocabulary = Vocabulary()
        latest = _EvidenceCache(self)

        @vocabulary.extractor
        def entities(
            trace: Trace, metrics: Mapping[str, Json], answer: str, *classes: str
        ) -> list[str]:
            """The entities in an answer. An empty answer gives the empty text: never grounded."""
            if not answer.strip():
                return [""]
            return [entity.text for entity in self.entities(trace, answer, classes)]

        @vocabulary.predicate
        def grounded(trace: Trace, at: int, metrics: Mapping[str, Json], entity: Json) -> bool:
            """The evidence shows the entity."""
            text = entity if isinstance(entity, str) else write_json(entity)
            return self.shows(latest.evidence(trace), text)

        @vocabulary.extractor
        def citations(trace: Trace, metrics: Mapping[str, Json], answer: str) -> list[Json]:
            """The locations that an answer gives for symbols: `{"symbol": …, "file": …}`."""
            found = citations_of(answer, places_asked(trace))
            return [{"symbol": each.symbol, "file": each.file} for each in found]

        @vocabulary.predicate
        def defined_in(
            trace: Trace, at: int, metrics: Mapping[str, Json], symbol: str, file: str
        ) -> bool:
            """The part of the file that was read defines the symbol."""
            return is_defined_in(symbol, file, latest.evidence(trace))

        @vocabulary.predicate(false_is_final=True)
        def sourced(
            trace: Trace, at: int, metrics: Mapping[str, Json], value: Json, step: int
        ) -> bool:
            """The value occurs in the prompt or in a tool result before this step."""
            return is_sourced(trace, value, step)

        return vocabulary


class _EvidenceCache:
    """Keeps the evidence of the latest trace, because rules ask once for each entity."""

    def __init__(self, grounding: Grounding) -> None:
        self._grounding = grounding
        self._held: tuple[Trace, Evidence] | None = None

    def evidence(self, trace: Trace) -> Evidence:
        held = self._held
        if held is None or held[0] is not trace:
            held = self._held = (trace, self._grounding.evidence(trace))
        return held[1]


def entity_classes(named: Iterable[EntityClass | str]) -> tuple[EntityClass, ...]:
    """The entity classes with these names."""
    found = []
    for name in named:
        try:
            found.append(EntityClass(name))
        except ValueError:
            message = f"unknown entity class '{name}'"
            help = f"The classes are: {', '.join(EntityClass)}."
            raise UsageError(Diagnostic("E402", message, help)) from None
    return tuple(found)
