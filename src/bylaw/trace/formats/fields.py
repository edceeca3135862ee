"""What the readers of foreign formats take out of JSON objects: texts, ids, results, labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from bylaw.trace.event import MISSING, Call, Missing
from bylaw.values import Json, write_json

_TEXTS: Final = ("text", "input_text", "output_text")
"""The types of parts that are text."""


def answered(call: Call, message: Mapping[str, Any]) -> Call:
    """The call with what a tool message says came of it."""
    content, error = message.get("content"), message.get("error")
    in_parts = isinstance(content, list | tuple) and all(
        isinstance(part, Mapping) and "type" in part for part in content
    )
    result: Json = joined(content) if in_parts else content
    if not (error or message.get("is_error") or message.get("status") == "error"):
        return replace(call, result=result)
    told = result if error is True or not error else error
    text = told if isinstance(told, str) else "" if told is None else write_json(told)
    nothing_else = result in ("", None, text)
    return replace(call, result=MISSING if nothing_else else result, error=text)


def joined(parts: Json) -> str:
    """The text of those parts that are text."""
    texts = []
    for part in parts:
        if isinstance(part, Mapping):
            part = part.get("text", part.get("content")) if _is_text(part) else None
        if isinstance(part, str):
            texts.append(part)
    return "\n".join(texts)


def _is_text(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and kind in _TEXTS


def down(value: Json, keys: Iterable[str]) -> Json | Missing:
    """What the keys lead to, one inside the other."""
    for key in keys:
        value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def id_of(value: object) -> str | None:
    """A call's id, if it is one that can tell calls apart."""
    return value if isinstance(value, str) and value else None


def scalars(value: object, names: Iterable[str] | None = None) -> dict[str, Json]:
    """The fields of an object that hold a string, a number, true or false; or those named."""
    if not isinstance(value, Mapping):
        return {}
    kept = value if names is None else [name for name in names if name in value]
    return {name: value[name] for name in kept if isinstance(value[name], str | int | float)}
