"""What was seen that comes nearest to something that was not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from bylaw.grounding.entities import EntityClass, reading_of
from bylaw.grounding.evidence import Evidence
from bylaw.grounding.names import bare, key, links


def nearest(text: str, evidence: Evidence) -> str | None:
    """What was seen that comes nearest to something that was not, if anything does."""
    kind = reading_of(text)
    if kind is EntityClass.FILE_PATH:
        called = text.rpartition("/")[2]
        named = sorted(path for path in evidence.paths if path.rpartition("/")[2] == called)
        return named[0] if named else _closest(text, evidence.paths, cutoff=0.85)
    if kind not in (EntityClass.FUNCTION_SIGNATURE, EntityClass.IDENTIFIER, EntityClass.ID):
        return None
    wanted = links(bare(text))[-1]
    spelt: dict[str, str] = {}
    for source in evidence.sources:
        for name in re.findall(r"[^\W\d][\w]*", source.text):
            spelt.setdefault(key(name), name)
    found = _closest(key(wanted), spelt, cutoff=0.6)
    return None if found is None else spelt[found]


def _closest(text: str, seen: Iterable[str], *, cutoff: float) -> str | None:
    """The most similar text; those that share no three characters are not looked at."""
    threes = {text[i : i + 3] for i in range(len(text) - 2)}
    likely = sorted(each for each in seen if any(three in each for three in threes))
    close = difflib.get_close_matches(text, likely, n=1, cutoff=cutoff)
    return close[0] if close else None
