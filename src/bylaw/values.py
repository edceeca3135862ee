"""JSON values: strict reading, comparison, canonical writing.

Values compare structure by structure: `1` equals `1.0`, and `true` does not equal `1`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, Final, TypeAlias

from bylaw.work import CHARACTERS, spend, spend_on_text

Json: TypeAlias = Any
"""null, true, false, a finite number, a string, a list of these, a mapping from strings."""

MAX_DEPTH: Final = 200
"""The deepest nesting of brackets in a value."""

TOO_LONG: Final = 10**4300
"""Python reads and writes whole numbers of up to 4,300 digits."""

LARGEST: Final = 2**53
"""The largest count or step: beyond it, JSON readers disagree about whole numbers."""

# Possessive, so that long strings cost neither memory nor time; an unclosed one counts too.
_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS = {ord("{"): "[", ord("}"): "]"}
_NOT_BRACKETS = re.compile(r"[^\[\]]+")


def is_number(value: object) -> bool:
    """Is this a JSON number? `true` is not one."""
    return type(value) in (int, float)


def is_text(value: object) -> bool:
    """Is this a JSON string?"""
    return isinstance(value, str)


def is_list(value: object) -> bool:
    """Is this a JSON array?"""
    return isinstance(value, list | tuple)


def is_object(value: object) -> bool:
    """Is this a JSON object?"""
    return isinstance(value, Mapping)


class JsonError(ValueError):
    """A text is not strict JSON. `position` is the place of the mistake, if known."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class DuplicateKey(JsonError):
    """An object gives two values for one key."""


def read_json(text: str) -> Json:
    """The value of a JSON text. Rejects duplicate keys, NaN, infinities and deep nesting."""
    if _too_deep(text):
        raise JsonError(f"brackets nest more than {MAX_DEPTH} deep")
    codec = sys.modules.get("msgspec.json")
    if codec is not None and (found := _read_by(codec, text)) is not None:
        return found
    try:
        return _DECODER.decode(text)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.pos) from None
    except (RecursionError, ValueError) as error:
        raise JsonError(_plain(error)) from None


def _read_by(msgspec_json: Any, text: str) -> Json:
    """The value as msgspec reads it, if the program uses that library; None if in doubt.

    It is several times as fast, and less strict. What it read is written again: if that is the
    text, apart from spaces, then no key came twice and no number was changed.
    """
    try:
        given = text.encode()
        value = msgspec_json.decode(given)
        if msgspec_json.encode(value) == msgspec_json.format(given, indent=-1):
            return value
    except (ValueError, RecursionError, OverflowError):  # in doubt, the strict reader complains
        pass
    return None


def _plain(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"brackets nest more than {MAX_DEPTH} deep"
    if "digits" in str(error):
        return "a number has too many digits"
    return str(error)


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    skeleton = _NOT_BRACKETS.sub("", _STRINGS.sub("", text).translate(_BRACKETS))
    for _ in range(MAX_DEPTH):  # each pass removes the innermost pairs everywhere
        shorter = skeleton.replace("[]", "")
        if len(shorter) == len(skeleton):
            break
        skeleton = shorter
    # The rest nests too deeply or is unbalanced; unbalanced brackets are deep only if they open.
    return bool(skeleton) and ("[]" in skeleton or skeleton.count("[") > MAX_DEPTH)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise DuplicateKey(f"the key {json.dumps(repeated)} appears twice in one object")
    return mapping


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"the number {text[:40]} is too large")
    return number


def _no_constant(text: str) -> Json:
    raise JsonError(f"{text} is not a JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)


def decoded(value: Json) -> Json:
    """The value that a string encodes if it is JSON; otherwise the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return read_json(value)
    except JsonError:
        return value


_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = (int, str)
"""Types whose values are equal as JSON exactly when they are equal in Python."""


def equal(left: Json, right: Json) -> bool:
    """Are these equal JSON values?"""
    if type(left) is type(right) and type(left) in _PLAIN:
        return bool(left == right)
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
            if a is not b:
                return False
        elif isinstance(a, int | float | str):
            if isinstance(a, str) is not isinstance(b, str) or a != b:
                return False
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                return False
            spend(len(a))
            pending.extend((a[key], b[key]) for key in a)
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                return False
            spend(len(a))
            pending.extend(zip(a, b, strict=True))
        else:
            return False
    return True


def write_json(value: Json) -> str:
    """The value in one line, keys in their order; for people and files."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# `json.dumps` with options makes an encoder at every call.
_canonical: Final = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":")).encode


def canonical(value: Json) -> str:
    """The canonical text of a value: the order of keys does not matter, `1` and `1.0` differ.

    `identity` does not distinguish `1` and `1.0`.
    """
    return _canonical(value)


_FLOAT: Final = re.compile(r"\d[.e]")
"""The texts of equal values can differ only in numbers that have a point or an exponent."""


def identity(value: Json) -> str:
    """A text that is the same for two values exactly when they are `equal`."""
    try:
        text = canonical(value)
    except TypeError:  # a mapping that is not a dictionary
        return canonical(_whole_numbers(value))
    if len(text) > CHARACTERS:
        spend_on_text(text)
    return canonical(_whole_numbers(value)) if _FLOAT.search(text) else text


def _whole_numbers(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list() | tuple():
            return [_whole_numbers(item) for item in value]
        case Mapping():
            return {key: _whole_numbers(item) for key, item in value.items()}
        case _:
            return value


def arguments_key(arguments: Mapping[str, Json]) -> Hashable:
    """A key that two mappings of arguments share exactly when they are `equal`."""
    key = []
    for name, value in arguments.items():
        key.append((name, value if type(value) in _PLAIN else value_key(value)))
    return frozenset(key)


def value_key(value: Json) -> Hashable:
    """A key that two values share exactly when they are `equal`; quicker than `identity`."""
    if type(value) in _PLAIN:
        return value  # type: ignore[no-any-return]  # a number or a text
    match value:
        case bool() | None:  # `true` equals 1 in Python, and not in JSON
            return ("literal", str(value))
        case list() | tuple():
            return ("list", *map(value_key, value))
        case Mapping():
            return ("object", arguments_key(value))
        case int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            return identity(value)  # raises an error, because it is not JSON


def copied(value: Json) -> Json:
    """A deep copy, with lists and dicts for sequences and mappings."""
    kind = type(value)
    if kind is dict or (kind not in _ATOMS and isinstance(value, Mapping)):
        return {key: i if type(i) in _ATOMS else copied(i) for key, i in value.items()}
    if kind is list or (kind not in _ATOMS and isinstance(value, list | tuple)):
        return [i if type(i) in _ATOMS else copied(i) for i in value]
    return value


def problem(value: Json, depth: int = 0) -> str | None:
    """The reason why an object is not a JSON value, or None if it is one."""
    if depth > MAX_DEPTH:
        return f"it nests more than {MAX_DEPTH} deep"
    match value:
        case None | bool() | str():
            return None
        case int():
            return None if abs(value) < TOO_LONG else "a number has too many digits"
        case float():
            return None if math.isfinite(value) else f"{value} is not a JSON number"
        case list() | tuple():
            spend(len(value))
            inner = (problem(item, depth + 1) for item in value)
        case Mapping():
            spend(len(value))
            if not all(isinstance(key, str) for key in value):
                return "a key is not a string"
            inner = (problem(item, depth + 1) for item in value.values())
        case _:
            return f"{type(value).__name__} is not a JSON type"
    return next((reason for reason in inner if reason), None)


_KINDS: Final = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def kind_of(value: object) -> str:
    """The kind of a JSON value, as a message names it: `a list`."""
    return _KINDS.get(type(value), type(value).__name__)
