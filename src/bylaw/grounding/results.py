"""What a tool returned: pieces of text, each with the file it is of where that is known.

A reading tool may return the text itself, an object with the text in a field, or an object that
maps paths to texts; and a file may come in pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bylaw.grounding.paths import names_file, same_path
from bylaw.trace.event import Call
from bylaw.values import Json, decoded, write_json

_PATHS: Final = ("path", "file_path", "filepath", "file", "filename", "file_name", "uri", "url")
_TEXTS: Final = ("content", "contents", "text", "source", "output", "body")
_PLACES: Final = ("offset", "start_line", "line_start", "start", "from_line", "page", "chunk")
"""Under which names paths, texts, and the places of pages are given."""

_ERROR_FIELDS: Final = frozenset(("error", "errors", "message", "code", "status", "detail", "path"))
_FAILED: Final = re.compile(r"\s*(?:\w*error|\w*exception|traceback)\b[^\n]{0,300}\s*", re.I)
_CUT: Final = re.compile(
    r"\n[^\w\n]*(?:[\[(<.…-])[^\n]{0,100}?"
    r"(?:truncated|omitted|cut off|more (?:lines?|characters?|bytes))[^\n]{0,60}\s*\Z",
    re.I,
)
_OPENING: Final = re.compile(rf"\s*\{{[^\n]*?['\"](?:{'|'.join(_TEXTS)})['\"]\s*:\s*['\"]")
_LONGEST_NOTE: Final = 200
CACHED: Final = 2_000
"""How many results are kept, taken apart."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that a tool returned."""

    text: str
    path: str | None
    """The file that it is of, in one spelling."""
    place: float | None
    """Where in the file it begins, in whatever unit the tool counts."""


def pieces_of(call: Call) -> list[Piece]:
    """What a call returned; nothing if it failed, by its record or by its own words."""
    if not call.ok:
        return []
    raw = call.result
    found = _pieces_in(raw) if isinstance(raw, str) else tuple(_pieces(raw, write_json(raw)))
    path, place = _path_in(call.args), _place(call.args)
    asked = None if path is None else same_path(path)
    return [
        Piece(piece.text, piece.path or asked, place if piece.place is None else piece.place)
        for piece in found
    ]


@lru_cache(maxsize=CACHED)
def _pieces_in(raw: str) -> tuple[Piece, ...]:
    return tuple(_pieces(decoded(raw), raw))


def _pieces(value: Json, raw: str) -> Iterator[Piece]:
    """The pieces of a result, as far as it tells by itself what they are."""
    if isinstance(value, str) and _FAILED.fullmatch(value):
        return
    if isinstance(value, Mapping):
        text = _text_in(value)
        if text is not None:
            yield _piece(text, _path_in(value), _place(value))
            return
        texts = {path: _text_of(inner) for path, inner in value.items() if names_file(path)}
        if value and len(texts) == len(value) and None not in texts.values():
            yield from (_piece(inner or "", path) for path, inner in texts.items())
            return
        if "error" in value and value.keys() <= _ERROR_FIELDS:
            return
    elif isinstance(value, list) and value and all(map(_is_page, value)):
        for item in value:
            yield from _pieces(item, "")
        return
    yield _piece(_spelt_out(raw) if isinstance(value, str) else raw)


def _spelt_out(raw: str) -> str:
    """The text of a result that is a string in quotes, or was one before it was cut off."""
    if "\n" in raw or "\\n" not in raw:
        return raw
    text = _OPENING.sub("", raw)
    for escape, meant in (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
        text = text.replace(escape, meant)
    return text


def _piece(text: str, path: str | None = None, place: float | None = None) -> Piece:
    ending = text[-_LONGEST_NOTE:]
    cut = _CUT.search(ending)
    kept = text[: len(text) - len(ending) + cut.start()] if cut else text
    return Piece(kept, None if path is None else same_path(path), place)


def _is_page(value: Json) -> bool:
    return isinstance(value, Mapping) and _text_in(value) is not None


def _path_in(fields: Mapping[str, Json]) -> str | None:
    return next((fields[name] for name in _PATHS if isinstance(fields.get(name), str)), None)


def _text_in(fields: Mapping[str, Json]) -> str | None:
    return next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)


def _text_of(value: Json) -> str | None:
    if isinstance(value, Mapping):
        return _text_in(value)
    return value if isinstance(value, str) else None


def _place(fields: Mapping[str, Json]) -> float | None:
    for name in _PLACES:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None
