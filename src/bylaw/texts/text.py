"""Text as a reader sees it: one normal form, no invisible characters, no escapes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_DIGIT_SPACES: Final = re.compile("(?<=\\d)[\u00a0\u2007\u2009\u202f](?=\\d{3})")
_WORDS: Final = re.compile(r"[^\W\d]\w*")
_ESCAPED: Final = re.compile(r"(?<=\w)\\(?=[_*])")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"'”’)\]*_`]*\s+|\n+")
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.M)
_SPAN: Final = re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)|<code>(.+?)</code>")


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of a text and its position."""

    start: int
    end: int
    text: str

    def overlaps(self, other: TextSpan) -> bool:
        """True if the two share a character."""
        return self.start < other.end and other.start < self.end


Findings: TypeAlias = Iterator[tuple[TextSpan, str | None]]
"""Spans with the entities found there; None marks a span that looks like one but is not."""


def normalized(text: str) -> str:
    """The text without invisible characters, and with words in NFKC, as Python compares names.

    Only words are converted: a superscript 2 after a number must not become one of its digits.
    """
    if text.isascii():
        return text
    text = _DIGIT_SPACES.sub("", _INVISIBLE.sub("", text))
    if unicodedata.is_normalized("NFKC", text):
        return text
    text = unicodedata.normalize("NFC", text)
    return _WORDS.sub(lambda word: unicodedata.normalize("NFKC", word[0]), text)


def readable(answer: str) -> str:
    """The normalized answer, without the backslashes that escape Markdown emphasis."""
    return _ESCAPED.sub("", normalized(answer))


def sentences(text: str) -> Iterator[TextSpan]:
    """The sentences of a text. A line break also ends a sentence."""
    start = 0
    for gap in _SENTENCE_END.finditer(text):
        yield TextSpan(start, gap.start(), text[start : gap.start()])
        start = gap.end()
    yield TextSpan(start, len(text), text[start:])


def code_in(text: str) -> list[TextSpan]:
    """The spans set as code: fenced blocks, and text between backticks."""
    blocks = [TextSpan(*block.span(2), block[2]) for block in _FENCE.finditer(text)]
    spans = []
    for span in _SPAN.finditer(text):
        group = 2 if span[2] is not None else 3
        found = TextSpan(*span.span(group), span[group])
        if not any(found.overlaps(block) for block in blocks):
            spans.append(found)
    return [*blocks, *spans]
