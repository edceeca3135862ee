"""Order numbers, keys and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bylaw.grounding.text import Stretch

_ID: Final = re.compile(
    r"(?<![\w#-])(?:"
    r"\#(?=[A-Za-z-]*\d)\w[\w-]*"
    r"|[A-Za-z]{1,6}\d{3,}"
    r"|(?=[A-Za-z0-9-]*\d[A-Za-z0-9-]*\d[A-Za-z0-9-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+"
    r"|[A-Za-z]\w*_\d{3,}"
    r")(?![\w-])"
)


def ids(text: str) -> Iterator[tuple[Stretch, str]]:
    """Order numbers, keys and the like, without the sign that announces them."""
    for found in _ID.finditer(text):
        yield Stretch(*found.span(), found[0]), id_key(found[0])


def is_id(text: str) -> bool:
    """Is the whole text an id?"""
    return _ID.fullmatch(text) is not None


def id_key(text: str) -> str:
    """What two spellings of an id have in common."""
    return text.lstrip("#").casefold()
