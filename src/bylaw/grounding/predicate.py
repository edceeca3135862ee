"""The grounding predicate: does an answer speak only of what the tools returned?

As a rule it is ordinary Bylaw: `forall e in entities(answer): grounded(e)`. The vocabulary here
supplies the words; `Grounding.check` says the same of one trace, with the details.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.grounding.citations import citations_of, is_defined_in
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
    """What counts: as evidence, and as something that an answer can be held to."""

    evidence_tools: Sequence[str] = (READ_FILE,)
    """The tools whose results are evidence; `get_*` and `*` are patterns."""
    classes: Sequence[EntityClass | str] = CODE
    """The kinds of entities that are looked for."""
    prompt_counts: bool = False
    """May the answer also speak of what the user and the system said?"""
    location: bool = False
    """Must `check` also find every symbol defined in the file that the answer places it in?"""

    def check(self, trace: Trace) -> GroundingReport:
        """The verdict on the answer of a trace, and what speaks against it."""
        answer, evidence = trace.answer, self.evidence(trace)
        found = [] if answer is None else self.entities(trace, answer)
        cited = citations_of(answer, places_asked(trace)) if answer and self.location else []
        return report_on(
            answer,
            found,
            [entity for entity in found if not was_seen(entity.text, evidence)],
            [each for each in cited if not is_defined_in(each.symbol, each.file, evidence)],
            evidence,
            refused=answer is not None and is_refusal(answer),
        )

    def evidence(self, trace: Trace) -> Evidence:
        """What the tools returned, as far as it counts."""
        return Evidence.of(trace.events, self.evidence_tools, prompt_counts=self.prompt_counts)

    def entities(
        self, trace: Trace, answer: str, classes: Iterable[EntityClass | str] = ()
    ) -> list[Entity]:
        """What an answer claims to know of; the tools that the trace calls are not among it."""
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
            """What an answer names. An empty answer names the empty text, which nothing grounds."""
            if not answer.strip():
                return [""]
            return [entity.text for entity in self.entities(trace, answer, classes)]

        @vocabulary.predicate
        def grounded(trace: Trace, at: int, metrics: Mapping[str, Json], entity: Json) -> bool:
            """Some result of a tool that counts shows the entity."""
            text = entity if isinstance(entity, str) else write_json(entity)
            return was_seen(text, latest.evidence(trace))

        @vocabulary.extractor
        def citations(trace: Trace, metrics: Mapping[str, Json], answer: str) -> list[Json]:
            """Where an answer places symbols: `{"symbol": …, "file": …}`."""
            found = citations_of(answer, places_asked(trace))
            return [{"symbol": each.symbol, "file": each.file} for each in found]

        @vocabulary.predicate
        def defined_in(
            trace: Trace, at: int, metrics: Mapping[str, Json], symbol: str, file: str
        ) -> bool:
            """What was read of the file defines the symbol."""
            return is_defined_in(symbol, file, latest.evidence(trace))

        @vocabulary.predicate(false_is_final=True)
        def sourced(
            trace: Trace, at: int, metrics: Mapping[str, Json], value: Json, step: int
        ) -> bool:
            """The value stood in the prompt or in a result of any tool before this step."""
            return is_sourced(trace, value, step)

        return vocabulary


class _EvidenceCache:
    """The evidence of the trace that was asked about last: rules ask once for each entity."""

    def __init__(self, grounding: Grounding) -> None:
        self._grounding = grounding
        self._held: tuple[Trace, Evidence] | None = None

    def evidence(self, trace: Trace) -> Evidence:
        held = self._held
        if held is None or held[0] is not trace:
            held = self._held = (trace, self._grounding.evidence(trace))
        return held[1]


def entity_classes(named: Iterable[EntityClass | str]) -> tuple[EntityClass, ...]:
    """The classes of these names."""
    found = []
    for name in named:
        try:
            found.append(EntityClass(name))
        except ValueError:
            message = f"there is no class of entities called '{name}'"
            help = f"The classes are: {', '.join(EntityClass)}."
            raise UsageError(Diagnostic("E402", message, help)) from None
    return tuple(found)
