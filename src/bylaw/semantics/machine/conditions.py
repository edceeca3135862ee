"""Conditions on one event, and sample values that make them true or false."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from itertools import pairwise
from typing import Final

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import At, Literal, Reading, Term
from bylaw.logic.walk import everything
from bylaw.regex.sample import sample_of
from bylaw.trace.event import comes_with_result
from bylaw.values import Json, is_list, is_number, is_text

_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen
class Hint:
    """A place in an event, and values worth trying there."""

    field: str
    path: tuple[str, ...]
    values: list[Json]
    ordered: bool = False
    """Are values in between worth trying, too?"""


def simple(condition: f.Formula) -> Hint | None:
    """The place that a comparison with a constant reads, and the constant."""
    found = _simple(condition)
    return found if found and found.field in ("args", "result") else None


def _simple(condition: f.Formula) -> Hint | None:
    match condition:
        case f.Compare(symbol, Literal() as written, place) if symbol in _MIRRORED:
            return _simple(f.Compare(_MIRRORED[symbol], place, written)) if _read(place) else None
        case f.Compare("=" | "!=", place, Literal() as written) if found := _read(place):
            return Hint(*found, [written.value])
        case f.Compare("in", place, Literal() as written) if found := _read(place):
            return Hint(*found, list(written.value)) if is_list(written.value) else None
        case f.Compare("<" | "<=" | ">" | ">=", place, Literal() as written):
            found = _read(place)
            return Hint(*found, [written.value], ordered=True) if found else None
        case _:
            return None


def spread(values: list[Json]) -> list[Json]:
    """The values, and others below, above and between them: one for each gap in their order."""
    numbers = sorted({value for value in values if is_number(value)})
    texts = sorted({value for value in values if is_text(value)})
    found = list(values)
    if numbers:
        bounds = [-sys.float_info.max, *numbers, sys.float_info.max]
        found += (between for pair in pairwise(bounds) for between in _number_between(*pair))
    if texts:
        found += [f"{texts[-1]}a"] if texts[0] == "" else ["", f"{texts[-1]}a"]
        found += (between for pair in pairwise(texts) for between in _text_between(*pair))
    return found


def _number_between(low: float, high: float) -> list[Json]:
    """A number between two others, if there is one: one more or less, or in the middle."""
    tried = (low + 1, high - 1, low / 2 + high / 2, math.nextafter(low, math.inf))
    return [number for number in tried if low < number < high][:1]


def _text_between(low: str, high: str) -> list[Json]:
    tried = (f"{low}a", f"{low} ", f"{low}\0")
    return [text for text in tried if low < text < high][:1]


def hinted(condition: f.Formula) -> Hint | None:
    """A place that a condition reads, and values that may make it true."""
    match condition:
        case f.Compare("~", place, Literal() as written) if found := _read(place):
            sample = sample_of(written.value) if is_text(written.value) else None
            return None if sample is None else Hint(*found, [sample])
        case f.Compare("contains", place, Literal() as written) if found := _read(place):
            return Hint(*found, [written.value, [written.value]])
        case _:
            return None


def _read(term: Term) -> tuple[str, tuple[str, ...]] | None:
    """The field and the keys of a term that reads the event by constant keys only."""
    keys: list[str] = []
    while isinstance(term, At):
        if not isinstance(term.key, Literal) or not isinstance(term.key.value, str):
            return None
        keys.append(term.key.value)
        term = term.base
    if not isinstance(term, Reading) or (term.field == "args" and not keys):
        return None
    return term.field, tuple(reversed(keys))


@lru_cache(maxsize=4096)
def reads_result(node: Node) -> bool:
    """Does the node depend on the result of a call?"""
    return any(
        isinstance(part, f.ResultIs | f.OutcomeIs)
        or (isinstance(part, Reading) and comes_with_result(part.field))
        for part in everything(node)
    )
