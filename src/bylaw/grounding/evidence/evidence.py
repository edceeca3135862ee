"""The evidence in a trace: the files that were read, and other tool results."""

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
    """Everything that answers may refer to."""

    def __init__(self, files: dict[str, SourceText], texts: Sequence[SourceText]) -> None:
        self.files = files
        """The files that were read, by path."""
        self.texts = texts
        """Results that do not belong to a file, such as those of a search."""

    @classmethod
    def of(
        cls, events: Iterable[Event], tools: Sequence[str], *, prompt_counts: bool = False
    ) -> Evidence:
        """The evidence in some events: the results of `tools`, which may be patterns (`get_*`).

        With `prompt_counts`, messages of the user and the system are evidence too.
        """
        by_path: dict[str, list[ResultText]] = {}
        texts: list[SourceText] = []
        for event in events:
            if isinstance(event, Call):
                if event.tool in tools or any(fnmatchcase(event.tool, each) for each in tools):
                    for each in result_texts(event):
                        if each.path is None or _is_folder(each.path, each.text):
                            texts.append(indexed_source([each.text], None))
                        else:
                            by_path.setdefault(each.path, []).append(each)
            elif prompt_counts and is_prompt(event):
                texts.append(indexed_source([event.text], None))
        return cls({path: indexed_source(_pages(p), path) for path, p in by_path.items()}, texts)

    def __bool__(self) -> bool:
        """True if there is any evidence."""
        return bool(self.files or self.texts)

    @cached_property
    def sources(self) -> list[SourceText]:
        """All files and other texts."""
        return [*self.files.values(), *self.texts]

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that were read, and those mentioned in results that are not files."""
        return frozenset(self.files).union(*(text.paths for text in self.texts))

    @cached_property
    def parts(self) -> frozenset[str]:
        """Those paths, with their folders and file names."""
        return frozenset(part for path in self.paths for part in (path, *parts_of(path)))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The folders and file names without extensions, as names."""
        return frozenset(name_key(stem_of(part)) for part in self.parts if "/" not in part)

    @cached_property
    def modules(self) -> list[tuple[tuple[str, ...], SourceText]]:
        """The files with the module names under which they are imported."""
        return [(module_of(path), source) for path, source in self.files.items()]


def _is_folder(path: str, text: str) -> bool:
    """True if the path is the folder that was searched, not the file that was returned."""
    return path in ("", ".") or (not names_file(path) and f"{path}/" in text)


def is_prompt(event: Event) -> bool:
    """True for a message to the agent."""
    return isinstance(event, Message) and event.role != "assistant"


def _pages(texts: list[ResultText]) -> list[str]:
    """The distinct pages of a file, in order of position if all positions are known.

    A line break separates pages that cannot be adjacent, because the text between them is unread.
    """
    if all(each.start is not None for each in texts):
        texts = sorted(texts, key=lambda each: each.start.at if each.start else 0)
    once: dict[str, PageStart | None] = {}
    for each in texts:
        once.setdefault(each.text, each.start)
    pages: list[str] = []
    last: PageStart | None = None
    for text, place in once.items():
        if pages and last and place and not last.reaches(pages[-1], place):
            pages.append("\n")
        pages.append(text)
        last = place
    return pages
