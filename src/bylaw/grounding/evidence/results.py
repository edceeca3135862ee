"""What a tool returned: pieces of text, each with the file it is of where that is known.

A reading tool may return the text itself, an object with the text in a field, or an object that
maps paths to texts; and a file may come in pages. A file that is JSON itself can look like any of
these: its text is taken for a wrapper only if it is certain to be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from bylaw.grounding.entities.paths import names_file, normalized_path
from bylaw.trace.event import Call
from bylaw.values import Json, decoded, write_json

_PATHS: Final = ("path", "file_path", "filepath", "file", "filename", "file_name", "uri", "url")
_TEXTS: Final = ("content", "contents", "text", "source", "output", "body")
"""Under which names paths and texts are given."""

Unit: TypeAlias = Literal["offset", "line", "page"]
_PLACES: Final[Mapping[str, Unit]] = {
    "offset": "offset",
    "start_line": "line",
    "line_start": "line",
    "start": "offset",
    "from_line": "line",
    "page": "page",
    "chunk": "page",
}
"""Under which names the places of pages are given, and what they count."""
_JSON_FILES: Final = (".json", ".jsonl", ".ipynb")

_ERROR_FIELDS: Final = frozenset(("error", "errors", "message", "code", "status", "detail", "path"))
_FAILED: Final = re.compile(
    r"\s*(?:\w*error|\w*exception|traceback)\b(?!\s*=(?!=))[^\n]{0,300}\s*", re.I
)
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
class PageStart:
    """Where in its file a text begins."""

    at: float
    unit: Unit
    """What is counted. An offset may be one in characters, in bytes or in lines."""

    def reaches(self, text: str, other: PageStart) -> bool:
        """Can the text, which begins here, go on until the other place?"""
        if self.unit != other.unit:
            return True
        lines = text.count("\n")
        length = {
            # Line ends may have been two characters, and a mark of the encoding in front of all.
            "offset": len(text.encode(errors="replace")) + lines + 3,
            "line": lines + 1,
            "page": 1,
        }
        return self.at <= other.at <= self.at + length[self.unit]


@dataclass(frozen=True, slots=True)
class ResultText:
    """A text that a tool returned."""

    text: str
    path: str | None
    """The file that it is of, in one spelling."""
    place: PageStart | None


def result_texts(call: Call) -> list[ResultText]:
    """What a call returned; nothing if it failed, by its record or by its own words."""
    if not call.ok:
        return []
    raw = call.result
    path, place = _path_in(call.args), _place(call.args)
    asked = None if path is None else normalized_path(path)
    if isinstance(raw, str):
        found = _pieces_in(raw, asked)
    else:
        found = tuple(_pieces(raw, write_json(raw), asked))
    return [
        ResultText(piece.text, piece.path or asked, place if piece.place is None else piece.place)
        for piece in found
    ]


@lru_cache(maxsize=CACHED)
def _pieces_in(raw: str, asked: str | None) -> tuple[ResultText, ...]:
    value = decoded(raw)
    if asked is not None and asked.lower().endswith(_JSON_FILES) and _is_file(value, asked):
        return (_piece(raw),)
    return tuple(_pieces(value, raw, asked))


def _is_file(value: Json, asked: str) -> bool:
    """Is this the contents of the JSON file that was asked for, and not something around them?"""
    pages = value if isinstance(value, list) else [value]
    return any(_is_page(page) and not _surely_wraps(page, asked) for page in pages)


def _surely_wraps(page: Mapping[str, Json], asked: str) -> bool:
    """Says this object of which file its text is, or is the text JSON, or is there nothing else?"""
    path = _path_in(page)
    if path is not None:
        return _may_be_by_path([path], asked)
    alone = len(page.keys() - _PLACES.keys() - {"truncated"}) == 1
    return alone or not isinstance(decoded(_text_in(page)), str)


def _pieces(value: Json, raw: str, asked: str | None) -> Iterator[ResultText]:
    """The pieces of a result, by what it tells itself and by the file that was asked for."""
    if isinstance(value, str) and _FAILED.fullmatch(value):
        return
    if isinstance(value, Mapping):
        text = _text_in(value)
        if text is not None:
            yield _piece(text, _path_in(value), _place(value))
            return
        texts = {path: _text_of(inner) for path, inner in value.items() if names_file(path)}
        whole = value and len(texts) == len(value) and None not in texts.values()
        if whole and _may_be_by_path(value, asked):
            yield from (_piece(inner or "", path) for path, inner in texts.items())
            return
        if "error" in value and value.keys() <= _ERROR_FIELDS:
            return
    elif isinstance(value, list) and value and all(map(_is_page, value)):
        for item in value:
            yield from _pieces(item, "", asked)
        return
    yield _piece(_spelt_out(raw) if isinstance(value, str) else raw)


def _may_be_by_path(paths: Iterable[str], asked: str | None) -> bool:
    """Can these be the files that were asked for? Where it was one file, it must be among them."""
    if asked is None or not names_file(asked):
        return True
    known = [f"/{normalized_path(path)}" for path in paths]
    return any(path.endswith(f"/{asked}") or f"/{asked}".endswith(path) for path in known)


def _spelt_out(raw: str) -> str:
    """The text of a result that is a string in quotes, or was one before it was cut off."""
    if "\n" in raw or "\\n" not in raw:
        return raw
    text = _OPENING.sub("", raw)
    for escape, meant in (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
        text = text.replace(escape, meant)
    return text


def _piece(text: str, path: str | None = None, place: PageStart | None = None) -> ResultText:
    ending = text[-_LONGEST_NOTE:]
    cut = _CUT.search(ending)
    kept = text[: len(text) - len(ending) + cut.start()] if cut else text
    return ResultText(kept, None if path is None else normalized_path(path), place)


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


def _place(fields: Mapping[str, Json]) -> PageStart | None:
    for name, unit in _PLACES.items():
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return PageStart(value, unit)
    return None
