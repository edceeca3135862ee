"""Regions of files: lines and columns of rules and of records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bylaw.errors import Span, SpecError
from bylaw.procedure.document import Located, read_document_file
from bylaw.procedure.procedure import Procedure


class Region(NamedTuple):
    """A stretch of a file. Lines and columns count from 1, in characters; the end is excluded."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class LineIndex:
    """A text whose offsets can be turned into lines and columns. Its first line has a number."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self._first_line = first_line

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *_after_breaks(self.text)]

    def region(self, span: Span) -> Region:
        """The region of a stretch of the text."""
        return Region(*self._at(span.start), *self._at(span.end))

    def _at(self, offset: int) -> tuple[int, int]:
        number = bisect_right(self._starts, offset) - 1
        return number + self._first_line, offset - self._starts[number] + 1


def _after_breaks(text: str) -> Iterator[int]:
    at = text.find("\n")
    while at >= 0:
        yield at + 1
        at = text.find("\n", at + 1)


def rule_regions(path: str, procedure: Procedure) -> dict[str, Region]:
    """The region of each rule's text in the procedure's file, by the name of the constraint."""
    try:
        text, document = read_document_file(Path(path))
        listed: list[Located] = document.value["constraints"].value
        rules = [each.value["rule"].span for each in listed]
    except (SpecError, KeyError, TypeError, AttributeError):  # changed since it was loaded
        return {}
    if len(rules) != len(procedure.constraints):
        return {}
    lines = LineIndex(text)
    names = [constraint.name for constraint in procedure.constraints]
    return {name: lines.region(span) for name, span in zip(names, rules, strict=True)}
