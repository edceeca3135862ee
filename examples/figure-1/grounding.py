"""The entities that an answer cites and no tool returned, found by regular expressions only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bylaw import Trace, Vocabulary

vocabulary = Vocabulary()

_ENTITY = re.compile(r"[\w/]+\.py\b|\b\w+\(\)|\b[a-z]+_\w+\b")


@vocabulary.extractor
def entities(trace: Trace, metrics: Mapping[str, Any], text: str) -> list[str]:
    """File names, calls and snake_case names in a text."""
    return _ENTITY.findall(text)


@vocabulary.predicate
def seen_in_results(trace: Trace, at: int, metrics: Mapping[str, Any], entity: str) -> bool:
    """Some tool result contains the entity."""
    return any(entity.removesuffix("()") in str(call.result) for call in trace if call.ok)
