"""What the tools returned in a trace, as far as it counts: files that were read, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

from bylaw.grounding.entities.names import name_key
from bylaw.grounding.entities.paths import module_of, names_file, parts_of, stem_of
from bylaw.grounding.evidence.results import PageStart, ResultText, result_texts
from bylaw.grounding.evidence.source import SourceText, indexed_source
from bylaw.trace.event import Call, Event, Message


class Evidence:
    """Everything that answers may speak of."""

    def __init__(self, files: dict[str, SourceText], texts: Sequence[SourceText]) -> None:
        self.files = files
        """The files that were read, by path."""
        self.texts = texts
        """Results that are of no file, such as those of a search."""

    @classmethod
    def of(
        cls, events: Iterable[Event], tools: Sequence[str], *, prompt_counts: bool = False
    ) -> Evidence:
        """The evidence in some events: results of the tools, which may be patterns such as `get_*`.

        With `prompt_counts`, so is what the user and the system said.
        """
        by_path: dict[str, list[ResultText]] = {}
        texts: list[SourceText] = []
        for event in events:
            if isinstance(event, Call):
                if event.tool in tools or any(fnmatchcase(event.tool, each) for each in tools):
                    for piece in result_texts(event):
                        if piece.path is None or _is_folder(piece.path, piece.text):
                            texts.append(indexed_source([piece.text], None))
                        else:
                            by_path.setdefault(piece.path, []).append(piece)
            elif prompt_counts and is_prompt(event):
                texts.append(indexed_source([event.text], None))
        return cls({path: indexed_source(_pages(p), path) for path, p in by_path.items()}, texts)

    def __bool__(self) -> bool:
        """Is there any?"""
        return bool(self.files or self.texts)

    @cached_property
    def sources(self) -> list[SourceText]:
        """Files and texts alike."""
        return [*self.files.values(), *self.texts]

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that were read, and those that a result which is no file mentions."""
        return frozenset(self.files).union(*(text.paths for text in self.texts))

    @cached_property
    def parts(self) -> frozenset[str]:
        """The folders and file names in those paths."""
        return frozenset(part for path in self.paths for part in (path, *parts_of(path)))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The same without extensions and letter case, as names."""
        return frozenset(name_key(stem_of(part)) for part in self.parts if "/" not in part)

    @cached_property
    def modules(self) -> list[tuple[tuple[str, ...], SourceText]]:
        """The files, by the names under which they are imported."""
        return [(module_of(path), source) for path, source in self.files.items()]


def _is_folder(path: str, text: str) -> bool:
    """Is the path where a search began, and not the file that it returned?"""
    return path in ("", ".") or (not names_file(path) and f"{path}/" in text)


def is_prompt(event: Event) -> bool:
    """Is this something that the agent was told?"""
    return isinstance(event, Message) and event.role != "assistant"


def _pages(pieces: list[ResultText]) -> list[str]:
    """The pages of a file, in its order where the places are known, each once.

    Between two that cannot be neighbours stands a line end: nobody has read what is cut off there.
    """
    if all(piece.place is not None for piece in pieces):
        pieces = sorted(pieces, key=lambda piece: piece.place.at if piece.place else 0)
    once: dict[str, PageStart | None] = {}
    for piece in pieces:
        once.setdefault(piece.text, piece.place)
    pages: list[str] = []
    last: PageStart | None = None
    for text, place in once.items():
        if pages and last and place and not last.reaches(pages[-1], place):
            pages.append("\n")
        pages.append(text)
        last = place
    return pages
