"""Conditions on one event, and sample values that make them true or false."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bylaw.frozen import frozen
from bylaw.logic import formula as f
from bylaw.logic.node import Node
from bylaw.logic.terms import At, Literal, Reading, Term
from bylaw.logic.walk import everything
from bylaw.values import Json, is_list, is_number, is_text
from bylaw.vocabulary.reading import known_before_result
from bylaw.vocabulary.regex_sample import sample_of

_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen
class Hint:
    """A place in an event, and values worth trying there."""

    field: str
    path: tuple[str, ...]
    values: list[Json]


def simple(condition: f.Formula) -> Hint | None:
    """The place that a comparison with a constant reads; the values make it true and false."""
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
            return Hint(*found, _around(written.value)) if found else None
        case _:
            return None


def _around(value: Json) -> list[Json]:
    """Values below, at and above. Halves fall between the value and the next whole number."""
    if is_number(value):
        return [value, value - 1, value + 1, value - 0.5, value + 0.5]
    return [value, "", f"{value}a"] if is_text(value) else [value]


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
        or (isinstance(part, Reading) and not known_before_result(part.field))
        for part in everything(node)
    )
