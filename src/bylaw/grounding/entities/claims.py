"""Telling the claims of an answer from names that it only repeats from the question.

An answer such as "I could not find `print_progress`" names a symbol only to deny having seen it.
Names from the question are therefore not claims in a sentence that denies something, nor where a
denying answer repeats the question. Everywhere else they are: the question is not evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from bylaw.grounding.entities.extraction import Entity, EntityClass, mentions_of
from bylaw.grounding.entities.names import bare_name, name_key, name_parts
from bylaw.texts.text import readable, sentences
from bylaw.trace.event import Message
from bylaw.trace.trace import Trace

REFUSAL: Final = "I don't know - not found in the source I read."
"""The sentence that declines to answer, as prescribed by the paper's study."""

_NAMES: Final = (EntityClass.FUNCTION_SIGNATURE, EntityClass.IDENTIFIER)
_DENIAL: Final = re.compile(
    r"\b(?:could|can|did|was|were|am|is|are|do|does)(?:\s*not|n['’]t)\s+(?:\w+\s+){0,3}"
    r"(?:find|found|locate|located|see|seen|identify|identified|know|exist|appear|occur|present|"
    r"defined|there)\b"
    r"|\b(?:unable|failed)\s+to\s+(?:find|locate|see|identify)\b"
    r"|\bnot\s+(?:found|present|defined|seen)\b"
    r"|\bno\s+(?:\w+\s+){0,3}(?:named|called|definition|mention|trace|sign)\b"
    r"|\bthere\s+is\s+no\b",
    re.IGNORECASE,
)
_KIND: Final = r"(?:function|class|method|symbol|constant|variable|type|macro)"
_NAMED: Final = re.compile(rf"\b{_KIND}\s+(?P<name>[^\W\d]\w*)", re.IGNORECASE)
_PLACE_ASKED: Final = re.compile(
    rf"\b(?:where|which\s+file)\s+(?:is|are)\s+(?:the\s+)?(?:{_KIND}\s+)?"
    r"`?(?P<name>[^\W\d][\w.]*)(?:\(\))?`?\s+(?:defined|declared|implemented|located)\b",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"\?[\W_]*$")
_MARKS: Final = re.compile(r"[\W_]+")


def is_refusal(answer: str) -> bool:
    """True if the answer is the refusal and nothing else, ignoring punctuation and case."""
    return _plain(answer) == _plain(REFUSAL)


def _plain(text: str) -> str:
    return _MARKS.sub("", text).casefold()


def denies(sentence: str) -> bool:
    """True if the sentence says that something was not found."""
    return _DENIAL.search(sentence) is not None


def names_asked(trace: Trace) -> frozenset[str]:
    """Every name in the user's messages, ignoring case."""
    found: list[str] = []
    for text in _asked(trace):
        found += (bare_name(mention.text) for mention in mentions_of(text, _NAMES))
        found += (match["name"] for match in _NAMED.finditer(text))
    return frozenset(name_key(name_parts(name)[-1]) for name in (*found, *places_asked(trace)))


def places_asked(trace: Trace) -> list[str]:
    """The symbols whose location the user asked for: "where is the class `Session` defined?"."""
    return [match["name"] for text in _asked(trace) for match in _PLACE_ASKED.finditer(text)]


def _asked(trace: Trace) -> list[str]:
    said = (event for event in trace.events if isinstance(event, Message))
    return [message.text for message in said if message.role == "user"]


def claims(answer: str, mentions: Iterable[Entity], asked: frozenset[str]) -> list[Entity]:
    """The mentions in an answer that are claims."""
    text = readable(answer)
    if not asked or not denies(text):
        return list(mentions)
    quiet = [s for s in sentences(text) if denies(s.text) or _QUESTION.search(s.text)]
    return [
        mention
        for mention in mentions
        if mention.kind not in _NAMES
        or name_key(name_parts(bare_name(mention.text))[-1]) not in asked
        or not any(mention.place.overlaps(sentence) for sentence in quiet)
    ]
