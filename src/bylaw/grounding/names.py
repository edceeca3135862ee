"""Names of code in texts: functions that are named with parentheses, and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bylaw.grounding.plain_names import BLOCKED, PRODUCTS
from bylaw.grounding.text import Stretch

SHORTEST: Final = 3
"""How many characters a name needs to be held to anything."""

_NAME: Final = r"[^\W\d]\w*"
_CHAIN: Final = rf"{_NAME}(?:(?:\.|::|->){_NAME})*"
_CALLED: Final = re.compile(
    rf"(?<![\w\\])(?<!\w\.)(?<!\w::)(?<!\w->)(?P<name>{_CHAIN})\((?!(?:s|es|ies|n)\))"
)
_WRITTEN: Final = re.compile(rf"(?<![\w\\]){_CHAIN}")
_IN_CODE: Final = re.compile(rf"(?P<name>{_CHAIN})[;,:]?")
_DECLARED: Final = re.compile(
    rf"^[ \t]*(?:class|struct|interface|enum|trait|def|fn|func|function)[ \t]+(?P<name>{_NAME})",
    re.MULTILINE,
)
_HUMP: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_LINK: Final = re.compile(r"\.|::|->")
_ITALIC: Final = re.compile(r"_(?!_)(.+?)(?<!_)_")
_OWNER: Final = ("self", "cls", "this")


def calls(text: str) -> Iterator[tuple[Stretch, str | None]]:
    """Functions that are named with parentheses, `Session.send(…)`, as `Session.send()`."""
    for found in _CALLED.finditer(text):
        name = _own(found["name"])
        yield Stretch(*found.span("name"), found[0]), f"{name}()" if _matters(name) else None


def identifiers(text: str, code: list[Stretch]) -> Iterator[tuple[Stretch, str | None]]:
    """Names with an underscore or a hump; any name between backticks, or where it is declared."""
    for span in code:
        found = _IN_CODE.fullmatch(span.text.strip())
        if found is not None:
            yield span, _told(found["name"], code=True)
        for declared in _DECLARED.finditer(span.text):
            start = span.start + declared.start("name")
            name = declared["name"]
            yield Stretch(start, start + len(name), name), _told(name, code=True)
    for found in _WRITTEN.finditer(text):
        if any(map(is_built, links(found[0]))):
            inside = any(span.start <= found.start() < span.end for span in code)
            yield Stretch(*found.span(), found[0]), _told(found[0], code=inside)


def _told(name: str, *, code: bool) -> str | None:
    italic = None if code else _ITALIC.fullmatch(name)
    own = _own(italic[1] if italic else name)
    return own if _matters(own) and (code or own not in PRODUCTS) else None


def _own(name: str) -> str:
    """The name without `self.` in front."""
    owner, link, rest = name.partition(".")
    return rest if link and owner in _OWNER else name


def _matters(name: str) -> bool:
    return len(name) >= SHORTEST and links(name)[0] not in BLOCKED


def is_built(name: str) -> bool:
    """Is the name put together, as those of code are and words are not?"""
    inner = name.strip("_")
    return "_" in inner or (inner != "" and name[0] == "_") or _HUMP.search(name) is not None


def links(name: str) -> list[str]:
    """The parts of a dotted name; `::` and `->` join, too."""
    return _LINK.split(name)


def bare(name: str) -> str:
    """The name without the parentheses."""
    return name.removesuffix("()")


def key(name: str) -> str:
    """What two spellings of a name have in common: everything but letter case."""
    return name.casefold()
