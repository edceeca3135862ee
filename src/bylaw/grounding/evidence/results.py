"""Tool results as texts, each with its file and its position where these are known.

A reading tool may return the text itself, an object with the text in a field, or an object that
maps paths to texts; and a file may come in pages. A JSON file can look like any of these, so it is
treated as a wrapper only if it is certain to be one.
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
"""The field names for paths and for texts."""

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
"""The field names for the positions of pages, and their units."""
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
"""The number of parsed results kept in memory."""


@dataclass(frozen=True, slots=True)
class PageStart:
    """The position in its file at which a text begins."""

    at: float
    unit: Unit
    """The unit of the position. An offset may count characters, bytes or lines."""

    def reaches(self, text: str, other: PageStart) -> bool:
        """True if the text, which begins here, may extend to the other position."""
        if self.unit != other.unit:
            return True
        lines = text.count("\n")
        length = {
            # Allow for two-character line ends and for a byte order mark.
            "offset": len(text.encode(errors="replace")) + lines + 3,
            "line": lines + 1,
            "page": 1,
        }
        return self.at <= other.at <= self.at + length[self.unit]


@dataclass(frozen=True, slots=True)
class ResultText:
    """A text returned by a tool."""

    text: str
    path: str | None
    """The file that it belongs to, in its normal form."""
    start: PageStart | None


def result_texts(call: Call) -> list[ResultText]:
    """The texts that a call returned; none if the call failed or the result is an error."""
    if not call.ok:
        return []
    raw = call.result
    path, start = _path_in(call.args), _page_start(call.args)
    asked = None if path is None else normalized_path(path)
    if isinstance(raw, str):
        found = _parsed_result(raw, asked)
    else:
        found = tuple(_result_texts(raw, write_json(raw), asked))
    return [
        ResultText(each.text, each.path or asked, start if each.start is None else each.start)
        for each in found
    ]


@lru_cache(maxsize=CACHED)
def _parsed_result(raw: str, asked: str | None) -> tuple[ResultText, ...]:
    value = decoded(raw)
    if asked is not None and asked.lower().endswith(_JSON_FILES) and _is_file(value, asked):
        return (_result_text(raw),)
    return tuple(_result_texts(value, raw, asked))


def _is_file(value: Json, asked: str) -> bool:
    """True if this is the content of the requested JSON file, not a wrapper around it."""
    pages = value if isinstance(value, list) else [value]
    return any(_is_page(page) and not _surely_wraps(page, asked) for page in pages)


def _surely_wraps(page: Mapping[str, Json], asked: str) -> bool:
    """True if the object names the file, contains JSON as text, or has only a text field."""
    path = _path_in(page)
    if path is not None:
        return _may_be_by_path([path], asked)
    alone = len(page.keys() - _PLACES.keys() - {"truncated"}) == 1
    return alone or not isinstance(decoded(_text_in(page)), str)


def _result_texts(value: Json, raw: str, asked: str | None) -> Iterator[ResultText]:
    """The texts in a result, given the requested file."""
    if isinstance(value, str) and _FAILED.fullmatch(value):
        return
    if isinstance(value, Mapping):
        text = _text_in(value)
        if text is not None:
            yield _result_text(text, _path_in(value), _page_start(value))
            return
        texts = {path: _text_of(inner) for path, inner in value.items() if names_file(path)}
        whole = value and len(texts) == len(value) and None not in texts.values()
        if whole and _may_be_by_path(value, asked):
            yield from (_result_text(inner or "", path) for path, inner in texts.items())
            return
        if "error" in value and value.keys() <= _ERROR_FIELDS:
            return
    elif isinstance(value, list) and value and all(map(_is_page, value)):
        for item in value:
            yield from _result_texts(item, "", asked)
        return
    yield _result_text(_unescaped(raw) if isinstance(value, str) else raw)


def _may_be_by_path(paths: Iterable[str], asked: str | None) -> bool:
    """True if these may be the requested files: a single file must be among them."""
    if asked is None or not names_file(asked):
        return True
    known = [f"/{normalized_path(path)}" for path in paths]
    return any(path.endswith(f"/{asked}") or f"/{asked}".endswith(path) for path in known)


def _unescaped(raw: str) -> str:
    """The text of a quoted string, even if the string was cut off."""
    if "\n" in raw or "\\n" not in raw:
        return raw
    text = _OPENING.sub("", raw)
    for escape, meant in (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
        text = text.replace(escape, meant)
    return text


def _result_text(text: str, path: str | None = None, start: PageStart | None = None) -> ResultText:
    ending = text[-_LONGEST_NOTE:]
    cut = _CUT.search(ending)
    kept = text[: len(text) - len(ending) + cut.start()] if cut else text
    return ResultText(kept, None if path is None else normalized_path(path), start)


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


def _page_start(fields: Mapping[str, Json]) -> PageStart | None:
    for name, unit in _PLACES.items():
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return PageStart(value, unit)
    return None
